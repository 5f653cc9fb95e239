// Histograms as charts: bars of one attribute, a heat map of two. Rows without a value have a cell of their own, drawn
// apart from the others: on a second axis beside the first. Where cells differ in size, a wide one holds more rows for its
// width alone: what is drawn is then rows per unit of the attribute or, on a map, per cell of mean size.
import { MISSING_LABEL, cellsOf } from "./attribute.js";
import { axis, certainty, faint, plain } from "./charts.js";
import { shadeOf, split } from "./shade.js";

export const APART = { values: [0, 0.89], missing: [0.92, 1] }; // shares of the chart
export const SHARE_APART = (APART.missing[1] - APART.missing[0]) / (APART.values[1] - APART.values[0]);
const UNEVEN = 1.1; // the widest of the cells over the narrowest: days in cells of 15 and of 16 are still drawn as counts
const BARS = 0.5; // of the height of a chart that is kept for its bars: intervals may be much longer
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
const widths = (edges) => edges.slice(1).map((edge, i) => edge - edges[i]);
const isUneven = ({ edges, ticks }) => !ticks && Math.max(...widths(edges)) > UNEVEN * Math.min(...widths(edges));

// The widths of all cells in units of the attribute, and what a count over a width is called; null where cells are alike.
function unitOf(attribute, blocks) {
  const [values, apart] = blocks;
  if (!isUneven(values)) return null;
  const { words, size } = attribute.densityUnit;
  const length = values.edges.at(-1) - values.edges[0];
  return { words, widths: [...widths(values.edges), ...(apart ? [length * SHARE_APART] : [])].map((width) => width / size) };
}

// The widths of all cells over that of a mean one; 1 where cells are alike, and for rows without a value.
function relativeWidths(blocks) {
  const [values] = blocks;
  const number = values.names.length;
  const mean = (values.edges.at(-1) - values.edges[0]) / number;
  const own = isUneven(values) ? widths(values.edges).map((width) => width / mean) : Array(number).fill(1);
  return blocks.length > 1 ? [...own, 1] : own;
}

// The range of an axis of bars: all of them and, of their intervals, what leaves the bars their share of the height.
export function heightsOf(traces) {
  const [bars, ends] = [traces.flatMap(({ y }) => y), traces.flatMap(({ y, error_y: line }) =>
    (line ? y.flatMap((height, i) => [height - line.arrayminus[i], height + line.array[i]]) : []))];
  const [low, high] = [Math.min(0, ...bars), Math.max(0, ...bars)];
  const room = ((high - low || 1) * (1 - BARS)) / BARS;
  const [least, most] = [Math.max(Math.min(low, ...ends), low - room / 4), Math.min(Math.max(high, ...ends), high + (3 * room) / 4)];
  return { range: [least, most + 0.04 * (most - least)], cut: ends.some((end) => end < least || end > most) };
}

const hover = (attribute, name) => `${plain(attribute.name)} ${plain(name)}`;

// How many cells stand out, and of how many.
function standingOf(stands, sure) {
  const flat = stands.flat();
  return { out: flat.filter(Boolean).length, all: flat.length, chance: sure.reach === null ? 20 : 40 }; // noise is symmetric
}

