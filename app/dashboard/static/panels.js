// Panels of the explorer: histogram and quantiles of an attribute, the moments, and downloads.
import { ask, tell } from "./api.js";
import { axis, certainty, colours, draw, layout } from "./charts.js";
import { noteLines, number, textTable } from "./format.js";
import { barChart } from "./histogram.js";
import { curl, literal, setLines } from "./lines.js";
import { watchScroll } from "./scroll.js";

const at = (id) => document.getElementById(id);
const QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95];
const FINEST = 512;
let asked = 0;

export async function showAttribute(about, part, name) {
  const mine = ++asked;
  const attribute = about.named(name);
  const coarse = attribute.isOrdered && attribute.cells > FINEST;
  const histogram = part.path("marginal", [`attributes=${encodeURIComponent(name)}`, ...(coarse ? [`cells=${FINEST}`] : [])]);
  const quantiles = part.path("quantiles", [`attribute=${encodeURIComponent(name)}`, ...QUANTILES.map((q) => `q=${q}`)]);
  setLines("marginal", curl(histogram), `histogram = client.marginal(${literal(about.id)}, [${literal(name)}]${coarse ? `, cells=${FINEST}` : ""}${part.python})`);
  setLines("quantiles", curl(quantiles), `quantiles = client.quantiles(${literal(about.id)}, ${literal(name)}, ${literal(QUANTILES)}${part.python})`);
  at("quantile-of").textContent = `of ${name}`;
  at("quantile-card").hidden = !attribute.isOrdered; // categories have no order
  try {
    const [bars, answer] = await Promise.all([ask(histogram), attribute.isOrdered ? ask(quantiles) : null]);
    if (mine !== asked) return;
    await drawHistogram(attribute, bars);
    at("marginal").dataset.ready = name;
    if (!answer) return;
    await drawQuantiles(attribute, answer.quantiles);
    fillQuantiles(attribute, answer);
  } catch (error) {
    if (mine === asked) tell(at("problem"), error);
  }
}

async function drawHistogram(attribute, histogram) {
  const colour = colours();
  const sure = certainty(histogram);
  const { traces, axes } = barChart(colour, attribute, histogram, { whiskers: true });
  await draw(at("marginal"), traces, layout(colour, {
    // Wide enough for any labels: where margins follow from them, labels and margins can go on changing each other.
    margin: { l: 72, r: 28, t: 24, b: 54 }, ...axes, yaxis: axis(colour, "noisy count", { fixedrange: true }),
  }));
  at("marginal-words").textContent = sure.words
    ? `Thin lines are 95 % intervals of each bar: ${sure.words}.` : "Thin lines are what each bar is certain to lie between, at 95 %.";
}

async function drawQuantiles(attribute, quantiles) {
  const colour = colours();
  const values = quantiles.map((quantile) => attribute.at(quantile.value));
  await draw(at("quantiles"), [{
    mode: "markers+lines", x: values, y: quantiles.map((quantile) => 100 * quantile.q),
    line: { color: colour.line, width: 2 }, marker: { color: colour.accent, size: 10 },
    error_x: {
      type: "data", array: quantiles.map(({ interval }, i) => attribute.at(interval.high) - values[i]),
      arrayminus: quantiles.map(({ interval }, i) => values[i] - attribute.at(interval.low)), color: colour.soft, thickness: 1.5, width: 5,
    },
    text: quantiles.map((quantile) => attribute.shown(quantile.value)), hovertemplate: "%{y} % lie below %{text}<extra></extra>",
  }], layout(colour, {
    xaxis: axis(colour, attribute.name, { type: attribute.plotType, range: [attribute.start, attribute.stop], fixedrange: true }),
    yaxis: axis(colour, "% of rows below", { range: [0, 100], fixedrange: true }),
  }));
}

function fillQuantiles(attribute, answer) {
  const body = at("quantile-table").tBodies[0];
  body.replaceChildren();
  at("quantile-notes").replaceChildren(...noteLines(answer));
  const span = ({ low, high }) => `${attribute.shown(low)} to ${attribute.shown(high)}`;
  for (const quantile of answer.quantiles) {
    const row = body.insertRow();
    const texts = [`${number(100 * quantile.q)} %`, attribute.shown(quantile.value), span(quantile.interval), span(quantile.discretisation)];
    texts.forEach((text, place) => {
      const cell = row.insertCell();
      cell.textContent = text;
      if (place) cell.className = "num";
    });
  }
}

let askedMoments = 0;

export async function showMoments(about, part) {
  const mine = ++askedMoments;
  const path = part.path("moments");
  setLines("moments", curl(path), `moments = client.moments(${literal(about.id)}${part.python})`);
  try {
    const moments = await ask(path);
    if (mine !== askedMoments) return;
    part.show(moments);
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
      `rows = client.rows(${literal(about.id)}, count=${at("row-count").value}, seed=${at("row-seed").value}${part.python})\nsynopsis = client.synopsis(${literal(about.id)}${part.python})`);
  };
  update();
  if (ready) return;
  ready = true;
  at("rows").addEventListener("input", update);
  at("rows").addEventListener("submit", (event) => event.preventDefault());
}
