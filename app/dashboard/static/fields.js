// The fields in which a part of an attribute is given: two ends of a range, or labels to choose. Their interface is the
// same: `part` is the text for `where`, null for all rows; `wrong` lists the inputs that cannot be understood.
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

class LabelField {
  constructor(attribute) {
    this.attribute = attribute;
    const boxes = attribute.choices.map((label) => checkbox(label, label));
    this.inputs = boxes.map(({ input }) => input);
    this.element = made("fieldset", { className: "box-labels" }, made("legend", { textContent: attribute.name }),
      made("div", { className: "checks" }, ...boxes.map(({ element }) => element)));
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
  }

  drag(ends) {
    this.choose(this.attribute.touched([...ends].sort((a, b) => a - b)));
  }

  clear() {
    this.choose([]);
  }
}

class RangeField {
  constructor(attribute, place) {
    this.attribute = attribute;
    this.inputs = ["from", "to"].map((end) => {
      const bound = end === "from" ? attribute.lower : attribute.upper;
      const input = made("input", { ...attribute.input, id: `box-${place}-${end}`, autocomplete: "off", placeholder: String(bound) });
      input.setAttribute("aria-label", `${attribute.name} ${end}`);
      input.title = attribute.rule;
      return input;
    });
    this.message = made("p", { id: `box-${place}-fault`, className: "field-fault", hidden: true });
    const layout = attribute.input.type === "text" ? "" : " stretched";
    this.element = made("div", { className: `box-row${layout}` }, made("span", { textContent: attribute.name }),
      this.inputs[0], made("span", { textContent: "to" }), this.inputs[1], this.message);
    if (attribute.keepsMissing) this.addMissing();
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
    const [from, to] = this.inputs.map(text);
    return (from || to) && this.wrong.length === 0 ? this.attribute.range(from, to) : null;
  }

  get wrong() {
    if (this.isMissing) return [];
    return this.inputs.filter((input) => input.validity.badInput || (text(input) && this.attribute.written(text(input)) === null));
  }

  // Both ends as positions on a chart; null if neither is given.
  get ends() {
    const [from, to] = this.inputs.map(text);
    return !this.isMissing && (from || to) ? this.attribute.ends(from, to) : null;
  }

  // Shows an error at each wrong input, and returns the first of them.
  check() {
    const { wrong, message } = this;
    message.hidden = wrong.length === 0;
    message.textContent = wrong.map((input) => `${this.attribute.name}: ${this.attribute.fault(text(input))}`).join(" ");
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
