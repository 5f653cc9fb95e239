// The part of the rows that all panels of the explorer show: a text of `where` for each attribute that is restricted. It is
// shown as chips, each of which removes its restriction.
import { literal } from "./lines.js";
import { coded } from "./view.js";

const at = (id) => document.getElementById(id);
const nameOf = (text) => text.slice(0, text.indexOf(":"));

export class Part {
  constructor(about) {
    Object.assign(this, { about, where: [], slice: {}, onChange: () => {} });
    at("part-clear").addEventListener("click", () => {
      this.set([]);
      at("map-title").focus();
    });
  }

  // The path of a question about this part, or about another one.
  path(question, query = [], where = this.where) {
    const all = [...query, ...where.map((text) => `where=${coded(text)}`)];
    return `/v1/releases/${this.about.id}/${question}${all.length ? `?${all.join("&")}` : ""}`;
  }

  // The last argument of a call in Python.
  python(where = this.where) {
    return where.length ? `, where=${literal(where)}` : "";
  }

  // This part, where other texts take the place of those of the same attribute. In the order of the attributes.
  with(others, where = this.where) {
    const texts = new Map([...where, ...others].map((text) => [nameOf(text), text]));
    return this.about.attributes.flatMap(({ name }) => texts.get(name) ?? []);
  }

  without(name) {
    return this.where.filter((text) => nameOf(text) !== name);
  }

  // This part as it was answered, to whole cells, where other texts take the place of those of the same attribute.
  within(others) {
    return this.with(others, this.where.map((text) => (nameOf(text) in this.slice ? `${nameOf(text)}:${this.slice[nameOf(text)]}` : text)));
  }

  // The text of an attribute as it was answered or, before that, as it was asked; null without a restriction.
  of(name) {
    return this.slice[name] ?? this.where.find((text) => nameOf(text) === name)?.slice(name.length + 1) ?? null;
  }

  set(where) {
    this.fill(where);
    this.onChange();
  }

  fill(where) {
    Object.assign(this, { where, slice: {} });
    this.show({});
  }

  // Says which part an answer is about: its ranges were moved to the nearest edges of cells.
  show(answer) {
    this.slice = answer.slice ?? {};
    at("part").hidden = this.where.length === 0;
    const whole = this.about.plan.grid.layered ? "" : ", to the nearest whole cells";
    at("part-words").textContent = this.where.length ? `Only a part of the rows is shown${whole}:` : "";
    at("part-chips").replaceChildren(...this.about.attributes.filter(({ name }) => this.of(name) !== null).map((attribute) => this.chip(attribute)));
  }

  chip(attribute) {
    const words = attribute.partWords(this.of(attribute.name));
    const button = Object.assign(document.createElement("button"), { type: "button", className: "chip" });
    button.append(words, Object.assign(document.createElement("span"), { textContent: "×", ariaHidden: "true" }));
    button.setAttribute("aria-label", `Remove ${words}`);
    button.addEventListener("click", () => {
      this.set(this.without(attribute.name));
      (at("part-chips").querySelector("button") ?? at("map-title")).focus();
    });
    const item = document.createElement("li");
    item.append(button);
    return item;
  }
}
