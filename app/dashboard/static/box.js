// A box: dragged on the map or written in fields, counted by the service, shown with its interval.
import { ask, tell } from "./api.js";
import { number } from "./format.js";
import { curl, literal, setLines } from "./lines.js";

const at = (id) => document.getElementById(id);
const text = (input) => input.value.trim();
const sound = (input) => text(input) === "" || Number.isFinite(Number(text(input)));

// What is wrong with a number, and how it may have been meant.
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
    const told = Object.assign(document.createElement("p"), { id: `box-${place}-fault`, className: "field-fault", hidden: true });
    row.append(name, pair[0], dash, pair[1], told);
    at("box-fields").append(row);
    this.fields.set(attribute.name, pair);
  }

  set(attribute, [low, high]) {
    const [from, to] = this.fields.get(attribute.name);
    from.value = low;
    to.value = high;
  }

  // Says at each field what is wrong with it; the first such field, or null where all are numbers or empty.
  check() {
    let first = null;
    for (const [name, pair] of this.fields) {
      const wrong = pair.filter((input) => !sound(input));
      const told = pair[0].parentElement.querySelector(".field-fault");
      told.hidden = wrong.length === 0;
      told.textContent = wrong.map((input) => fault(name, text(input))).join(" ");
      for (const input of pair) {
        if (wrong.includes(input)) {
          input.setAttribute("aria-invalid", "true");
          input.setAttribute("aria-describedby", told.id);
        } else {
          input.removeAttribute("aria-invalid");
          input.removeAttribute("aria-describedby");
        }
      }
      first ??= wrong[0] ?? null;
    }
    return first;
  }

  // No box: neither its answer, nor one that is still under way, nor its outline.
  forget() {
    this.asked += 1;
    this.active = false;
    at("box-answer").replaceChildren();
    this.onChange();
  }

  // Whether there is a box to draw: a field may have been spoilt since it was counted.
  get drawable() {
    return this.active && [...this.fields.values()].flat().every(sound);
  }

  // [low, high], or null where neither end is given.
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
    const query = this.where().map((one) => `where=${encodeURIComponent(one).replaceAll("%3A", ":")}`);
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
      const found = await ask(this.path());
      if (mine === this.asked) this.show(found);
    } catch (error) {
      if (mine === this.asked) tell(at("box-answer"), error);
    }
  }

  // The interval of the whole error first, its parts second.
  show(found) {
    const line = (words, name) => Object.assign(document.createElement("p"), { textContent: words, className: name });
    const rows = (value) => number(Math.round(value) + 0, 12); // + 0: never "-0"
    const span = ({ low, high }) => `${rows(low)} to ${rows(high)}`;
    const answer = line(`${span(found.interval)} rows`, "answer");
    answer.dataset.count = found.count;
    const shown = [answer, line(`With ${number(100 * found.interval.level)} % probability. Best single number: ${rows(found.count)}.`, "interval")];
    const { low: without, high: withCut } = found.discretisation;
    if (without !== withCut) {
      shown.push(line(`The box cuts cells of the grid, or ends on an edge between two: ${rows(without)} rows without the cut cells, ` +
        `${rows(withCut)} with all of them. Noise alone: ${span(found.noise)}.`, "cut help"));
    }
    for (const [name, { low, high }] of Object.entries(found.snapped ?? {})) {
      shown.push(line(`${name} was counted from ${number(low, 6)} to ${number(high, 6)}, the nearest cell edges.`, "snapped help"));
    }
    at("box-answer").replaceChildren(...shown);
  }
}
