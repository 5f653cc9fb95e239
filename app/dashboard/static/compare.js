// Two releases side by side: counts of the same cells, the difference of each, and which differences are certain.
import { ask, change, facts, tell } from "./api.js";
import { MISSING_LABEL, attributeOf } from "./attribute.js";
import { axis, colours, draw, layout } from "./charts.js";
import { EACH, LEVEL, commonEdges, differences, noticeable } from "./difference.js";
import { number } from "./format.js";
import { barChart, heatChart, heightsOf } from "./histogram.js";
import { curl, literal, setLines } from "./lines.js";
import { watchScroll } from "./scroll.js";

const MOST_BOXES = 4000;
const LISTED = 12;

const about = facts("facts");
const attributes = about.attributes.map(attributeOf).reverse(); // of a map, the first is across: cells of it follow each other
const at = (id) => document.getElementById(id);
const path = (side, question) => `/v1/releases/${about.sides[side].id}/${question}`;
const whole = (value) => number(Math.round(value), 15);
const signed = (value) => (Math.round(value) > 0 ? `+${whole(value)}` : whole(value).replace("-", "−"));

// --- The cells: for each attribute an axis as answers have it, and for each of its cells a part of `where`

async function axisOf(attribute) {
  const query = `marginal?attributes=${encodeURIComponent(attribute.name)}`;
  const axes = await Promise.all([0, 1].map(async (side) => (await ask(path(side, query))).attributes[0]));
  if (!attribute.isOrdered) {
    return { wire: axes[0], parts: attribute.labels.map((label) => `${attribute.name}:${label}`), whole: [true, true] };
  }
  const { side, places, whole: edgesOf } = commonEdges(axes.map(({ edges }) => edges.map((edge) => attribute.at(edge))), about.cells);
  const edges = places.map((place) => axes[side].edges[place]);
  const parts = edges.slice(1).map((edge, j) => `${attribute.name}:${attribute.between(edges[j], edge)}`);
  if (attribute.keepsMissing) parts.push(`${attribute.name}:${MISSING_LABEL}`);
  // Leaves of an adaptive release end elsewhere: it is asked for boxes that may cut them.
  const onGrid = edgesOf.map((is, release) => is && about.sides[release].rule !== "adaptive");
  return { wire: { ...axes[side], edges, missing: attribute.keepsMissing }, parts, whole: onGrid };
}

const namesOf = ({ wire }, attribute) => (wire.labels?.length ? wire.labels
  : [...wire.edges.slice(1).map((edge, j) => attribute.cellName(attribute.at(wire.edges[j]), attribute.at(edge))), ...(wire.missing ? [MISSING_LABEL] : [])]);

// The boxes, the first attribute slowest, and all rows as the last one.
const boxesOf = (axes) => [...axes.reduce((boxes, { parts }) => boxes.flatMap((box) => parts.map((part) => [...box, part])), [[]]), []];

// --- The answers

function asked(boxes, axes, side) {
  const snap = axes.every((axis) => axis.whole[side]); // ends on edges: a half-open range then cuts no cell
  return { boxes, level: EACH, simultaneous: true, ...(snap ? { snap: true } : {}) };
}

async function compare() {
  const axes = await Promise.all(attributes.map(axisOf));
  const boxes = boxesOf(axes);
  if (boxes.length > MOST_BOXES) throw new Error(`These are ${number(boxes.length, 9)} cells, more than the page compares. Choose one attribute.`);
  const replies = await Promise.all([0, 1].map(async (side) => (await change("POST", path(side, "counts"), asked(boxes, axes, side))).json()));
  const cells = differences(...replies);
  const questions = [0, 1].map((side) => curl(path(side, "counts"), { json: asked(boxes, axes, side) }));
  setLines("compare", questions.join("\n\n"), pythonLines(axes));
  return { axes, total: cells.pop(), cells };
}

// The boxes as the product of the parts of each axis, and both questions; the same numbers as in the table of all cells.
function pythonLines(axes) {
  const parts = axes.map(({ parts: own }) => `    [${own.map(literal).join(", ")}],`);
  const counts = ["left", "right"].map((name, side) => {
    const snap = asked([], axes, side).snap ? ", snap=True" : "";
    return `${name} = client.counts(${literal(about.sides[side].id)}, boxes, level=${EACH}, simultaneous=True${snap})`;
  });
  return ["from itertools import product", "", "parts = [", ...parts, "]", "boxes = [list(box) for box in product(*parts)] + [[]]  # the last one: all rows",
    ...counts, "difference = [b - a for a, b in zip(left.counts, right.counts)]",
    "low = [b - a for a, b in zip(left.high, right.low)]", "high = [b - a for a, b in zip(left.low, right.high)]"].join("\n");
}

