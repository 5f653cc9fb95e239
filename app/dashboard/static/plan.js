// Shows a plan: a drawing of its grid, its numbers in words, and the budget that would be left.
import { factRows, gridWords, number, textTable } from "./format.js";
import { watchScroll } from "./scroll.js";

const SVG = "http://www.w3.org/2000/svg";
const SIDE = 240;
const FINEST = 60; // lines; beyond this they would only be grey

function shape(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

export function drawGrid(svg, grid) {
  svg.replaceChildren(shape("rect", { width: SIDE, height: SIDE, class: "grid-back" }));
  if (!grid) {
    const words = shape("text", { x: SIDE / 2, y: SIDE / 2, class: "grid-words", "text-anchor": "middle" });
    words.textContent = "known after the upload";
    svg.append(words);
    svg.setAttribute("aria-label", "The grid is known after the upload");
    return;
  }
  const [across, up = 1] = grid.shape.map((cells) => Math.min(cells, FINEST));
  let path = "";
  for (let at = 1; at < across; at += 1) path += `M${(at * SIDE) / across} 0V${SIDE}`;
  for (let at = 1; at < up; at += 1) path += `M0 ${(at * SIDE) / up}H${SIDE}`;
  svg.append(shape("path", { d: path || "M0 0", class: "grid-lines" }));
  svg.setAttribute("aria-label", isCoarse(grid) ? `${gridWords(grid)}; drawn coarser than it is` : gridWords(grid));
}

// Only the first two axes are drawn.
const isCoarse = (grid) => Math.max(...grid.shape.slice(0, 2)) > FINEST;

export function planFacts(list, plan, remaining) {
  const rows = [];
  if (plan.grid) {
    const drawn = [...(isCoarse(plan.grid) ? ["drawn coarser"] : []), ...(plan.grid.cells_per_axis === null && plan.grid.dimensions > 2 ? ["two axes drawn"] : [])];
    rows.push(["Grid", `${gridWords(plan.grid)}${plan.grid.layered ? "" : `, ${number(plan.grid.cells, 6)} in all`}${drawn.length ? ` (${drawn.join(", ")})` : ""}`]);
  }
  if (plan.threshold) rows.push(["Threshold", `only cells with a noisy count of at least ${number(plan.threshold)} are released`]);
  rows.push(["Noise per cell", `standard deviation ${number(plan.noise.cell_sd)}`]);
  if (plan.noise.epsilon_offsets) {
    rows.push(["Offsets", `the mean place of the rows of each listed cell, bought with epsilon ${plan.noise.epsilon_offsets}`]);
  }
  if (plan.noise.size_sd) rows.push(["Noise of the size", `standard deviation ${number(plan.noise.size_sd)}`]);
  if (plan.predicted) {
    rows.push(["A cell is off by", `at most ${number(plan.predicted.cell_error)}, for 95 % of cells`]);
    if (plan.predicted.count_error !== null) rows.push(["A count is off by", `at most ${number(plan.predicted.count_error)}, for 95 % of counts over ${number(100 * plan.predicted.typical_range)} % of the cells`]);
  }
  rows.push(["Budget left after", `${remaining}`]);
  list.replaceChildren(...factRows(rows));
}

function titled(words, ...parts) {
  const title = document.createElement("h3");
  title.textContent = words;
  return [title, ...parts];
}

// What each attribute does to the grid; nothing where all are numbers.
export function planCosts(place, { attributes = [] }) {
  const list = document.createElement("ul");
  list.append(...attributes.map(({ note }) => Object.assign(document.createElement("li"), { textContent: `${note}.` })));
  place.replaceChildren(...(attributes.length ? titled("What each attribute costs", list) : []));
}

const paragraph = (text, className = "") => Object.assign(document.createElement("p"), { textContent: text, className });

// The error of a count, and in brackets its parts: noise and cut cells.
function countWords(count) {
  return count ? `${number(count.error)} (${number(count.noise)} + ${number(count.discretisation)})` : "–";
}

// A rule, and that it has offsets.
const ruleWords = ({ rule, offsets = false }) => (offsets ? `${rule} with offsets` : rule);

// The rules side by side if the rows fill this share of the space.
function rulesTable(alternatives, occupied) {
  const rows = alternatives.flatMap((each) => each.predictions.filter((picture) => picture.occupied === occupied)
    .map(({ cells, counts, expected_deviation: deviation }) => [ruleWords(each), number(cells, 7), countWords(counts?.[0]), countWords(counts?.[1]), number(deviation)]));
  const table = Object.assign(document.createElement("div"), { className: "scroll" });
  table.append(textTable(["Rule", "Cells", "1 % count off by", "10 % count off by", "k-means"], rows));
  return [paragraph(occupied === 1 ? "If the rows lie everywhere:" : `If the rows lie in 1/${number(1 / occupied)} of the space:`), table];
}

// The rule that is recommended and why, with a button to take it where another one is chosen; nothing where there is no
// prediction.
export function planAdvice(place, { recommendation = null }, chosen, take) {
  place.hidden = recommendation === null;
  place.replaceChildren();
  if (!recommendation) return;
  const [best, present] = [recommendation, chosen].map(ruleWords);
  if (best !== present) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "small", textContent: `Take ${best}` });
    button.addEventListener("click", () => take(recommendation));
    place.append(paragraph(`Recommended: the rule ${best}. Chosen: ${present}.`, "advice-rule"), button);
  }
  place.append(paragraph(recommendation.reason, "help"));
}

