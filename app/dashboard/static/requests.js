// Approve, refuse or withdraw what waits for a second person.
import { change, tell } from "./api.js";

// The second click decides: no dialog, and nothing is approved by accident.
document.getElementById("requests").addEventListener("click", async (event) => {
  const button = event.target.closest("[data-decide]");
  if (!button) return;
  const { decide, request } = button.dataset;
  if (!button.dataset.sure) {
    button.dataset.sure = "yes";
    button.textContent = `${decide === "approve" ? "Approve" : "Refuse"} ${request} for good?`;
    return;
  }
  const problem = document.getElementById("requests-problem");
  tell(problem, null);
  try {
    await change("POST", `/v1/requests/${request}/${decide}`);
    location.reload();
  } catch (error) {
    tell(problem, error);
  }
});
