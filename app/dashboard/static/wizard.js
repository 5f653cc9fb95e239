// The release wizard: plan (free), order, upload, published.
import { Problem, ask, change, facts, tell, upload } from "./api.js";
import { attributeOf } from "./attribute.js";
import { accepted, chosenFile, headers, look, prepareFile, weight } from "./file.js";
import { clearMarks, markFault } from "./faults.js";
import { factRows, number, odds } from "./format.js";
import { curl, literal, named, setLines } from "./lines.js";
import { decimal, drawGrid, nano, planAdvice, planCosts, planFacts, planPeople, planRules } from "./plan.js";

const about = facts("facts");
const attributes = about.attributes.map(attributeOf);
const person = about.unit.kind === "person" ? { column: about.unit.column, maxRows: about.unit.max_rows } : null;
const at = (id) => document.getElementById(id);
const base = `/v1/datasets/${encodeURIComponent(about.dataset)}`;
let release = about.order;
let remaining = about.remaining; // what is left of the budget; each plan says it anew
let asked = 0;
let planned = false;
let stopping = null;
// One idempotency key for each set of terms: after a repeated click or a lost reply, the charge is made only once.
let orderKey = { terms: "", key: "" };

// --- Plan

const most = Number(about.remaining);
const least = Math.min(0.01, most);
const fromSlider = (step) => (step >= 1000 ? about.remaining : String(Number((least * (most / least) ** (step / 1000)).toPrecision(2))));
const toSlider = (value) => Math.round((1000 * Math.log(value / least)) / Math.log(most / least) || 0);

function terms() {
  const declared = at("plan").elements.size.value === "declared";
  const rows = Number(at("size").value.replaceAll(/[ ,_]/g, ""));
  const size = declared ? { declared: rows } : { estimate: "0.05", ...(rows > 0 ? { guess: rows } : {}) };
  return {
    attributes: [...at("attribute-checks").querySelectorAll("input:checked")].map((box) => box.value),
    epsilon: at("epsilon").value.trim(), clusters: Number(at("clusters").value), size, rule: at("rule").value,
    out_of_range: at("out-of-range").value, ...(at("offsets").value ? { offsets: at("offsets").value === "true" } : {}),
  };
}

// What is wrong with the terms: a message and its field; null if they can be planned.
function unclear(wanted) {
  const fault = (id, message) => ({ input: id && at(id), message });
  if (wanted.attributes.length === 0) return fault(null, "Choose at least one attribute.");
  if (!nano(wanted.epsilon)) return fault("epsilon", "Epsilon is a number above 0 with at most nine decimal places.");
  if (nano(wanted.epsilon) > nano(remaining)) return fault("epsilon", `Only ${remaining} is left of the budget.`);
  if (!Number.isInteger(wanted.clusters) || wanted.clusters < 1) return fault("clusters", "Clusters is a whole number from 1.");
  if ("declared" in wanted.size && !(wanted.size.declared >= 1)) return fault("size", "Declare a number of rows.");
  return null;
}

// Order and upload need a plan, a checked file, and a person's consent if many rows would be lost.
function refresh() {
  at("order").disabled = !(planned && accepted());
  at("upload").disabled = stopping !== null || !chosenFile() || !accepted();
}

const chosen = (names) => attributes.filter(({ name }) => names.includes(name));

// Without a plan nothing is shown: the numbers of an earlier plan could be mistaken for those of the present terms.
function unplanned(error, input = null) {
  if (input) markFault({ input, message: error.message });
  tell(at("plan-problem"), error);
  at("plan-told").hidden = true;
  at("order").textContent = "Order";
}