// --- Charts

// Cells as an answer has a histogram, so that the charts of other pages draw them.
function histogram(axes, cells, read, isDifference) {
  const rows = axes.at(-1).parts.length;
  const nested = (values) => (axes.length === 1 ? values : axes[0].parts.map((_, i) => values.slice(i * rows, (i + 1) * rows)));
  const [counts, low, high] = ["value", "low", "high"].map((name) => nested(cells.map((cell) => read(cell)[name])));
  return { attributes: axes.map(({ wire }) => wire), counts, bounds: { level: isDifference ? LEVEL : EACH, each: { low, high } }, signed: isDifference };
}

const middles = (edges) => edges.slice(1).map((edge, i) => (edges[i] + edge) / 2);

// A mark in each cell of a map whose difference is certain.
function marks(colour, traces, axes, cells) {
  const up = { symbol: "triangle-up", words: "rose" };
  const down = { symbol: "triangle-down", words: "fell" };
  const columns = axes[1].parts.length;
  return traces.flatMap((trace) => [[1, up], [-1, down]].map(([sign, { symbol }]) => {
    const [x, y] = [trace.x, trace.y].map(middles);
    const [right, top] = [trace.xaxis !== "x", trace.yaxis !== "y"];
    const places = cells.flatMap((cell, i) => {
      const [row, column] = [Math.floor(i / columns), i % columns];
      const inside = (place, length, apart) => (apart ? place >= length : place < length);
      const values = axes.map(({ parts, wire }) => parts.length - (wire.missing ? 1 : 0));
      return cell.sign === sign && inside(column, values[1], right) && inside(row, values[0], top)
        ? [[x[right ? 0 : column], y[top ? 0 : row]]] : [];
    });
    return {
      type: "scatter", mode: "markers", hoverinfo: "skip", x: places.map(([place]) => place), y: places.map(([, place]) => place),
      xaxis: trace.xaxis, yaxis: trace.yaxis,
      marker: { symbol, size: 9, color: colour.surface, line: { color: colour.ink, width: 1.2 } },
    };
  }));
}

const CHARTS = [
  ["left-chart", (cell) => ({ value: cell.left.count, low: cell.left.low, high: cell.left.high })],
  ["right-chart", (cell) => ({ value: cell.right.count, low: cell.right.low, high: cell.right.high })],
  ["difference-chart", (cell) => ({ value: cell.difference, low: cell.low, high: cell.high })],
];
const diverging = (colour) => [[0, colour.fall], [0.5, colour.surface], [1, colour.accent]];
const tint = (colour, { sign }) => (sign > 0 ? colour.accent : sign < 0 ? colour.fall : colour.track);

const tooltip = (trace, isDifference) => (isDifference ? trace.hovertemplate.replace("noisy count", "difference") : trace.hovertemplate);
const isDifference = (place) => place === "difference-chart";
const margin = { l: 48, r: 8, t: 8, b: 44 };

// One scale for both sides. Colours are densities where cells differ in size, and the scales are those of what is drawn.
async function drawMaps(colour, { axes, cells }) {
  const charts = CHARTS.map(([place, read]) => ({
    place, ...heatChart(colour, [attributes[1], attributes[0]], histogram(axes, cells, read, isDifference(place)), { showscale: true }),
  }));
  const drawn = (wanted) => charts.filter(({ place }) => isDifference(place) === wanted).flatMap(({ traces }) => traces.flatMap(({ z }) => z.flat()));
  const most = Math.max(1, ...drawn(false));
  const farthest = Math.max(1, ...drawn(true).map(Math.abs));
  for (const { place, traces, axes: sides } of charts) {
    for (const trace of traces) {
      Object.assign(trace, isDifference(place) ? { zmin: -farthest, zmax: farthest, colorscale: diverging(colour) } : { zmin: 0, zmax: most });
      trace.hovertemplate = tooltip(trace, isDifference(place));
    }
    await draw(at(place), [...traces, ...(isDifference(place) ? marks(colour, traces, axes, cells) : [])], layout(colour, { ...sides, margin }));
  }
  return charts[0].words;
}

