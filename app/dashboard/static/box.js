// A box: dragged on the map or written in fields, counted by the service, shown with its interval.
import { ask, tell } from "./api.js";
import { number } from "./format.js";
import { curl, literal, setLines } from "./lines.js";

const at = (id) => document.getElementById(id);

export class BoxPanel {
  constructor(about) {
    Object.assign(this, { about, active: false, asked: 0, onChange: () => {}, fields: new Map() });
    about.attributes.forEach((attribute, place) => this.addRow(attribute, place));
    at("box").addEventListener("submit", (event) => { event.preventDefault(); this.count(); });
    at("box-clear").addEventListener("click", () => {
      for (const pair of this.fields.values()) pair.forEach((input) => { input.value = ""; });
      this.active = false;
      at("box-answer").replaceChildren();
      this.describe();
      this.onChange();
    });
    this.describe();
  }

  addRow(attribute, place) {
    const row = document.createElement("div");
    row.className = "box-row";
    const name = document.createElement("span");
    name.textContent = attribute.name;
    const pair = ["from", "to"].map((end) => {
      const input = document.createElement("input");
      input.id = `box-${place}-${end}`;
      input.inputMode = "decimal";
      input.autocomplete = "off";
      input.placeholder = String(end === "from" ? attribute.lower : attribute.upper);
      input.setAttribute("aria-label", `${attribute.name} ${end}`);
      return input;
    });
    const dash = document.createElement("span");
    dash.textContent = "to";
    row.append(name, pair[0], dash, pair[1]);
    at("box-fields").append(row);
    this.fields.set(attribute.name, pair);
  }

  set(attribute, [low, high]) {
    const [from, to] = this.fields.get(attribute.name);
    from.value = low;
    to.value = high;
  }

  // [low, high], or null where neither end is given.
  ends(attribute) {
    const [from, to] = this.fields.get(attribute.name).map((input) => input.value.trim());
    if (!from && !to) return null;
    return [from ? Number(from) : attribute.lower, to ? Number(to) : attribute.upper];
  }

  where() {
    return this.about.attributes.flatMap((attribute) => {
      const [from, to] = this.fields.get(attribute.name).map((input) => input.value.trim());
      return from || to ? [`${attribute.name}:${from}..${to}`] : [];
    });
  }

  path() {
    const query = this.where().map((one) => `where=${encodeURIComponent(one).replaceAll("%3A", ":")}`).join("&");
    return `/v1/releases/${this.about.id}/count${query ? `?${query}` : ""}`;
  }

  describe() {
    setLines("count", curl(this.path()), `answer = client.count(${literal(this.about.id)}, where=${literal(this.where())})`);
  }

  async count() {
    const mine = ++this.asked;
    this.active = true;
    this.describe();
    this.onChange();
    try {
      const found = await ask(this.path());
      if (mine === this.asked) this.show(found);
    } catch (error) {
      if (mine === this.asked) tell(at("box-answer"), error);
    }
  }

  show(found) {
    const line = (words, name) => Object.assign(document.createElement("p"), { textContent: words, className: name });
    const answer = line(`${number(Math.round(found.count), 12)} rows`, "answer");
    answer.dataset.count = found.count;
    const { level, low, high } = found.interval;
    const told = [answer, line(`Between ${number(Math.floor(low), 12)} and ${number(Math.ceil(high), 12)} with ${number(100 * level)} % probability (noise).`, "interval")];
    const { low: without, high: with_ } = found.discretisation;
    if (without !== with_) {
      told.push(line(`The box cuts cells: ${number(Math.round(without), 12)} lie in cells that are whole in it, ${number(Math.round(with_), 12)} with all that it cuts.`, "quiet-text"));
    }
    at("box-answer").replaceChildren(...told);
  }
}