async function plan() {
  const mine = ++asked;
  const wanted = terms();
  const fault = unclear(wanted);
  planned = false;
  refresh();
  at("epsilon-meaning").textContent = nano(wanted.epsilon) ? odds(Number(wanted.epsilon), about.unit.kind) : "";
  at("plan-lines").hidden = fault !== null;
  clearMarks(at("plan"));
  if (fault) {
    unplanned(new Error(fault.message), fault.input);
    return;
  }
  tell(at("plan-problem"), null);
  const asking = { ...wanted, purpose: at("purpose").value };
  setLines("plan", curl(`${base}/plans`, { json: asking }),
    `plan = client.plan(${literal(about.dataset)}, ${named({ ...asking, size: undefined, ...wanted.size })})`);
  try {
    const preview = await (await change("POST", `${base}/plans`, asking)).json();
    if (mine !== asked) return;
    at("plan-told").hidden = false;
    drawGrid(at("grid"), preview.grid);
    planFacts(at("plan-facts"), preview, left(preview, wanted));
    const offsets = wanted.offsets ?? Boolean(preview.noise.epsilon_offsets);
    planAdvice(at("plan-advice"), preview, { rule: wanted.rule, offsets }, (best) => takeRule(best, offsets));
    planRules(at("plan-rules"), preview);
    planCosts(at("plan-costs"), preview);
    planPeople(at("plan-people"), preview, about.unit);
    at("plan-more").hidden = ["plan-rules", "plan-costs", "plan-people"].every((id) => !at(id).hasChildNodes());
    at("plan-warnings").replaceChildren(...preview.warnings.map((words) => {
      const line = document.createElement("li");
      line.textContent = words;
      return line;
    }));
    at("order").textContent = `Order for epsilon ${wanted.epsilon}`;
    planned = true;
    refresh();
  } catch (error) {
    const place = error instanceof Problem ? faultPlace(error) : "epsilon";
    if (mine === asked) unplanned(error, { epsilon: at("epsilon"), clusters: at("clusters"), size: at("size") }[place]);
  }
}

// Which part of the terms the service refuses; undefined if it names none.
const faultPlace = ({ body }) => body?.errors?.[0]?.loc[1];

// The budget after the order. It may have changed since the page was loaded; then nothing is offered that cannot be paid.
function left({ budget }, wanted) {
  remaining = budget?.remaining ?? remaining;
  at("remaining").textContent = remaining;
  if (budget?.after === null || nano(remaining) < nano(wanted.epsilon)) throw new Error(`Only ${remaining} is left of the budget.`);
  return budget?.after ?? decimal(nano(remaining) - nano(wanted.epsilon));
}

let waiting = 0;
function planSoon() {
  clearTimeout(waiting);
  planned = false;
  refresh();
  look();
  waiting = setTimeout(plan, 150);
}

function takeRule({ rule, offsets = false }, hasOffsets) {
  at("rule").value = rule;
  if (offsets !== hasOffsets) at("offsets").value = String(offsets);
  at("rule").closest("details").open = true; // where the choice can be seen
  at("rule").focus({ preventScroll: true }); // the button goes away with the advice
  planSoon();
}

function preparePlan() {
  for (const attribute of attributes) {
    const label = document.createElement("label");
    label.className = "choice";
    const box = Object.assign(document.createElement("input"), { type: "checkbox", value: attribute.name, checked: true });
    const words = document.createElement("span");
    words.textContent = `${attribute.name} (${attribute.declaredWords})`;
    label.append(box, words);
    at("attribute-checks").append(label);
  }
  at("whole-help").hidden = !attributes.some(({ constructor }) => constructor.kind === "number");
  if (most === 0) {
    tell(at("plan-problem"), new Error("No epsilon is left. An admin can raise the budget, on the record, on the dataset's page."));
    at("plan").querySelectorAll("input, select").forEach((input) => { input.disabled = true; });
    return;
  }
  const first = Math.min(0.5, most);
  at("epsilon").value = first === most ? about.remaining : String(first);
  at("epsilon-slider").value = toSlider(first);
  at("clusters").value = at("clusters-slider").value = 5;
  at("epsilon-slider").addEventListener("input", () => { at("epsilon").value = fromSlider(Number(at("epsilon-slider").value)); planSoon(); });
  at("epsilon").addEventListener("input", () => { at("epsilon-slider").value = toSlider(Number(at("epsilon").value)); });
  at("clusters-slider").addEventListener("input", () => { at("clusters").value = at("clusters-slider").value; });
  at("clusters").addEventListener("input", () => { at("clusters-slider").value = at("clusters").value; });
  at("plan").addEventListener("input", planSoon);
  at("plan").addEventListener("submit", (event) => event.preventDefault());
  at("plan").addEventListener("change", (event) => {
    if (event.target.name !== "size") return;
    const declared = event.target.value === "declared";
    at("size-label").textContent = declared ? "The public number of rows" : "A rough guess, for the prediction only";
    at("size-help").textContent = declared
      ? "It shapes the grid and is written into the ledger. Do not count the file to find it."
      : "It does not shape the grid. Any public guess will do.";
  });
  prepareFile("plan-file", () => ({ attributes: chosen(terms().attributes), person, outOfRange: at("out-of-range").value }), refresh);
  plan();
}

