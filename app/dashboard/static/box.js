// The panel of a part of the rows: drawn on the map or given in fields. The service counts it, shown with its interval;
// on request all other panels show this part alone.
import { ask, tell } from "./api.js";
import { fieldOf } from "./fields.js";
import { noteLines, number } from "./format.js";
import { curl, literal, setLines } from "./lines.js";

const at = (id) => document.getElementById(id);

export class BoxPanel {
  constructor(about, part) {
    Object.assign(this, { about, part, active: false, asked: 0, moved: {}, snapChosen: false, onChange: () => {} });
    this.fields = new Map(about.attributes.map((attribute, place) => [attribute.name, fieldOf(attribute, place)]));
    at("box-fields").append(...[...this.fields.values()].map((field) => field.element));
    at("box").addEventListener("submit", (event) => { event.preventDefault(); this.count(); });
    at("box-snap").addEventListener("change", () => {
      this.snapChosen = true;
      if (this.active) this.count();
      else this.describe();
    });
    at("box-show").addEventListener("click", () => this.showPart());
    at("box-clear").addEventListener("click", () => {
      for (const field of this.fields.values()) field.clear();
      this.check();
      this.forget();
      this.describe();
    });
    this.describe();
  }

  // A selection on a chart along an attribute, from one end to the other; or on its missing values.
  drag(attribute, ends) {
    this.fields.get(attribute.name).drag(ends);
  }

  // A box that was dragged moves to cell edges, unless the reader chose otherwise: nobody drags to the exact edge.
  countDragged() {
    if (!this.snapChosen) at("box-snap").checked = true;
    return this.count();
  }

  choose(attribute, labels) {
    this.fields.get(attribute.name).choose(labels);
  }

  // Shows an error at each wrong field. Returns the first of them, or null if all can be understood.
  check() {
    return [...this.fields.values()].map((field) => field.check()).find((input) => input !== null) ?? null;
  }

  // Removes the box: its answer, a request that is still running, and its outline on the map.
  forget() {
    this.asked += 1;
    this.active = false;
    this.moved = {};
    at("box-answer").replaceChildren();
    this.onChange();
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

  where() {
    return [...this.fields].flatMap(([name, { part }]) => (part === null ? [] : [`${name}:${part}`]));
  }

  get snap() {
    return at("box-snap").checked;
  }

  path() {
    return this.part.path("count", this.snap ? ["snap=true"] : [], this.where());
  }

  describe() {
    setLines("count", curl(this.path()), `answer = client.count(${literal(this.about.id)}, where=${literal(this.where())}${this.snap ? ", snap=True" : ""})`);
  }

  // Counts the box. Returns whether it could be counted.
  async count() {
    const wrong = this.check();
    if (wrong) {
      this.forget();
      wrong.focus();
      return false;
    }
    const mine = ++this.asked;
    this.active = true;
    this.moved = {};
    this.describe();
    this.onChange();
    try {
      const estimate = await ask(this.path());
      if (mine === this.asked) this.show(estimate);
      return mine === this.asked;
    } catch (error) {
      if (mine === this.asked) tell(at("box-answer"), error);
      return false;
    }
  }

  // A part that can be counted can be shown: the service refuses the same ones for both.
  async showPart() {
    if (await this.count()) this.part.set(this.where());
  }

  // Shows the interval of the total error first, then its parts.
  show(estimate) {
    const line = (words, name) => Object.assign(document.createElement("p"), { textContent: words, className: name });
    const rows = (value) => number(Math.round(value) + 0, 12); // + 0: never "-0"
    const span = ({ low, high }) => `${rows(low)} to ${rows(high)}`;
    const answer = line(`${span(estimate.interval)} rows`, "answer");
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
    if (estimate.snapped) this.onChange(); // the outline moves to the box that was counted
  }
}