// The rules side by side; nothing where there is no prediction.
export function planRules(place, { alternatives = [], recommendation = null }) {
  if (!recommendation) {
    place.replaceChildren();
    return;
  }
  const pictures = [...new Set(alternatives.flatMap(({ predictions }) => predictions.map(({ occupied }) => occupied)))];
  const notes = alternatives.filter(({ note }) => note).map((each) => paragraph(`${ruleWords(each)}: ${each.note}`, "help"));
  const key = pictures.length ? [paragraph("In brackets: noise + cut cells.", "help")] : [];
  place.replaceChildren(...titled("Rules for the grid", ...pictures.flatMap((occupied) => rulesTable(alternatives, occupied)),
    ...key, ...notes, paragraph(recommendation.assumption, "help")));
  place.querySelectorAll(".scroll").forEach(watchScroll);
}

// What other limits of rows per person would cost; nothing for records. The dataset's own limit is marked.
export function planPeople(place, { people = [], noise, predicted }, unit) {
  const own = { max_rows: unit.max_rows, cell_sd: noise.cell_sd, count_error: predicted?.count_error ?? null };
  const compared = [...people.filter(({ max_rows: most }) => most !== unit.max_rows), own].sort((a, b) => a.max_rows - b.max_rows);
  const rows = compared.map(({ max_rows: most, cell_sd: deviation, count_error: error }) => [
    `${most}${most === unit.max_rows ? " (this dataset)" : ""}`, number(deviation), error === null ? "–" : number(error),
  ]);
  const help = Object.assign(document.createElement("p"), {
    className: "help", textContent: `At most ${unit.max_rows} of each person are counted here; a dataset keeps that for life.`,
  });
  const table = Object.assign(document.createElement("div"), { className: "scroll" });
  table.append(textTable(["Rows of a person", "Noise per cell (sd)", "A count is off by"], rows));
  place.replaceChildren(...(people.length ? titled("What the limit on rows costs", table, help) : []));
  if (people.length) watchScroll(table);
}

// Epsilons are decimal strings of at most nine places. They are subtracted as whole billionths (BigInt).
export function nano(text) {
  const match = /^(\d{1,3})(?:\.(\d{1,9}))?$/.exec(text);
  return match ? BigInt(match[1] + (match[2] ?? "").padEnd(9, "0")) : null;
}

export function decimal(billionths) {
  const digits = String(billionths).padStart(10, "0");
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`.replace(/\.?0+$/, "");
}
