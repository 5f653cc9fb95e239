// The form for a new dataset: any number of attributes of any kind, whose presence is protected, and what a budget means.
import { change, tell } from "./api.js";
import { Fault, KINDS } from "./attribute.js";
import { odds } from "./format.js";

const at = (id) => document.getElementById(id);
const form = at("register");
const list = at("attributes");
let made = 0;

// --- Attributes

const part = (row, field) => row.querySelector(`[data-field="${field}"]`);
const control = (row, field) => part(row, field).querySelector("input, select, textarea");
const texts = (row) => Object.fromEntries(["lower", "upper", "zone", "values"].map((field) => [field, control(row, field).value.trim()]));
const kindOf = (row) => KINDS[control(row, "kind").value];

function addAttribute() {
  const row = at("attribute").content.cloneNode(true).firstElementChild;
  made += 1;
  row.querySelectorAll(".field").forEach((field, place) => {
    const input = field.querySelector("input, select, textarea");
    input.id = `attribute-${made}-${place}`;
    field.querySelector("label").htmlFor = input.id;
  });
  control(row, "kind").append(...Object.values(KINDS).map(({ kind, title }) => new Option(title, kind)));
  control(row, "kind").addEventListener("change", () => showKind(row));
  row.querySelector(".remove").addEventListener("click", () => {
    row.remove();
    mark();
  });
  list.append(row);
  showKind(row);
  mark();
  return row;
}

// The fields that the kind of an attribute has. An input of another type forgets its text.
function showKind(row) {
  const kind = kindOf(row);
  for (const field of ["lower", "upper", "zone", "values", "other"]) part(row, field).hidden = !kind.fields.includes(field);
  for (const field of ["lower", "upper"]) {
    const input = control(row, field);
    if (kind.input && input.type !== kind.input.type) input.value = "";
    Object.assign(input, kind.input ?? {});
  }
  row.dataset.kind = kind.kind;
  row.querySelector(".hint").textContent = kind.hint;
  showFaults(row, []);
}

function mark() {
  [...list.children].forEach((row, place) => {
    row.setAttribute("aria-label", `Attribute ${place + 1}`);
    row.querySelector(".remove").hidden = list.children.length === 1;
    row.querySelector(".remove").setAttribute("aria-label", `Remove attribute ${place + 1}`);
  });
}

// --- Errors, each beside its field

function showFaults(root, faults) {
  root.querySelectorAll(".field-fault").forEach((message) => message.remove());
  root.querySelectorAll("[aria-invalid]").forEach((input) => {
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-describedby");
  });
  for (const { field, message } of faults) {
    const input = control(root, field);
    const words = Object.assign(document.createElement("p"), { className: "field-fault", id: `${input.id}-fault`, textContent: message });
    part(root, field).append(words);
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-describedby", words.id);
  }
}

// The result of a function, or null and a fault on the list.
function tried(faults, read) {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    faults.push(error);
    return null;
  }
}

// What a row declares. Throws the first fault, with the number of the attribute, after all are shown.
function declared(row, place) {
  const faults = [];
  const name = control(row, "name").value.trim();
  if (!name) faults.push(new Fault("name", "Write the name of a column."));
  const fields = tried(faults, () => kindOf(row).declare({ ...texts(row), other: control(row, "other").checked }));
  showFaults(row, faults);
  if (faults.length) {
    const lacks = name ? `look at the field “${part(row, faults[0].field).querySelector("label").textContent}”` : "needs a name";
    throw Object.assign(new Error(`Attribute ${place + 1} ${name ? `(${name}): ${lacks}` : lacks}.`), { input: control(row, faults[0].field) });
  }
  const missing = control(row, "missing").checked ? { missing: "keep" } : {};
  return { name, kind: kindOf(row).kind, ...fields, ...missing };
}

// --- The privacy unit

const isPerson = () => form.elements.unit.value === "person";
const mostRows = () => (/^\d{1,4}$/.test(at("person-rows").value.trim()) ? Number(at("person-rows").value) : 0);

function showUnit() {
  at("person").hidden = !isPerson();
  const rows = mostRows();
  at("person-cost").textContent = rows < 1 ? "" : rows === 1
    ? "One row of each person is counted, with the noise of a single record. Other rows are left out."
    : `Up to ${rows} rows of each person are counted, and the noise is ${rows} times as wide as for single records. ` +
      "A larger number keeps more rows and adds more noise; the plan of a release compares some.";
}

function unit() {
  if (!isPerson()) return {};
  const column = at("person-column").value.trim();
  const faults = [];
  if (!column) faults.push(new Fault("column", "Write the name of the column."));
  if (mostRows() < 1 || mostRows() > 1000) faults.push(new Fault("max_rows", "Write a whole number from 1 to 1,000."));
  showFaults(at("person"), faults);
  if (faults.length) throw Object.assign(new Error("Say how persons are told apart, and how many rows of each are counted."), { input: control(at("person"), faults[0].field) });
  return { unit: { kind: "person", column, max_rows: mostRows() } };
}

// --- What is said of it, for cards. A text is one line.

function about() {
  const fields = [...form.querySelectorAll("[data-about]")].map((input) => [input.dataset.about, input.value.replace(/\s+/g, " ").trim()]);
  const given = fields.filter(([, text]) => text);
  return given.length ? { about: Object.fromEntries(given) } : {};
}

// --- The form

function body() {
  const { name, description, budget } = form.elements;
  if (!name.validity.valid) throw Object.assign(new Error("Give the dataset a name of letters, digits, dot, dash or underscore."), { input: name });
  const errors = [];
  const attributes = [...list.children].map((row, place) => {
    try {
      return declared(row, place);
    } catch (error) {
      errors.push(error);
      return null;
    }
  });
  if (errors.length) throw errors[0];
  return { name: name.value.trim(), description: description.value.trim(), attributes, ...unit(), budget: budget.value.trim(), ...about() };
}

// The service names an attribute by its place: attributes[1]. Shown as a person counts them.
function inWords(error) {
  const place = /^attributes\[(\d+)\]: /.exec(error.message);
  return place ? Object.assign(error, { message: `Attribute ${Number(place[1]) + 1}: ${error.message.slice(place[0].length)}` }) : error;
}

const meaning = () => {
  const epsilon = Number(at("budget").value);
  at("budget-meaning").textContent = epsilon > 0 ? odds(epsilon, form.elements.unit.value) : "";
};
at("budget").addEventListener("input", meaning);
form.addEventListener("change", (event) => {
  if (event.target.name !== "unit") return;
  showUnit();
  meaning();
});
at("person-rows").addEventListener("input", showUnit);
showUnit();
meaning();
addAttribute();
addAttribute();
at("add-attribute").addEventListener("click", () => addAttribute().querySelector("input").focus());
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  tell(at("problem"), null);
  try {
    const asked = body();
    await change("POST", "/v1/datasets", asked);
    location.assign(`/datasets/${encodeURIComponent(asked.name)}`);
  } catch (error) {
    tell(at("problem"), inWords(error));
    error.input?.focus();
  }
});
