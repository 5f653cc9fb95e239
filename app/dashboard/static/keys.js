// Issue and revoke keys. A new secret is shown once on this page and stored nowhere.
import { change, tell } from "./api.js";

const value = (id) => document.getElementById(id).value.trim();

document.getElementById("issue").addEventListener("submit", async (event) => {
  event.preventDefault();
  const problem = document.getElementById("issue-problem");
  tell(problem, null);
  const names = value("key-datasets").split(",").map((name) => name.trim()).filter(Boolean);
  const body = { name: value("key-name"), role: value("key-role"), ...(names.length ? { datasets: names } : {}) };
  try {
    const issued = await (await change("POST", "/v1/keys", body)).json();
    document.getElementById("secret").textContent = issued.key;
    document.getElementById("issued").hidden = false;
    addRow(issued);
    event.target.reset();
  } catch (error) {
    tell(problem, error);
  }
});

function addRow(issued) {
  const body = document.querySelector("#keys tbody");
  if (!body) return;
  const row = body.insertRow(0);
  const cells = [issued.name, issued.role, issued.id, issued.datasets ? issued.datasets.join(", ") : "all", "just now", ""];
  for (const text of cells) row.insertCell().textContent = text;
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