// Bars: traces and the layout of their axes. With `whiskers`, the interval of each bar. `noise` mutes bars that may be
// noise; `takes` mutes those that lie outside of a part. `title` says what their height is.
export function barChart(colour, attribute, histogram, { whiskers = false, noise = "shown", takes = () => true } = {}) {
  const blocks = blocksOf(attribute, histogram.attributes[0], "x");
  const sure = certainty(histogram, noise === "all");
  const stands = noise === "shown" ? null : sure.low.map((low) => low > 0);
  const unit = unitOf(attribute, blocks);
  const title = unit ? unit.words : "noisy count";
  const traces = blocks.map(({ edges, names, ticks, axis: name, from, to }) => {
    const counts = histogram.counts.slice(from, to);
    const heights = (values) => (unit ? values.map((value, i) => value / unit.widths[from + i]) : values);
    const reach = (end, sign) => heights(counts.map((count, i) => (sure.reach !== null ? sure.reach : sign * (sure[end][from + i] - count))));
    const at = middles(edges);
    const tone = name === "x" ? colour.accent : colour.soft;
    const loud = counts.map((_, i) => (stands?.[from + i] ?? true) && takes(at[i], names[i]));
    return {
      type: "bar", x: at, y: heights(counts), width: widths(edges).map((width) => width * (ticks ? 0.7 : 1)), xaxis: name,
      marker: { color: loud.map((isLoud) => (isLoud ? tone : faint(tone))), line: { width: 0 } },
      text: names.map((cell) => hover(attribute, cell)), textposition: "none", selected: { marker: { opacity: 1 } }, unselected: { marker: { opacity: 1 } },
      hovertemplate: `%{text}<br>noisy count %{customdata[2]:,}${unit ? `<br>%{y:,.3~g} ${plain(unit.words)}` : ""}<br>${sure.hover}<extra></extra>`,
      customdata: sure.customdata.slice(from, to).map((ends, i) => [...ends, counts[i]]),
      ...(whiskers ? { error_y: { type: "data", symmetric: false, array: reach("high", 1), arrayminus: reach("low", -1), color: faint(colour.soft, 0.6), thickness: 1, width: 0, visible: edges.length < 150 } } : {}),
    };
  });
  return {
    traces, axes: { ...axesOf(colour, attribute, blocks), bargap: 0 }, blocks: [blocks[0]], title, heights: traces.flatMap(({ y }) => y),
    words: unit ? `Cells differ in width: height is ${title}, so that areas are rows.` : "", standing: stands && standingOf(stands, sure),
  };
}

// About the half-width of an interval of one cell.
function noiseOf(sure) {
  if (sure.reach !== null) return Math.max(1, sure.reach);
  const widths = sure.high.flat().map((high, i) => high - sure.low.flat()[i]).sort((a, b) => a - b);
  return Math.max(1, widths[widths.length >> 1] / 2);
}

// A heat map: traces and the layout of its axes. `blocks` has the cells with values, of the horizontal axis first.
export function heatChart(colour, [across, up], histogram, { showscale, scale = "linear", noise = "shown" }) {
  const columns = blocksOf(across, histogram.attributes[1], "x");
  const rows = blocksOf(up, histogram.attributes[0], "y");
  const [wide, high] = [columns, rows].map(relativeWidths);
  const uneven = [...wide, ...high].some((width) => width !== 1);
  const shown = uneven ? histogram.counts.map((line, y) => line.map((count, x) => count / (wide[x] * high[y]))) : histogram.counts;
  const most = shown.reduce((top, row) => row.reduce((a, b) => Math.max(a, b), top), 1);
  const sure = certainty(histogram, noise === "all");
  const shade = shadeOf(scale, most, noiseOf(sure));
  const stands = noise === "shown" ? null : sure.low.map((line) => line.map((low) => low > 0));
  const cut = (table, row, column) => table && table.slice(row.from, row.to).map((line) => line.slice(column.from, column.to));
  const traces = rows.flatMap((row, i) => columns.flatMap((column, j) => {
    const [counts, densities] = [histogram.counts, shown].map((table) => cut(table, row, column));
    return split({
      type: "heatmap", x: column.edges, y: row.edges, z: densities.map((line) => line.map(shade.of)), xaxis: column.axis, yaxis: row.axis,
      zmin: 0, zmax: shade.top, colorscale: colour.heat,
      customdata: cut(sure.customdata, row, column).map((line, y) => line.map((ends, x) => [...ends, counts[y][x], ...(uneven ? [densities[y][x]] : [])])),
      text: row.names.map((upper) => column.names.map((name) => `${hover(across, name)}<br>${hover(up, upper)}`)),
      hovertemplate: `%{text}<br>noisy count %{customdata[2]:,}${uneven ? "<br>%{customdata[3]:,.3~g} per cell of mean size" : ""}<br>${sure.hover}<extra></extra>`,
      colorbar: { thickness: 10, outlinewidth: 0, tickfont: { color: colour.soft, size: 11 }, len: 0.9, ...shade.bar },
      showscale: showscale && i + j === 0,
    }, cut(stands, row, column));
  }));
  const axes = { ...axesOf(colour, across, columns, { showgrid: false }), ...axesOf(colour, up, rows, { showgrid: false }) };
  const words = [uneven ? "Cells differ in size: colour is rows per cell of mean size." : "", shade.words].filter(Boolean).join(" ");
  return { traces, axes, blocks: [columns[0], rows[0]], words, standing: stands && standingOf(stands, sure) };
}
