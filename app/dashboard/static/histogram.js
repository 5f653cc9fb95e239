// Histograms as charts: bars of one attribute, a heat map of two. Rows without a value have a cell of their own, drawn
// apart from the others: on a second axis beside the first.
import { MISSING_LABEL, cellsOf } from "./attribute.js";
import { axis, certainty, plain } from "./charts.js";

export const APART = { values: [0, 0.89], missing: [0.92, 1] }; // shares of the chart
const MOST_TICKS = 30;
const LONGEST_TICK = 18;

// The cells of an attribute in blocks, each with its own axis: those of values first, then that of missing values.
function blocksOf(attribute, wireAxis, letter) {
  const cells = cellsOf(attribute, wireAxis);
  const blocks = [{ ...cells, axis: letter, from: 0, to: cells.names.length }];
  if (cells.missing) blocks.push({ ...missingBlock(letter), from: cells.names.length, to: cells.names.length + 1 });
  return blocks;
}

export const missingBlock = (letter) => ({ edges: [-0.5, 0.5], names: [MISSING_LABEL], ticks: [MISSING_LABEL], axis: `${letter}2` });

function ticksOf(labels) {
  const step = Math.ceil(labels.length / MOST_TICKS);
  const places = [...labels.keys()].filter((place) => place % step === 0);
  const short = (label) => (label.length > LONGEST_TICK ? `${label.slice(0, LONGEST_TICK - 1)}…` : label);
  return { tickmode: "array", tickvals: places, ticktext: places.map((place) => plain(short(labels[place]))) };
}

// The layout of the axes of an attribute: xaxis, and xaxis2 if missing values are apart.
export function axesOf(colour, attribute, blocks, more = {}) {
  const apart = blocks.length > 1;
  return Object.fromEntries(blocks.map(({ edges, ticks, axis: name }, place) => [`${name[0]}axis${name.slice(1)}`, axis(colour, place ? "" : attribute.name, {
    type: ticks ? "linear" : attribute.plotType, range: [edges[0], edges.at(-1)], fixedrange: true, ...(ticks ? ticksOf(ticks) : {}),
    ...(apart ? { domain: place ? APART.missing : APART.values } : {}), ...(place ? { anchor: name[0] === "x" ? "y" : "x", tickangle: 0 } : {}),
    ...more, ...(ticks ? { showgrid: false } : {}),
  })]));
}

const middles = (edges) => edges.slice(1).map((edge, i) => (edges[i] + edge) / 2);
const hover = (attribute, name) => `${plain(attribute.name)} ${plain(name)}`;

// Bars: traces and the layout of their horizontal axes. With `whiskers`, the interval of each bar.
export function barChart(colour, attribute, histogram, { whiskers = false } = {}) {
  const blocks = blocksOf(attribute, histogram.attributes[0], "x");
  const sure = certainty(histogram);
  const traces = blocks.map(({ edges, names, ticks, axis: name, from, to }) => {
    const counts = histogram.counts.slice(from, to);
    const bounds = sure.customdata?.slice(from, to);
    const error = sure.reach !== null ? { type: "constant", value: sure.reach } : {
      type: "data", symmetric: false, array: counts.map((count, i) => bounds[i][1] - count), arrayminus: counts.map((count, i) => count - bounds[i][0]),
    };
    return {
      type: "bar", x: middles(edges), y: counts, width: edges.slice(1).map((edge, i) => (edge - edges[i]) * (ticks ? 0.7 : 1)), xaxis: name,
      marker: { color: name === "x" ? colour.accent : colour.soft, line: { width: 0 } }, text: names.map((cell) => hover(attribute, cell)), textposition: "none",
      hovertemplate: `%{text}<br>noisy count %{y} ${sure.hover}<extra></extra>`, customdata: bounds,
      ...(whiskers ? { error_y: { ...error, color: colour.soft, thickness: 1, width: 0, visible: edges.length < 150 } } : {}),
    };
  });
  return { traces, axes: { ...axesOf(colour, attribute, blocks), bargap: 0 }, blocks: [blocks[0]] };
}

// A heat map: traces and the layout of its axes. `blocks` has the cells with values, of the horizontal axis first.
export function heatChart(colour, [across, up], histogram, showscale) {
  const columns = blocksOf(across, histogram.attributes[1], "x");
  const rows = blocksOf(up, histogram.attributes[0], "y");
  const most = histogram.counts.reduce((high, row) => row.reduce((a, b) => Math.max(a, b), high), 1);
  const sure = certainty(histogram);
  const cut = (table, row, column) => table?.slice(row.from, row.to).map((line) => line.slice(column.from, column.to));
  const traces = rows.flatMap((row, i) => columns.map((column, j) => ({
    type: "heatmap", x: column.edges, y: row.edges, z: cut(histogram.counts, row, column), xaxis: column.axis, yaxis: row.axis,
    zmin: 0, zmax: most, colorscale: colour.heat, customdata: cut(sure.customdata, row, column),
    text: row.names.map((upper) => column.names.map((name) => `${hover(across, name)}<br>${hover(up, upper)}`)),
    hovertemplate: `%{text}<br>noisy count %{z} ${sure.hover}<extra></extra>`,
    colorbar: { thickness: 10, outlinewidth: 0, tickfont: { color: colour.soft, size: 11 }, len: 0.9, nticks: 5 },
    showscale: showscale && i + j === 0,
  })));
  const axes = { ...axesOf(colour, across, columns, { showgrid: false }), ...axesOf(colour, up, rows, { showgrid: false }) };
  return { traces, axes, blocks: [columns[0], rows[0]] };
}
