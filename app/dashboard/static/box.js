// The panel of a part of the rows: drawn on the map or given in fields. The service counts it, shown with its interval;
// on request all other panels show this part alone.
import { ask, tell } from "./api.js";
import { fieldOf } from "./fields.js";
import { noteLines, number } from "./format.js";
import { curl, literal, setLines } from "./lines.js";

const at = (id) => document.getElementById(id);
const rows = (value) => number(Math.round(value) + 0, 12); // + 0: never "-0"
const span = ({ low, high }) => `${rows(low)} to ${rows(high)}`;

export class BoxPanel {
  constructor(about, part) {
    Object.assign(this, { about, part, active: false, asked: 0, moved: {}, words: "", snapChosen: false, onChange: () => {} });
    this.fields = new Map(about.attributes.map((attribute, place) => [attribute.name, fieldOf(attribute, place)]));
    at("box-fields").append(...[...this.fields.values()].map((field) => field.element));
    at("box").addEventListener("submit", (event) => { event.preventDefault(); this.count(); });
    at("box-snap").addEventListener("change", () => {
      this.snapChosen = true;
      if (this.active) this.count();
      else this.describe();
    });
    at("box-show").addEventListener("click", () => this.showPart());
    at("box-clear").addEventListener("click", () => this.clear());
    this.describe();
  }

  // A selection on a chart along an attribute, from one end to the other; or on its missing values.
  drag(attribute, ends) {
    this.fields.get(attribute.name).drag(ends);
  }

  // A box that was dragged moves to cell edges, unless the reader chose otherwise: nobody drags to the exact edge.
  countDragged() {
    if (!this.snapChosen) at("box-snap").checked = true;
    return this.count({ isDragged: true });
  }

  choose(attribute, labels) {
    this.fields.get(attribute.name).choose(labels);
  }

  clear() {
    this.empty();
    this.onChange();
  }

  // Removes the box and what is in the fields.
  empty() {
    for (const field of this.fields.values()) field.clear();
    this.check();
    this.drop();
    this.describe();
  }

  // Fills in the fields from texts of `where`, and counts them if there are any.
  fill(where, snap) {
    this.empty();
    this.within();
    for (const text of where) this.fields.get(text.slice(0, text.indexOf(":"))).fill(text.slice(text.indexOf(":") + 1));
    at("box-snap").checked = snap;
    if (where.length) this.count();
    else this.onChange();
  }

  // Tells the fields which part of the rows is shown.
  within() {
    for (const [name, field] of this.fields) field.within(this.part.of(name));
    this.describe();
  }

  // Shows an error at each wrong field. Returns the first of them, or null if all can be understood.
  check() {
    return [...this.fields.values()].map((field) => field.check()).find((input) => input !== null) ?? null;
  }

  // Removes the box: its answer, a request that is still running, and its outline on the map.
  forget() {
    this.drop();
    this.onChange();
  }

  drop() {
    this.asked += 1;
    Object.assign(this, { active: false, moved: {}, words: "" });
    at("box-answer").replaceChildren();
  }

  // Whether there is a box to draw: a field may have become invalid since it was counted.
  get drawable() {
    return this.active && [...this.fields.values()].every((field) => field.wrong.length === 0);
  }

  // Both ends as positions on a chart, or null if the attribute has no range: those of the box that was answered.
  ends(attribute) {
    const moved = this.moved[attribute.name];
    if (moved) return attribute.span(moved.low, moved.high);
    return this.fields.get(attribute.name).ends;
  }

  // The fields as texts of `where`.
  where() {
    return [...this.fields].flatMap(([name, { part }]) => (part === null ? [] : [`${name}:${part}`]));
  }

  get snap() {
    return at("box-snap").checked;
  }

  path() {
    return this.part.path("count", this.snap ? ["snap=true"] : [], this.part.within(this.where()));
  }

  describe() {
    setLines("count", curl(this.path()), `answer = client.count(${literal(this.about.id)}, where=${literal(this.part.within(this.where()))}${this.snap ? ", snap=True" : ""})`);
  }

  // Counts the box. Returns whether it could be counted. Of one that was dragged, the fields show what was counted: nobody
  // wrote their ends.
  async count({ isDragged = false } = {}) {
    const wrong = this.check();
    if (wrong) {
      this.forget();
      wrong.focus();
      return false;
    }
    const mine = ++this.asked;
    Object.assign(this, { active: true, moved: {}, words: "" });
    this.describe();
    this.onChange();
    try {
      const estimate = await ask(this.path());
      if (mine === this.asked) this.show(estimate, isDragged);
      return mine === this.asked;
    } catch (error) {
      if (mine === this.asked) tell(at("box-answer"), error);
      return false;
    }
  }

  // A part that can be counted can be shown: the service refuses the same ones for both. The fields are then free for the
  // next one.
  async showPart() {
    if (!(await this.count())) return;
    const where = this.part.with(this.where());
    this.empty();
    this.part.set(where);
  }

  // Says how many rows there are in the part that is shown.
  scope({ value, interval }) {
    this.within();
    const whose = this.part.where.length ? "In the part that is shown" : "All rows";
    at("box-scope").textContent = value === null ? "" : `${whose}: ${number(Math.floor(interval.low), 12)} to ${number(Math.ceil(interval.high), 12)}.`;
  }

  // Shows the interval of the total error first, then its parts.
  show(estimate, isDragged) {
    const line = (words, name) => Object.assign(document.createElement("p"), { textContent: words, className: name });
    this.words = `${span(estimate.interval)} rows`;
    const answer = line(this.words, "answer");
    answer.dataset.count = estimate.count;
    const shown = [answer, line(`With ${number(100 * estimate.interval.level)} % probability. Best single number: ${rows(estimate.count)}.`, "interval")];
    const { low: without, high: withCut } = estimate.discretisation;
    if (without !== withCut) {
      shown.push(line(`The box cuts cells of the grid, or ends on an edge between two: ${rows(without)} rows without the cut cells, ` +
        `${rows(withCut)} with all of them. Noise alone: ${span(estimate.noise)}.`, "cut help"));
    }
    for (const [name, { low, high }] of Object.entries(estimate.snapped ?? {})) {
      const { attribute } = this.fields.get(name);
      shown.push(line(`${name} was counted from ${attribute.shown(low)} to ${attribute.shown(high)}, the nearest cell edges.`, "snapped help"));
    }
    if (estimate.size_weight !== undefined) {
      shown.push(line(`The bought number of rows makes the count more precise, with weight ${number(estimate.size_weight, 2)}.`, "bought help"));
    }
    at("box-answer").replaceChildren(...shown, ...noteLines(estimate));
    this.moved = estimate.snapped ?? {};
    if (isDragged) {
      for (const [name, ends] of Object.entries(this.moved)) this.fields.get(name).settle(ends);
      this.describe();
    }
    this.onChange({ amends: true }); // the outline moves to the box that was counted, and gets its label
  }
}