at("order").addEventListener("click", async () => {
  const label = at("label").value.trim();
  const wanted = { ...terms(), ...(label ? { label } : {}) };
  const text = JSON.stringify(wanted);
  if (orderKey.terms !== text) {
    const random = crypto.getRandomValues(new Uint8Array(16));
    orderKey = { terms: text, key: [...random].map((byte) => byte.toString(16).padStart(2, "0")).join("") };
  }
  at("order").disabled = true;
  try {
    const reply = await change("POST", `${base}/releases`, wanted, { "Idempotency-Key": orderKey.key });
    const ordered = await reply.json();
    if (reply.status === 202) {
      throw new Error(`Nothing is spent yet: ${ordered.id} waits until another key approves it on the dataset's page. `
        + `Then order ${ordered.release} takes its rows there.`);
    }
    release = { id: ordered.id, attributes: wanted.attributes, out_of_range: wanted.out_of_range };
    history.replaceState(null, "", `?order=${ordered.id}`);
    showUpload();
    at("upload-title").focus();
  } catch (error) {
    tell(at("plan-problem"), error);
    refresh();
  }
});

// --- Upload

function step(name) {
  for (const line of at("step-list").children) {
    if (line.dataset.step === name) line.setAttribute("aria-current", "step");
    else line.removeAttribute("aria-current");
  }
  for (const part of ["plan", "upload", "done"]) at(`${part}-step`).hidden = part !== name;
}

function showUpload() {
  step("upload");
  at("release-id").textContent = release.id;
  at("release-columns").textContent = release.attributes.join(", ");
  prepareFile("upload-file", () => ({ attributes: chosen(release.attributes), person, outOfRange: release.out_of_range, charged: true }), () => {
    tell(at("upload-problem"), null);
    refresh();
  });
  refresh();
}

function progress(loaded, total) {
  at("upload-bar").max = total || 1;
  at("upload-bar").value = loaded;
  at("upload-words").textContent = loaded < total
    ? `${weight(loaded)} of ${weight(total)} sent`
    : "Sent. Counting, then noise.";
}

at("upload").addEventListener("click", async () => {
  tell(at("upload-problem"), null);
  stopping = new AbortController();
  refresh();
  at("upload-progress").hidden = false;
  at("cancel-upload").hidden = false;
  try {
    showDone(await upload(`/v1/releases/${release.id}/records`, chosenFile(), headers(), progress, stopping.signal));
  } catch (error) {
    await failed(error);
  } finally {
    stopping = null;
    refresh();
    at("upload-progress").hidden = true;
    at("cancel-upload").hidden = true;
  }
});
at("cancel-upload").addEventListener("click", () => stopping?.abort());

// A reply can be lost although the upload succeeded, so ask for the state of the release. Between draw and publish the
// state is "burnt" for a moment.
async function failed(error) {
  try {
    let now = await ask(`/v1/releases/${release.id}`, { cache: "no-store" });
    for (let tries = 0; now.state === "burnt" && tries < 30; tries += 1) {
      at("upload-words").textContent = "The noise is drawn. Waiting for the synopsis to be stored.";
      await new Promise((resolve) => setTimeout(resolve, 1000));
      now = await ask(`/v1/releases/${release.id}`, { cache: "no-store" });
    }
    if (now.state === "published") {
      showDone(now);
      return;
    }
    if (now.state === "burnt") {
      location.assign(`/releases/${release.id}`); // that page explains the state and what to do
      return;
    }
  } catch {
    // Show the first error, not this one.
  }
  tell(at("upload-problem"), error);
}

at("void-order").addEventListener("click", async () => {
  try {
    await change("DELETE", `/v1/releases/${release.id}`); // it may wait for a second person: the dataset's page says so
    location.assign(`/datasets/${encodeURIComponent(about.dataset)}`);
  } catch (error) {
    tell(at("upload-problem"), error);
  }
});

// --- Published

function showDone(published) {
  step("done");
  const rows = [["Synopsis", published.synopsis.digest], ["Cells", number(published.plan.grid.leaves ?? published.plan.grid.cells, 7)]];
  if (published.plan.note) rows.push(["Rule adaptive", published.plan.note]);
  if (published.ingest) {
    rows.push(["Rows read", number(published.ingest.rows_read, 12)], ["Rows dropped", number(published.ingest.rows_dropped, 12)],
      ["Values clipped in rows", number(published.ingest.rows_clipped, 12)]);
    if (published.ingest.rows_over_limit) rows.push(["Rows beyond the limit per person", number(published.ingest.rows_over_limit, 12)]);
  }
  at("done-once").hidden = !published.ingest;
  at("done-facts").replaceChildren(...factRows(rows));
  at("explore").href = `/releases/${release.id}`;
  at("done-title").focus();
}

if (release) showUpload();
else if (!at("plan-step").hidden) preparePlan();