async function drawBars(colour, { axes, cells }) {
  const charts = CHARTS.map(([place, read]) => ({ place, ...barChart(colour, attributes[0], histogram(axes, cells, read, isDifference(place)), { whiskers: true }) }));
  const { range } = heightsOf(charts.filter(({ place }) => !isDifference(place)).flatMap(({ traces }) => traces));
  let cut = false;
  for (const { place, traces, axes: sides, title } of charts) {
    let from = 0;
    for (const trace of traces) {
      const own = cells.slice(from, from += trace.y.length);
      if (isDifference(place)) Object.assign(trace, { marker: { color: own.map((cell) => tint(colour, cell)), line: { width: 1, color: colour.soft } } });
      trace.hovertemplate = tooltip(trace, isDifference(place));
    }
    const own = heightsOf(traces);
    cut ||= own.cut;
    const up = isDifference(place) ? { zeroline: true, zerolinecolor: colour.soft, range: own.range } : { range };
    const words = title === "noisy count" ? "" : title;
    await draw(at(place), traces, layout(colour, { ...sides, margin, yaxis: axis(colour, words, { fixedrange: true, ...up }) }));
  }
  return [charts[0].words, cut ? "Intervals that end at the frame go on beyond it: point at a bar for its own." : ""].filter(Boolean).join(" ");
}

async function drawCharts(compared) {
  const colour = { ...colours(), fall: getComputedStyle(document.documentElement).getPropertyValue("--ordered").trim() };
  const words = await (attributes.length > 1 ? drawMaps : drawBars)(colour, compared);
  at("chart-words").hidden = !words;
  at("chart-words").textContent = words;
  at("compare").dataset.ready = String(compared.cells.length);
}

// --- Words and tables

function verdict({ axes, cells, total }) {
  const certain = cells.filter(({ sign }) => sign);
  const rose = certain.filter(({ sign }) => sign > 0).length;
  const parts = [certain.length === 0
    ? `In none of ${number(cells.length, 6)} cells is a difference certain.`
    : `In ${number(certain.length, 6)} of ${number(cells.length, 6)} cells the difference is certain: ${rose} rose, ${certain.length - rose} fell.`];
  parts.push(`In a typical cell, a change of more than about ${whole(noticeable(cells))} rows would be certain.`);
  parts.push(`All rows together: ${signed(total.difference)} (${signed(total.low)} to ${signed(total.high)})${total.sign ? "" : ", which may be noise"}.`);
  const cut = axes.some((axis) => axis.whole.includes(false));
  if (cut) parts.push("The two grids share too few edges, so the intervals include the rows of cells that are cut. With fewer cells on an axis, fewer are cut.");
  return parts;
}

function cellNames(axes) {
  const names = axes.map((axis, x) => namesOf(axis, attributes[x]));
  return names.reduce((rows, own, x) => rows.flatMap((row) => own.map((name) => [...row, `${attributes[x].name} ${name}`])), [[]])
    .map((parts) => parts.reverse().join(", "));
}

function tableOf(rows) {
  const titles = ["Cell", "Left", "Right", "Difference", "From", "To", "Certain"];
  const table = Object.assign(document.createElement("table"), { className: "entries stacked" });
  const head = table.createTHead().insertRow();
  titles.forEach((text, x) => head.append(Object.assign(document.createElement("th"), { textContent: text, scope: "col", className: x > 0 && x < 6 ? "num" : "" })));
  const body = table.createTBody();
  for (const { name, cell } of rows) {
    const row = body.insertRow();
    const texts = [name, whole(cell.left.count), whole(cell.right.count), signed(cell.difference), signed(cell.low), signed(cell.high),
      cell.sign > 0 ? "rose" : cell.sign < 0 ? "fell" : "no"];
    texts.forEach((text, x) => {
      const place = row.insertCell();
      place.textContent = text;
      place.dataset.label = titles[x];
      if (x > 0 && x < 6) place.className = "num";
    });
  }
  return table;
}

function showTables({ axes, cells }) {
  const named = cellNames(axes).map((name, i) => ({ name, cell: cells[i] }));
  const size = ({ cell }) => -Math.abs(cell.difference);
  const certain = named.filter(({ cell }) => cell.sign).sort((a, b) => size(a) - size(b));
  at("certain-part").hidden = certain.length === 0;
  at("certain").replaceChildren(tableOf(certain.slice(0, LISTED)));
  at("certain-more").textContent = certain.length > LISTED ? `The largest ${LISTED} of ${certain.length} are shown; all cells are listed below.` : "";
  at("all-cells").replaceChildren(tableOf(named));
  [at("certain"), at("all-cells")].forEach(watchScroll);
}

async function main() {
  at("verdict").textContent = "Asking both releases…";
  const compared = await compare();
  at("verdict").replaceChildren(...verdict(compared).map((text, i) => Object.assign(document.createElement("p"), { textContent: text, className: i ? "" : "verdict" })));
  showTables(compared);
  await drawCharts(compared);
  document.addEventListener("themechange", () => drawCharts(compared));
}

if (at("compare")) main().catch((error) => tell(at("verdict"), error));
