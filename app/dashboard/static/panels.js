// Panels of the explorer: histogram and quantiles of an attribute, the moments, and downloads.
import { ask, tell } from "./api.js";
import { axis, certainty, colours, draw, layout, plain } from "./charts.js";
import { number, shown } from "./format.js";
import { curl, literal, setLines } from "./lines.js";

const at = (id) => document.getElementById(id);
const QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95];
const FINEST = 512;

export async function showAttribute(about, name) {
  const attribute = about.attributes.find((candidate) => candidate.name === name);
  const coarse = about.plan.grid.cells_per_axis > FINEST;
  const base = `/v1/releases/${about.id}`;
  const histogram = `${base}/marginal?attributes=${encodeURIComponent(name)}${coarse ? `&cells=${FINEST}` : ""}`;
  const quantiles = `${base}/quantiles?attribute=${encodeURIComponent(name)}${QUANTILES.map((q) => `&q=${q}`).join("")}`;
  setLines("marginal", curl(histogram), `histogram = client.marginal(${literal(about.id)}, [${literal(name)}]${coarse ? `, cells=${FINEST}` : ""})`);
  setLines("quantiles", curl(quantiles), `quantiles = client.quantiles(${literal(about.id)}, ${literal(name)}, ${literal(QUANTILES)})`);
  at("quantile-of").textContent = `of ${name}`;
  try {
    const [bars, answer] = await Promise.all([ask(histogram), ask(quantiles)]);
    await Promise.all([drawHistogram(attribute, bars), drawQuantiles(attribute, answer.quantiles)]);
    fillQuantiles(attribute, answer.quantiles);
  } catch (error) {
    tell(at("problem"), error);
  }
}

async function drawHistogram(attribute, histogram) {
  const colour = colours();
  const [{ edges }] = histogram.attributes;
  const widths = edges.slice(1).map((edge, i) => edge - edges[i]);
  const sure = certainty(histogram);
  const bars = sure.reach !== null ? { type: "constant", value: sure.reach } : {
    type: "data", symmetric: false, array: histogram.counts.map((count, i) => sure.customdata[i][1] - count),
    arrayminus: histogram.counts.map((count, i) => count - sure.customdata[i][0]),
  };
  await draw(at("marginal"), [{
    type: "bar", x: widths.map((width, i) => edges[i] + width / 2), y: histogram.counts, width: widths, marker: { color: colour.accent, line: { width: 0 } },
    error_y: { ...bars, color: colour.soft, thickness: 1, width: 0, visible: edges.length < 150 },
    hovertemplate: `${plain(attribute.name)} about %{x}<br>noisy count %{y} ${sure.hover}<extra></extra>`, customdata: sure.customdata,
  }], layout(colour, {
    xaxis: axis(colour, attribute.name, { range: [attribute.lower, attribute.upper], fixedrange: true }),
    yaxis: axis(colour, "noisy count", { fixedrange: true }), bargap: 0,
  }));
  at("marginal-words").textContent = sure.words
    ? `Thin lines are 95 % intervals of each bar: ${sure.words}.` : "Thin lines are what each bar is certain to lie between, at 95 %.";
}

async function drawQuantiles(attribute, quantiles) {
  const colour = colours();
  const high = quantiles.map((quantile) => quantile.interval.high - quantile.value);
  const low = quantiles.map((quantile) => quantile.value - quantile.interval.low);
  await draw(at("quantiles"), [{
    mode: "markers+lines", x: quantiles.map((quantile) => quantile.value), y: quantiles.map((quantile) => 100 * quantile.q),
    line: { color: colour.line, width: 2 }, marker: { color: colour.accent, size: 10 },
    error_x: { type: "data", array: high, arrayminus: low, color: colour.soft, thickness: 1.5, width: 5 },
    hovertemplate: `%{y} % lie below %{x}<extra></extra>`,
  }], layout(colour, {
    xaxis: axis(colour, attribute.name, { range: [attribute.lower, attribute.upper], fixedrange: true }),
    yaxis: axis(colour, "% of rows below", { range: [0, 100], fixedrange: true }),
  }));
}

function fillQuantiles(attribute, quantiles) {
  const body = at("quantile-table").tBodies[0];
  body.replaceChildren();
  for (const quantile of quantiles) {
    const row = body.insertRow();
    const texts = [`${number(100 * quantile.q)} %`, shown(quantile.value, attribute), `${shown(quantile.interval.low, attribute)} to ${shown(quantile.interval.high, attribute)}`];
    texts.forEach((text, place) => {
      const cell = row.insertCell();
      cell.textContent = text;
      if (place) cell.className = "num";
    });
  }
}

export async function showMoments(about) {
  const path = `/v1/releases/${about.id}/moments`;
  setLines("moments", curl(path), `moments = client.moments(${literal(about.id)})`);
  try {
    fillMoments(about, await ask(path));
  } catch (error) {
    tell(at("moments"), error);
  }
}

function fillMoments(about, moments) {
  const words = (estimate, digits = 4) => [number(estimate.value, digits), `${number(estimate.interval.low, digits)} to ${number(estimate.interval.high, digits)}`];
  const root = (estimate) => ({
    value: estimate.value === null ? null : Math.sqrt(Math.max(0, estimate.value)),
    interval: { low: Math.sqrt(Math.max(0, estimate.interval.low)), high: Math.sqrt(Math.max(0, estimate.interval.high)) },
  });
  const { low, high } = moments.size.interval;
  const size = moments.size.value === null ? null : Math.round(moments.size.value);
  const rows = [["Rows", number(size, 12), `${number(Math.floor(low), 12)} to ${number(Math.ceil(high), 12)}`]];
  for (const attribute of moments.attributes) {
    rows.push([`Mean of ${attribute.name}`, ...words(attribute.mean)], [`Standard deviation of ${attribute.name}`, ...words(root(attribute.variance))]);
  }
  for (const pair of moments.pairs) rows.push([`Correlation of ${pair.attributes.join(" and ")}`, ...words(pair.correlation, 2)]);
  const table = document.createElement("table");
  table.className = "compact";
  const head = table.createTHead().insertRow();
  ["What", "Estimate", "Interval (95 %)"].forEach((text, place) => {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = text;
    if (place) cell.className = "num";
    head.append(cell);
  });
  const body = table.createTBody();
  for (const texts of rows) {
    const row = body.insertRow();
    texts.forEach((text, place) => {
      const cell = row.insertCell();
      cell.textContent = text;
      if (place) cell.className = "num";
    });
  }
  at("moments").replaceChildren(table);
}

export function showRows(about) {
  const path = (format) => `/v1/releases/${about.id}/rows?count=${at("row-count").value}&seed=${at("row-seed").value}&format=${format}`;
  const update = () => {
    for (const format of ["csv", "parquet"]) at(`rows-${format}`).href = path(format);
    setLines("rows", curl(path("csv"), { file: "rows.csv" }),
      `rows = client.rows(${literal(about.id)}, count=${at("row-count").value}, seed=${at("row-seed").value})\nsynopsis = client.synopsis(${literal(about.id)})`);
  };
  at("rows").addEventListener("input", update);
  at("rows").addEventListener("submit", (event) => event.preventDefault());
  update();
}
