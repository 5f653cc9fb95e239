// Shows a plan: a drawing of its grid, its numbers in words, and the budget that would be left.
import { number } from "./format.js";

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
  const lines = Math.min(grid.cells_per_axis, FINEST);
  const step = SIDE / lines;
  let path = "";
  for (let at = 1; at < lines; at += 1) {
    path += `M${at * step} 0V${SIDE}`;
    if (grid.dimensions > 1) path += `M0 ${at * step}H${SIDE}`;
  }
  svg.append(shape("path", { d: path || "M0 0", class: "grid-lines" }));
  const words = `${grid.cells_per_axis} cells on each of ${grid.dimensions} axes`;
  svg.setAttribute("aria-label", lines < grid.cells_per_axis ? `${words}; drawn coarser than it is` : words);
}

export function planFacts(list, plan, remaining) {
  const rows = [];
  if (plan.grid) {
    const coarse = plan.grid.cells_per_axis > FINEST ? " (drawn coarser)" : "";
    rows.push(["Grid", `${number(plan.grid.cells_per_axis, 6)} cells on each of ${plan.grid.dimensions} axes, ${number(plan.grid.cells, 6)} in all${coarse}`]);
  }
  if (plan.threshold) rows.push(["Threshold", `only cells with a noisy count of at least ${number(plan.threshold)} are released`]);
  rows.push(["Noise per cell", `standard deviation ${number(plan.noise.cell_sd)}`]);
  if (plan.noise.size_sd) rows.push(["Noise of the size", `standard deviation ${number(plan.noise.size_sd)}`]);
  if (plan.predicted) {
    rows.push(["A cell is off by", `at most ${number(plan.predicted.cell_error)}, for 95 % of cells`]);
    if (plan.predicted.count_error !== null) rows.push(["A count is off by", `at most ${number(plan.predicted.count_error)}, for 95 % of counts over ${number(100 * plan.predicted.typical_range)} % of the cells`]);
  }
  rows.push(["Budget left after", `${remaining}`]);
  list.replaceChildren(...rows.map(([term, words]) => {
    const row = document.createElement("div");
    const name = document.createElement("dt");
    const value = document.createElement("dd");
    name.textContent = term;
    value.textContent = words;
    row.append(name, value);
    return row;
  }));
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
