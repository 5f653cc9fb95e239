// "Verify now": the service verifies the chain and reports its progress after each thousand entries.
import { change, tell } from "./api.js";

const button = document.getElementById("verify");
const progress = document.getElementById("verify-progress");
const bar = progress?.querySelector("progress");
const count = document.getElementById("verify-count");
const outcome = document.getElementById("verify-outcome");

async function* linesOf(response) {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of response.body) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop();
    yield* parts;
  }
}

function show(step) {
  const words = document.createElement("p");
  words.className = `notice ${step.valid ? "good-notice" : "bad-notice"}`;
  const entries = step.entries.toLocaleString("en");
  if (step.valid) {
    words.textContent = `Every one of ${entries} entries holds, and the witness agrees. The head is ${step.head.hash}.`;
  } else {
    words.textContent = `Broken at entry ${step.first_bad.toLocaleString("en")}. ${step.reason} The ${entries} before it hold. `;
    const link = document.createElement("a");
    link.href = `/ledger?before=${step.first_bad + 1}#entry-${step.first_bad}`;
    link.textContent = `Look at entry ${step.first_bad.toLocaleString("en")}`;
    words.append(link);
    document.getElementById(`entry-${step.first_bad}`)?.classList.add("broken");
  }
  outcome.replaceChildren(words);
  const last = document.getElementById("last-verified");
  last.replaceChildren();
  const state = document.createElement("span");
  state.className = step.valid ? "good" : "bad";
  state.textContent = step.valid ? "whole" : `broken at entry ${step.first_bad}`;
  last.append(state, `${step.valid ? ` up to entry ${entries}` : ""}, just now by you`);
}

button?.addEventListener("click", async () => {
  button.disabled = true;
  outcome.replaceChildren();
  progress.hidden = false;
  bar.value = 0;
  let step = null;
  try {
    const response = await change("POST", "/v1/ledger/verifications");
    for await (const line of linesOf(response)) {
      step = JSON.parse(line);
      bar.max = Math.max(1, step.total);
      bar.value = step.entries;
      count.textContent = `${step.entries.toLocaleString("en")} of ${step.total.toLocaleString("en")} entries`;
    }
    if (step) show(step);
  } catch (error) {
    tell(outcome, error);
  } finally {
    button.disabled = false;
    progress.hidden = true;
  }
});
