// Issue and revoke keys. A new secret is shown once on this page and stored nowhere.
import { change, tell } from "./api.js";
import { Faults, clearFaults, enable, faultsOf, showFaults } from "./faults.js";

const value = (id) => document.getElementById(id).value.trim();

document.getElementById("issue").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  clearFaults(form);
  const names = value("key-datasets").split(",").map((name) => name.trim()).filter(Boolean);
  const body = { name: value("key-name"), role: value("key-role"), ...(names.length ? { datasets: names } : {}) };
  try {
    if (!body.name) throw new Faults([{ input: document.getElementById("key-name"), message: "Write who will hold it." }]);
    const issued = await (await change("POST", "/v1/keys", body)).json();
    document.getElementById("secret").textContent = issued.key;
    document.getElementById("issued").hidden = false;
    addRow(issued);
    form.reset();
  } catch (error) {
    showFaults(form, faultsOf(error, (place) => ["name", "role", "datasets"].includes(place.split(".")[0]) && document.getElementById(`key-${place.split(".")[0]}`)));
  }
});

const TITLES = ["Name", "Role", "Id", "Datasets", "Issued", "State"];

enable(document.getElementById("issue"));

function addRow(issued) {
  const body = document.querySelector("#keys tbody");
  if (!body) return;
  const row = body.insertRow(0);
  const cells = [issued.name, issued.role, issued.id, issued.datasets ? issued.datasets.join(", ") : "all", "just now", ""];
  cells.forEach((text, place) => {
    const cell = row.insertCell();
    cell.textContent = text;
    cell.dataset.label = TITLES[place];
  });
  const revoke = document.createElement("button");
  revoke.type = "button";
  revoke.className = "danger-button small";
  revoke.dataset.revoke = issued.id;
  revoke.textContent = "Revoke";
  row.lastElementChild.append(revoke);
}

// The second click revokes: no dialog, and no key is revoked by accident.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-revoke]");
  if (!button) return;
  if (!button.dataset.sure) {
    button.dataset.sure = "yes";
    button.textContent = "Revoke for good?";
    return;
  }
  const problem = document.getElementById("revoke-problem");
  tell(problem, null);
  try {
    await change("DELETE", `/v1/keys/${button.dataset.revoke}`);
    button.replaceWith("revoked just now");
  } catch (error) {
    tell(problem, error);
  }
});
