// Void an order without an upload.
import { change, tell } from "./api.js";

document.getElementById("void")?.addEventListener("click", async (event) => {
  try {
    const reply = await change("DELETE", `/v1/releases/${event.target.dataset.release}`);
    if (reply.status === 202) throw new Error(`${(await reply.json()).id} waits until another key approves it on the dataset's page.`);
    location.reload();
  } catch (error) {
    tell(document.getElementById("void-problem"), error);
  }
});
