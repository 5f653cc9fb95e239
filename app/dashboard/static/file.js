// The file of an upload: chosen or dropped, and checked before epsilon is spent on it. If many rows would be lost, a
// person must accept that. The service itself never decides by rows, so the question is asked here.
import { lookAtBytes } from "./bytes.js";
import { checkText } from "./check.js";
import { number } from "./format.js";
import { previewOf, share } from "./preview.js";

const TEXTS = { "text/csv": true, "application/x-ndjson": true }; // formats that checkText can read in the browser
const ASKED_SHARE = 0.05; // of the rows; the same as in app/cli/checking.py
const UNSEEN = "This browser cannot look inside Parquet or Arrow files. Where rugnik is installed, “rugnik check” can, before epsilon is spent.";

const at = (id) => document.getElementById(id);
let chosen = null;
let looked = ""; // the terms of the last check, as JSON
let stopping = new AbortController();
let reading = {};
let verdict = { words: "", good: true };
let termsNow = () => null;
let tellChange = () => {};

export function weight(bytes) {
  if (bytes < 1000) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  return bytes < 1e6 ? `${number(bytes / 1e3)} kB` : `${number(bytes / 1e6)} MB`;
}

export const chosenFile = () => chosen;
export const headers = () => ({ "Content-Type": at("media").value, ...(at("gzip").checked ? { "Content-Encoding": "gzip" } : {}) });

// Whether ordering and uploading are allowed: no file yet, or a file that is good or accepted by a person.
export const accepted = () => verdict.good || at("file-accept").checked;

function paragraph(text, className) {
  return Object.assign(document.createElement("p"), { textContent: text, className });
}

function offerConsent() {
  at("file-accept-row").hidden = verdict.good || verdict.waiting === true || (verdict.unfit === true && !termsNow().charged);
}

// Show a verdict. One that is not good takes a person's consent, which begins unticked; `lost` is what they consent to. A
// file that the service refuses as well (`unfit`) is no reason to order: it can be sent to an open order only.
function show(newVerdict) {
  verdict = newVerdict;
  const tone = verdict.good ? (verdict.sure ? "good-notice" : "warn-notice") : verdict.waiting ? "quiet-text" : "bad-notice";
  const doubts = (verdict.doubts ?? []).map((text) => paragraph(text, "notice warn-notice"));
  at("file-verdict").replaceChildren(...(verdict.words ? [paragraph(verdict.words, verdict.waiting ? tone : `notice ${tone}`)] : []),
    ...doubts, ...(verdict.preview ? [verdict.preview] : []));
  at("file-progress").hidden = !verdict.waiting;
  offerConsent();
  at("file-accept-words").textContent = verdict.lost ? `${verdict.lost} would be lost or changed. I have looked at why.` : "";
  at("file-accept").checked = false;
  tellChange();
}

function judged(checked, terms, doubt) {
  const { read, dropped, clipped, overLimit, whole, hints } = checked;
  const part = whole ? "" : " that were read";
  const here = "Looked at in this browser; nothing was sent.";
  const rest = { doubts: [...(doubt ? [doubt] : []), ...hints], preview: previewOf(checked, terms) };
  if (read === dropped) return { ...rest, good: false, words: `No row${part} would be kept, so only noise would be published. ${here}` };
  const good = dropped + clipped <= ASKED_SHARE * read;
  const many = overLimit > ASKED_SHARE * read; // as the unit of the dataset says, so nobody is asked
  const beyond = overLimit ? `, ${number(overLimit, 12)} (${share(overLimit, read)}) left out beyond the limit of rows per person` : "";
  const words = `${number(read, 12)} ${read === 1 ? "row" : "rows"}${part}: ${number(dropped, 12)} would be dropped, ${number(clipped, 12)} clipped${beyond}. ${here}`;
  return { ...rest, good, sure: !many, words, lost: good ? null : share(dropped + clipped, read) };
}

function progress(bytes, all) {
  at("file-bar").value = all ? bytes / all : 1;
  at("file-progress-words").textContent = `${weight(bytes)} of ${weight(all)} read`;
}

async function verdictOf(file, terms, isText, signal) {
  const { fault, doubt } = await lookAtBytes(file, isText && !terms.gzip);
  if (fault) return { good: false, unfit: true, words: fault };
  if (!isText) return { good: true, words: UNSEEN };
  reading = { progress };
  return judged(await checkText(file, terms, signal, reading), terms, doubt);
}

// Check the file, again if the terms or the format have changed since the last check.
export async function look() {
  const terms = termsNow();
  if (!chosen || !terms?.attributes.length) return;
  const asked = { ...terms, csv: at("media").value === "text/csv", gzip: at("gzip").checked };
  const judgedBy = { ...asked, attributes: asked.attributes.map(({ name }) => name), charged: undefined };
  const text = JSON.stringify([judgedBy, at("media").value]);
  if (text === looked) return;
  looked = text;
  stopping.abort();
  stopping = new AbortController();
  const { signal } = stopping;
  show({ good: false, waiting: true, words: "Looking at the file…" });
  try {
    const result = await verdictOf(chosen, asked, TEXTS[at("media").value] === true, signal);
    if (!signal.aborted) show(result);
  } catch (error) {
    if (signal.aborted) return;
    if (error.constructor === Error) show({ good: false, unfit: true, words: error.message });
    else show({ good: true, words: "This browser could not look inside the file." }); // damaged gzip, or a file that is gone
  }
}

function choose(file) {
  if (!file) return;
  chosen = file;
  looked = "";
  const parts = file.name.toLowerCase().split(".");
  at("gzip").checked = parts.at(-1) === "gz";
  if (at("gzip").checked) parts.pop();
  // The options are the service's table of formats (app/ingest/formats.py), with the suffixes of each.
  const options = [...at("media").options];
  const format = options.find((option) => option.dataset.suffixes.split(" ").includes(`.${parts.at(-1)}`));
  at("media").value = (format ?? options[0]).value;
  at("file-name").textContent = `${file.name}, ${weight(file.size)}`;
  at("kind-row").hidden = false;
  show({ good: true, words: "" });
  look();
}

// Move the chooser into a step. `terms` returns the attributes, the rule for values out of range and the unit; `changed`
// is called when the file or its verdict changes. Under the same terms the verdict stays, and a person's consent with it.
export function prepareFile(place, terms, changed) {
  at(place).append(at("file-part"));
  at("file-part").hidden = false;
  termsNow = terms;
  tellChange = changed;
  offerConsent();
  look();
}

at("file").addEventListener("change", () => choose(at("file").files[0]));
for (const id of ["media", "gzip"]) at(id).addEventListener("change", look);
at("file-enough").addEventListener("click", () => { reading.enough = true; });
at("file-accept").addEventListener("change", () => tellChange());
for (const name of ["dragenter", "dragover"]) {
  at("drop").addEventListener(name, (event) => { event.preventDefault(); at("drop").classList.add("over"); });
}
for (const name of ["dragleave", "drop"]) at("drop").addEventListener(name, () => at("drop").classList.remove("over"));
at("drop").addEventListener("drop", (event) => { event.preventDefault(); choose(event.dataTransfer.files[0]); });
// A file that is dropped outside of the box must not be opened: the browser would show its rows.
for (const name of ["dragover", "drop"]) addEventListener(name, (event) => event.preventDefault());
