// The part of the rows that all panels of the explorer show: the texts of `where`, kept in the page's address.
import { literal } from "./lines.js";

const at = (id) => document.getElementById(id);
const encoded = (where) => where.map((text) => `where=${encodeURIComponent(text).replaceAll("%3A", ":")}`);

export class Part {
  constructor(about) {
    Object.assign(this, { about, where: new URLSearchParams(location.search).getAll("where"), onChange: () => {} });
    at("part-clear").addEventListener("click", () => {
      this.set([]);
      at("map-title").focus();
    });
  }

  // The path of a question about this part, or about another one.
  path(question, query = [], where = this.where) {
    const all = [...query, ...encoded(where)];
    return `/v1/releases/${this.about.id}/${question}${all.length ? `?${all.join("&")}` : ""}`;
  }

  // The last argument of a call in Python.
  get python() {
    return this.where.length ? `, where=${literal(this.where)}` : "";
  }

  set(where) {
    this.where = where;
    history.replaceState(null, "", where.length ? `?${encoded(where).join("&")}` : location.pathname);
    if (!where.length) this.show({});
    this.onChange();
  }

  // Says which part an answer is about: its ranges were moved to the nearest edges of cells.
  show(answer) {
    const slice = answer.slice ?? {};
    const words = this.about.attributes.filter(({ name }) => name in slice).map((attribute) => attribute.partWords(slice[attribute.name]));
    at("part").hidden = words.length === 0;
    const whole = this.about.plan.grid.layered ? "" : ", to the nearest whole cells";
    at("part-words").textContent = `Only a part of the rows is shown${whole}: ${words.join("; ")}.`;
  }
}
