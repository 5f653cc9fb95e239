// The count panel: a box, drawn on the map or typed into fields; the service counts it; shown with its interval.
import { ask, tell } from "./api.js";
import { number } from "./format.js";
import { curl, literal, setLines } from "./lines.js";

const at = (id) => document.getElementById(id);
const text = (input) => input.value.trim();
const sound = (input) => text(input) === "" || Number.isFinite(Number(text(input)));

// An error message for a text that is not a number, with a suggestion if the commas allow one.
function fault(name, written) {
  const plain = written.replaceAll(",", "");
  const meant = /^[-+]?\d+,\d{3}$/.test(written) ? `${plain} or ${written.replace(",", ".")}`
    : /^[-+]?\d*,\d+$/.test(written) ? written.replace(",", ".")
      : /^[-+]?\d{1,3}(,\d{3})+(\.\d*)?$/.test(written) ? plain : "";
  return `${name}: '${written}' is not a number${meant ? `; write ${meant}` : ""}.`;
}

export class BoxPanel {
  constructor(about) {
    Object.assign(this, { about, active: false, asked: 0, onChange: () => {}, fields: new Map() });
    about.attributes.forEach((attribute, place) => this.addRow(attribute, place));
    at("box").addEventListener("submit", (event) => { event.preventDefault(); this.count(); });
    at("box-snap").addEventListener("change", () => (this.active ? this.count() : this.describe()));
    at("box-clear").addEventListener("click", () => {
      for (const pair of this.fields.values()) pair.forEach((input) => { input.value = ""; });
      this.check();
      this.forget();
      this.describe();
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
    const message = Object.assign(document.createElement("p"), { id: `box-${place}-fault`, className: "field-fault", hidden: true });
    row.append(name, pair[0], dash, pair[1], message);
    at("box-fields").append(row);
    this.fields.set(attribute.name, pair);
  }

  set(attribute, [low, high]) {
    const [from, to] = this.fields.get(attribute.name);
    from.value = low;
    to.value = high;
  }

  // Shows an error at each wrong field. Returns the first of them, or null if all fields are numbers or empty.
  check() {
    let first = null;
    for (const [name, pair] of this.fields) {
      const wrong = pair.filter((input) => !sound(input));
      const message = pair[0].parentElement.querySelector(".field-fault");
      message.hidden = wrong.length === 0;
      message.textContent = wrong.map((input) => fault(name, text(input))).join(" ");
      for (const input of pair) {
        if (wrong.includes(input)) {
          input.setAttribute("aria-invalid", "true");
          input.setAttribute("aria-describedby", message.id);
        } else {
          input.removeAttribute("aria-invalid");
          input.removeAttribute("aria-describedby");
        }
      }
      first ??= wrong[0] ?? null;
    }
    return first;
  }

  // Removes the box: its answer, a request that is still running, and its outline on the map.
  forget() {
    this.asked += 1;
    this.active = false;
    at("box-answer").replaceChildren();
    this.onChange();
  }

  // Whether there is a box to draw: a field may have become invalid since it was counted.
  get drawable() {
    return this.active && [...this.fields.values()].flat().every(sound);
  }

  // [low, high], or null if neither end is given.
  ends(attribute) {
    const [from, to] = this.fields.get(attribute.name).map(text);
    if (!from && !to) return null;
    return [from ? Number(from) : attribute.lower, to ? Number(to) : attribute.upper];
  }

  where() {
    return this.about.attributes.flatMap((attribute) => {
      const [from, to] = this.fields.get(attribute.name).map(text);
      return from || to ? [`${attribute.name}:${from}..${to}`] : [];
    });
  }

  get snap() {
    return at("box-snap").checked;
  }

  path() {
    const query = this.where().map((condition) => `where=${encodeURIComponent(condition).replaceAll("%3A", ":")}`);
    if (this.snap) query.push("snap=true");
    return `/v1/releases/${this.about.id}/count${query.length ? `?${query.join("&")}` : ""}`;
  }

  describe() {
    setLines("count", curl(this.path()), `answer = client.count(${literal(this.about.id)}, where=${literal(this.where())}${this.snap ? ", snap=True" : ""})`);
  }

  async count() {
    const wrong = this.check();
    if (wrong) {
      this.forget();
      wrong.focus();
      return;
    }
    const mine = ++this.asked;
    this.active = true;
    this.describe();
    this.onChange();
    try {
      const estimate = await ask(this.path());
      if (mine === this.asked) this.show(estimate);
    } catch (error) {
      if (mine === this.asked) tell(at("box-answer"), error);
    }
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
      shown.push(line(`${name} was counted from ${number(low, 6)} to ${number(high, 6)}, the nearest cell edges.`, "snapped help"));
    }
    at("box-answer").replaceChildren(...shown);
  }
}
