// Void an order without an upload.
import { change, tell } from "./api.js";

document.getElementById("void")?.addEventListener("click", async (event) => {
  try {
    await change("DELETE", `/v1/releases/${event.target.dataset.release}`);
    location.reload();
  } catch (error) {
    tell(document.getElementById("void-problem"), error);
  }
});
