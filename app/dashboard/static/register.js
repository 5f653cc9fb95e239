// The form for a new dataset: any number of attributes, and an explanation of the budget.
import { change, tell } from "./api.js";
import { odds } from "./format.js";

const list = document.getElementById("attributes");
const template = document.getElementById("attribute");
let made = 0;

function addAttribute() {
  const row = template.content.cloneNode(true).firstElementChild;
  made += 1;
  row.querySelectorAll(".field").forEach((field, place) => {
    const input = field.querySelector("input");
    input.id = `attribute-${made}-${place}`;
    field.querySelector("label").htmlFor = input.id;
  });
  row.querySelector(".remove").addEventListener("click", () => {
    row.remove();
    mark();
  });
  list.append(row);
  mark();
  return row;
}

function mark() {
  const buttons = list.querySelectorAll(".remove");
  buttons.forEach((button, place) => {
    button.hidden = buttons.length === 1;
    button.setAttribute("aria-label", `Remove attribute ${place + 1}`);
  });
}

function numberIn(row, name) {
  const text = row.querySelector(`[name=${name}]`).value.trim();
  return text === "" || Number.isNaN(Number(text)) ? null : Number(text);
}

function body(form) {
  if (!form.elements.name.validity.valid) throw new Error("Give the dataset a name of letters, digits, dot, dash or underscore.");
  const attributes = [...list.children].map((row) => ({
    name: row.querySelector("[name=attribute]").value.trim(), lower: numberIn(row, "lower"), upper: numberIn(row, "upper"),
  }));
  const unclear = attributes.findIndex((a) => !a.name || a.lower === null || a.upper === null);
  if (unclear >= 0) throw new Error(`Attribute ${unclear + 1} needs a name and two numbers as bounds.`);
  return {
    name: form.elements.name.value.trim(), description: form.elements.description.value.trim(), attributes,
    budget: form.elements.budget.value.trim(),
  };
}

const budget = document.getElementById("budget");
const meaning = () => {
  const epsilon = Number(budget.value);
  document.getElementById("budget-meaning").textContent = epsilon > 0 ? odds(epsilon) : "";
};
budget.addEventListener("input", meaning);
meaning();
addAttribute();
addAttribute();
document.getElementById("add-attribute").addEventListener("click", () => addAttribute().querySelector("input").focus());
document.getElementById("register").addEventListener("submit", async (event) => {
  event.preventDefault();
  const problem = document.getElementById("problem");
  tell(problem, null);
  try {
    const asked = body(event.target);
    await change("POST", "/v1/datasets", asked);
    location.assign(`/datasets/${encodeURIComponent(asked.name)}`);
  } catch (error) {
    tell(problem, error);
  }
});
