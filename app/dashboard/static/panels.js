// Panels of the explorer: histogram and quantiles of an attribute, the moments, and downloads.
import { ask, tell } from "./api.js";
import { MISSING_LABEL } from "./attribute.js";
import { axis, certainty, colours, draw, fit, hush, keyOf, label, layout, outline, outlines } from "./charts.js";
import { noteLines, number, textTable } from "./format.js";
import { barChart, heightsOf } from "./histogram.js";
import { curl, literal, setLines } from "./lines.js";
import { watchScroll } from "./scroll.js";

const at = (id) => document.getElementById(id);
const QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95];
const FINEST = 512;
const WIDE = 32; // bins of an adaptive release of several attributes: narrow ones would cut most leaves, and their intervals be long
const brushed = { asked: 0, outlines: new Set(), of: null }; // the chart of one attribute: its outlines, and what a drag on it does

// The histogram is that of all values of the attribute, so that another range can be dragged: bars outside of the part are
// faint. The quantiles are those of the part.
export async function showAttribute(about, part, name) {
  const mine = ++brushed.asked;
  const attribute = about.named(name);
  const finest = about.plan.grid.layered && about.attributes.length > 1 ? WIDE : FINEST;
  const coarse = attribute.isOrdered && (finest === WIDE || attribute.cells > FINEST);
  const others = part.without(name);
  const histogram = part.path("marginal", [`attributes=${encodeURIComponent(name)}`, ...(coarse ? [`cells=${finest}`] : [])], others);
  const quantiles = part.path("quantiles", [`attribute=${encodeURIComponent(name)}`, ...QUANTILES.map((q) => `q=${q}`)]);
  setLines("marginal", curl(histogram), `histogram = client.marginal(${literal(about.id)}, [${literal(name)}]${coarse ? `, cells=${finest}` : ""}${part.python(others)})`);
  setLines("quantiles", curl(quantiles), `quantiles = client.quantiles(${literal(about.id)}, ${literal(name)}, ${literal(QUANTILES)}${part.python()})`);
  at("quantile-of").textContent = `of ${name}`;
  at("quantile-card").hidden = !attribute.isOrdered; // categories have no order
  try {
    const [bars, answer] = await Promise.all([ask(histogram), attribute.isOrdered ? ask(quantiles) : null]);
    const moments = await part.moments.catch(() => null); // its own panel shows what went wrong
    if (mine !== brushed.asked) return;
    await drawHistogram(attribute, bars, part, moments);
    at("marginal").dataset.ready = name;
    at("marginal").dataset.part = part.where.join(" ");
    if (!answer) return;
    await drawQuantiles(attribute, answer.quantiles);
    fillQuantiles(attribute, answer);
    await fit(at("marginal")); // the table has made its card higher
  } catch (error) {
    if (mine === brushed.asked) tell(at("problem"), error);
  }
}

// Which bars lie in the part that is shown.
function takes(attribute, restriction) {
  const labels = restriction?.split(",") ?? [];
  const span = restriction !== null && attribute.isOrdered ? attribute.spanOf(restriction) : null;
  if (restriction === null) return () => true;
  return (place, label) => (span ? label !== MISSING_LABEL && place > span[0] && place < span[1] : labels.includes(label));
}

async function drawHistogram(attribute, histogram, part, moments) {
  const colour = colours();
  const sure = certainty(histogram);
  const restriction = moments ? part.of(attribute.name) : null;
  const { traces, axes, blocks, title, words } = barChart(colour, attribute, histogram, { whiskers: true, takes: takes(attribute, restriction) });
  const { range, cut } = heightsOf(traces);
  const most = Math.max(...traces.flatMap(({ y }) => y));
  const ends = restriction !== null && attribute.isOrdered ? attribute.spanOf(restriction) : null;
  const box = ends && outline(colour, { x0: ends[0], x1: ends[1], y0: 0, y1: most });
  if (box) brushed.outlines.add(keyOf(box, 1));
  const { low, high } = moments?.size.interval ?? {};
  await draw(at("marginal"), traces, layout(colour, {
    // Wide enough for any labels: where margins follow from them, labels and margins can go on changing each other.
    margin: { l: 72, r: 28, t: 28, b: 54 }, ...axes, yaxis: axis(colour, title, { fixedrange: true, range }), dragmode: "select", selectdirection: "h",
    ...outlines(colour), selections: box ? [box] : [],
    annotations: box ? [label(colour, `${number(Math.floor(low), 12)} to ${number(Math.ceil(high), 12)} rows`, box, [blocks[0].edges[0], blocks[0].edges.at(-1)], Infinity)] : [],
  }));
  brush(attribute, part, blocks[0]);
  const lines = sure.words ? `Thin lines are 95 % intervals of each bar: ${title === "noisy count" ? sure.words : `${sure.words} rows`}.` : "Thin lines are what each bar is certain to lie between, at 95 %.";
  const sentences = [words, lines, cut ? "Some go on beyond the frame: point at a bar for its interval." : "", "Drag a range to show only those rows in every panel.",
    restriction === null ? "" : "Bars outside of the part are faint; it is the part of all that is said about other attributes."];
  at("marginal-words").textContent = sentences.filter(Boolean).join(" ");
}

// A range that is dragged on the chart becomes the part that all panels show.
function brush(attribute, part, block) {
  const first = brushed.of === null;
  brushed.of = { attribute, part, block };
  if (!first) return;
  at("marginal").on("plotly_selected", (event) => {
    if (!event?.range || brushed.outlines.has(keyOf(event.selections?.[0], 1))) return; // as on the map
    brushed.outlines.clear();
    hush(at("marginal"));
    const { attribute: own, part: shown, block: values } = brushed.of;
    shown.set(shown.with([`${own.name}:${draggedPart(own, event.range.x, values)}`]));
  });
}

