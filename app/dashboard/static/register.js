// The form for a new dataset: any number of attributes of any kind, whose presence is protected, and what a budget means.
import { change } from "./api.js";
import { Fault, KINDS } from "./attribute.js";
import { Faults, clearFaults, clearMarks, enable, faultsOf, showFaults } from "./faults.js";
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
  clearMarks(row);
}

function mark() {
  [...list.children].forEach((row, place) => {
    row.setAttribute("aria-label", `Attribute ${place + 1}`);
    row.querySelector(".remove").hidden = list.children.length === 1;
    row.querySelector(".remove").setAttribute("aria-label", `Remove attribute ${place + 1}`);
  });
}

// The result of a function, or null and its fault on the list.
function tried(faults, root, read) {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    faults.push({ input: control(root, error.field), message: error.message });
    return null;
  }
}

// What a row declares; its faults go on the list.
function declared(row, faults) {
  const name = control(row, "name").value.trim();
  if (!name) faults.push({ input: control(row, "name"), message: "Write the name of a column." });
  const fields = tried(faults, row, () => kindOf(row).declare({ ...texts(row), other: control(row, "other").checked }));
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

function unit(faults) {
  if (!isPerson()) return {};
  const column = at("person-column").value.trim();
  if (!column) faults.push({ input: at("person-column"), message: "Write the name of the column." });
  if (mostRows() < 1 || mostRows() > 1000) faults.push({ input: at("person-rows"), message: "Write a whole number from 1 to 1,000." });
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
  const faults = [];
  if (!name.validity.valid) faults.push({ input: name, message: "Letters, digits, dot, dash and underscore; the first a letter or digit." });
  const attributes = [...list.children].map((row) => declared(row, faults));
  const people = unit(faults);
  if (!budget.value.trim()) faults.push({ input: budget, message: "Write a number, such as 1 or 0.5." });
  if (faults.length) throw new Faults(faults);
  return { name: name.value.trim(), description: description.value.trim(), attributes, ...people, budget: budget.value.trim(), ...about() };
}

// The field that a problem of the service is about.
function inputOf(place, message = "") {
  const number = /^attributes(?:\.|\[)(\d+)/.exec(place.startsWith("attributes") ? place : message)?.[1];
  if (number !== undefined) {
    const field = place.split(".").at(-1);
    return control(list.children[number], ["lower", "upper", "zone", "values", "kind"].includes(field) ? field : "name");
  }
  const own = { "name-taken": "name", "invalid-epsilon": "budget", "budget-too-large": "budget", "unit.column": "person-column", "unit.max_rows": "person-rows" };
  const id = place.startsWith("about.") ? place.replace(".", "-") : own[place] ?? place;
  return ["name", "description", "budget", "person-column", "person-rows"].includes(id) || id.startsWith("about-") ? at(id) : null;
}

// The service names an attribute by its place: attributes[1]. Its line names the field already.
const withoutPlace = ({ input, message }) => ({ input, message: message.replace(/^attributes\[\d+\]: /, "") });

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
  clearFaults(form);
  try {
    const asked = body();
    await change("POST", "/v1/datasets", asked);
    location.assign(`/datasets/${encodeURIComponent(asked.name)}`);
  } catch (error) {
    showFaults(form, faultsOf(error, inputOf).map(withoutPlace));
  }
});
enable(form);
