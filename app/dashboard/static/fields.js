// The fields in which a part of an attribute is given: two ends of a range, or labels to choose. Their interface is the
// same: `part` is the text for `where`, null for all rows, and `fill` takes it; `wrong` lists inputs that cannot be understood.
import { MISSING_LABEL } from "./attribute.js";

const text = (input) => input.value.trim();

function made(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

function checkbox(label, value) {
  const input = made("input", { type: "checkbox", value });
  return { input, element: made("label", { className: "choice" }, input, made("span", { textContent: label })) };
}

const MANY = 12; // labels; more of them get a search

class LabelField {
  constructor(attribute) {
    this.attribute = attribute;
    this.boxes = attribute.choices.map((label) => ({ label, ...checkbox(label, label) }));
    this.inputs = this.boxes.map(({ input }) => input);
    this.element = made("fieldset", { className: "box-labels" }, made("legend", { textContent: attribute.name }));
    if (this.boxes.length > MANY) this.addSearch();
    this.element.append(made("div", { className: "checks" }, ...this.boxes.map(({ element }) => element)));
  }

  // A search among many labels. Chosen ones stay in sight, and their number is said.
  addSearch() {
    this.search = made("input", { type: "search", className: "label-search", placeholder: `Search ${this.boxes.length} values`, autocomplete: "off" });
    this.search.setAttribute("aria-label", `Search the values of ${this.attribute.name}`);
    this.count = made("p", { className: "quiet-text chosen" });
    this.count.setAttribute("role", "status");
    this.search.addEventListener("input", () => this.sift());
    this.search.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
    this.element.addEventListener("change", () => this.sift());
    this.element.append(this.search, this.count);
    this.sift();
  }

  sift() {
    if (!this.search) return;
    const wanted = text(this.search).toLowerCase();
    let matching = 0;
    for (const { label, input, element } of this.boxes) {
      const matches = label.toLowerCase().includes(wanted);
      matching += matches;
      element.hidden = !matches && !input.checked;
    }
    const chosen = this.inputs.filter((input) => input.checked).length;
    this.count.textContent = [wanted ? `${matching} match` : "", chosen ? `${chosen} chosen` : "none chosen: all values"].filter(Boolean).join(", ");
  }

  // None and all of the labels mean the same: every row.
  get part() {
    const chosen = this.inputs.filter((input) => input.checked).map((input) => input.value);
    return chosen.length && chosen.length < this.inputs.length ? chosen.join(",") : null;
  }

  get wrong() {
    return [];
  }

  get ends() {
    return null;
  }

  check() {
    return null;
  }

  choose(labels) {
    for (const input of this.inputs) input.checked = labels.includes(input.value);
    this.sift();
  }

  fill(part) {
    this.choose(part.split(","));
  }

  drag(ends) {
    this.choose(this.attribute.touched([...ends].sort((a, b) => a - b)));
  }

  clear() {
    this.choose([]);
  }

  within() {} // what is shown of a category is said by the chips above
}

class RangeField {
  constructor(attribute, place) {
    Object.assign(this, { attribute, shown: ["", ""] }); // the ends of what is shown; empty for the public bounds
    this.inputs = ["from", "to"].map((end) => {
      const input = made("input", { ...attribute.input, id: `box-${place}-${end}`, autocomplete: "off" });
      input.setAttribute("aria-label", `${attribute.name} ${end}`);
      input.title = attribute.rule;
      return input;
    });
    this.message = made("p", { id: `box-${place}-fault`, className: "field-fault", hidden: true });
    const layout = attribute.input.type === "text" ? "" : " stretched";
    this.title = made("span", { textContent: attribute.name });
    this.element = made("div", { className: `box-row${layout}` }, this.title,
      this.inputs[0], made("span", { textContent: "to" }), this.inputs[1], this.message);
    if (attribute.keepsMissing) this.addMissing();
    this.within(null);
  }

  // Shows which range an empty field stands for: that of the part of the rows that is shown, null for all of them. Inputs
  // of dates show no placeholder, so it stands beside their name.
  within(part) {
    const { attribute } = this;
    this.shown = (part !== null && attribute.endsOf(part)?.map((end) => attribute.inputText(end))) || ["", ""];
    this.inputs.forEach((input, place) => { input.placeholder = attribute.rounded(this.shown[place]) || String([attribute.lower, attribute.upper][place]); });
    const isNamed = this.shown.some(Boolean) && attribute.input.type !== "text";
    this.title.textContent = isNamed ? attribute.partWords(part) : attribute.name;
  }

  // The texts of both ends, an empty one as what it stands for; both empty if neither is given.
  get texts() {
    const own = this.inputs.map(text);
    return own.some(Boolean) ? own.map((end, place) => end || this.shown[place]) : own;
  }

  addMissing() {
    const { input, element } = checkbox(`only rows without ${this.attribute.name}`, MISSING_LABEL);
    this.missing = input;
    input.addEventListener("change", () => this.inputs.forEach((other) => { other.disabled = input.checked; }));
    element.classList.add("box-missing");
    this.element.append(element);
  }

  get isMissing() {
    return this.missing?.checked ?? false;
  }

  get part() {
    if (this.isMissing) return MISSING_LABEL;
    const [from, to] = this.texts;
    return (from || to) && this.wrong.length === 0 ? this.attribute.range(from, to) : null;
  }

  get unreadable() {
    if (this.isMissing) return [];
    return this.inputs.filter((input) => input.validity.badInput || (text(input) && this.attribute.written(text(input)) === null));
  }

  // Whether both ends can be read and no value lies between them.
  get isEmpty() {
    if (this.unreadable.length) return false;
    const { ends } = this;
    return ends !== null && ends[0] >= ends[1];
  }

  get wrong() {
    if (!this.isEmpty) return this.unreadable;
    return [this.inputs.findLast((input) => text(input))];
  }

  // Both ends as positions on a chart; null if neither is given.
  get ends() {
    const [from, to] = this.texts;
    return !this.isMissing && (from || to) ? this.attribute.ends(from, to) : null;
  }

  get fault() {
    const { attribute, inputs, unreadable } = this;
    if (!this.isEmpty) return unreadable.map((input) => `${attribute.name}: ${attribute.fault(text(input))}`).join(" ");
    const [from, to] = this.texts.map((end, place) => end || inputs[place].placeholder);
    return `${attribute.name}: the range from ${from} to ${to} is empty; ${attribute.rule}.`;
  }

  // Shows an error at each wrong input, and returns the first of them.
  check() {
    const { wrong, message } = this;
    message.hidden = wrong.length === 0;
    message.textContent = this.fault;
    for (const input of this.inputs) {
      if (wrong.includes(input)) {
        input.setAttribute("aria-invalid", "true");
        input.setAttribute("aria-describedby", message.id);
      } else {
        input.removeAttribute("aria-invalid");
        input.removeAttribute("aria-describedby");
      }
    }
    return wrong[0] ?? null;
  }

  choose(labels) {
    if (!this.missing) return;
    this.missing.checked = labels.includes(MISSING_LABEL);
    this.missing.dispatchEvent(new Event("change"));
  }

  fill(part) {
    this.clear();
    if (part === MISSING_LABEL) this.choose([part]);
    else this.attribute.endsOf(part).forEach((end, place) => { this.inputs[place].value = this.attribute.inputText(end); });
  }

  // Shows the range that was counted, from one value of an answer to another, where it is another than what is written.
  settle({ low, high }) {
    const own = this.inputs.map(text);
    [low, high].forEach((value, place) => {
      if (own[place]) this.inputs[place].value = this.attribute.typed(this.attribute.at(value));
    });
  }

  drag(drawn) {
    this.choose([]);
    this.attribute.dragged(drawn).forEach((end, place) => { this.inputs[place].value = end; });
  }

  clear() {
    this.choose([]);
    for (const input of this.inputs) input.value = "";
  }
}

export const fieldOf = (attribute, place) => (attribute.isOrdered ? new RangeField(attribute, place) : new LabelField(attribute));