// The part of an attribute that a drag on its chart means; without a range of values, that of missing ones.
function draggedPart(attribute, range, block) {
  if (!range || (block.ticks && attribute.isOrdered)) return MISSING_LABEL;
  if (attribute.isOrdered) return attribute.range(...attribute.dragged(range));
  return attribute.touched([...range].sort((a, b) => a - b)).join(",");
}

async function drawQuantiles(attribute, quantiles) {
  const colour = colours();
  const values = quantiles.map((quantile) => attribute.at(quantile.value));
  await draw(at("quantiles"), [{ // Plotly has no error bars on an axis of dates, so intervals are lines of their own
    mode: "markers+lines", x: quantiles.flatMap(({ interval }) => [attribute.at(interval.low), attribute.at(interval.high), null]),
    y: quantiles.flatMap(({ q }) => [100 * q, 100 * q, null]), hoverinfo: "skip",
    line: { color: colour.soft, width: 1.5 }, marker: { symbol: "line-ns", size: 9, line: { color: colour.soft, width: 1.5 } },
  }, {
    mode: "markers+lines", x: values, y: quantiles.map((quantile) => 100 * quantile.q),
    line: { color: colour.line, width: 2 }, marker: { color: colour.accent, size: 10 },
    text: quantiles.map(({ value, interval: { low, high } }) => `${attribute.shown(value)}<br>95 % interval: ${attribute.shown(low)} to ${attribute.shown(high)}`), hovertemplate: "%{y} % lie below %{text}<extra></extra>",
  }], layout(colour, {
    xaxis: axis(colour, attribute.name, { type: attribute.plotType, range: [attribute.start, attribute.stop], fixedrange: true }),
    yaxis: axis(colour, "% of rows below", { range: [0, 100], fixedrange: true }),
  }));
}

function fillQuantiles(attribute, answer) {
  const body = at("quantile-table").tBodies[0];
  body.replaceChildren();
  at("quantile-notes").replaceChildren(...noteLines(answer));
  const whole = (text) => Object.assign(document.createElement("span"), { className: "nowrap", textContent: text });
  const span = ({ low, high }) => [whole(attribute.shown(low)), " to ", whole(attribute.shown(high))];
  for (const quantile of answer.quantiles) {
    const row = body.insertRow();
    const words = [[`${number(100 * quantile.q)} %`], [whole(attribute.shown(quantile.value))], span(quantile.interval), span(quantile.discretisation)];
    words.forEach((parts, place) => {
      const cell = row.insertCell();
      cell.append(...parts);
      if (place) cell.className = "num";
    });
  }
}

let askedMoments = 0;

export async function showMoments(about, part, box) {
  const mine = ++askedMoments;
  const path = part.path("moments");
  part.moments = ask(path);
  setLines("moments", curl(path), `moments = client.moments(${literal(about.id)}${part.python()})`);
  try {
    const moments = await part.moments;
    if (mine !== askedMoments) return;
    part.show(moments);
    box.scope(moments.size);
    fillMoments(about, moments);
  } catch (error) {
    if (mine === askedMoments) tell(at("moments"), error);
  }
}

function fillMoments(about, moments) {
  const words = ({ value, interval }, say) => [value === null ? "–" : say(value), `${say(interval.low)} to ${say(interval.high)}`];
  const root = (value) => Math.sqrt(Math.max(0, value));
  const { low, high } = moments.size.interval;
  const size = moments.size.value === null ? null : Math.round(moments.size.value);
  const rows = [["Rows", number(size, 12), `${number(Math.floor(low), 12)} to ${number(Math.ceil(high), 12)}`, "0"]];
  for (const { name, mean, variance, discretisation } of moments.attributes) {
    const attribute = about.named(name);
    rows.push([`Mean of ${name}`, ...words(mean, (value) => attribute.mean(value)), attribute.spread(discretisation.mean)],
      [`Standard deviation of ${name}`, ...words(variance, (value) => attribute.spread(root(value))), attribute.spread(discretisation.sd)]);
  }
  for (const pair of moments.pairs) rows.push([`Correlation of ${pair.attributes.join(" and ")}`, ...words(pair.correlation, (value) => number(value, 2)), "–"]);
  const scroll = Object.assign(document.createElement("div"), { className: "scroll" });
  scroll.append(textTable(["What", "Estimate", "Interval (95 %)", "Grid adds up to"], rows));
  at("moments").replaceChildren(scroll, ...noteLines(moments));
  watchScroll(scroll);
}

let ready = false;

export function showRows(about, part) {
  const path = (format) => part.path("rows", [`count=${at("row-count").value}`, `seed=${at("row-seed").value}`, `format=${format}`]);
  const update = () => {
    for (const format of ["csv", "parquet"]) at(`rows-${format}`).href = path(format);
    for (const link of document.querySelectorAll("[data-synopsis]")) link.href = part.path("synopsis", [`format=${link.dataset.synopsis}`]);
    at("take-part").hidden = part.where.length === 0;
    setLines("rows", curl(path("csv"), { file: "rows.csv" }),
      `rows = client.rows(${literal(about.id)}, count=${at("row-count").value}, seed=${at("row-seed").value}${part.python()})\nsynopsis = client.synopsis(${literal(about.id)}${part.python()})`);
  };
  update();
  if (ready) return;
  ready = true;
  at("rows").addEventListener("input", update);
  at("rows").addEventListener("submit", (event) => event.preventDefault());
}
