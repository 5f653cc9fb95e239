// The leaves of an adaptive release as charts: a heat map of two attributes, or bars of one. Cells are drawn as they are,
// small where rows are many, so colour and height are rows per area. Leaves that differ in what is not shown lie over each
// other: their rows are added up, and their noise as if it were independent. That is too much rather than too little: fused
// estimates of leaves that share a planning count make up for each other's errors.
import { faint, plain } from "./charts.js";
import { number } from "./format.js";
import { SHARE_APART, axesOf, missingBlock } from "./histogram.js";
import { split } from "./shade.js";

const SIDE = 384; // strips on an axis that are drawn; where cells have more edges, they are drawn on so many equal strips

// The cells of an answer with `layers`: their ends on each shown attribute as positions, null where the value is missing.
function tilesOf(shown, answer) {
  const { edges, leaf } = answer.layers;
  const names = answer.attributes.map(({ name }) => name);
  const sides = shown.map((attribute) => {
    const x = names.indexOf(attribute.name);
    const places = edges[x].map((edge) => attribute.at(edge));
    const has = (i) => leaf.upper[x][i] < places.length;
    const words = new Map(); // many cells have the same ends
    const nameOf = (i) => {
      const key = leaf.lower[x][i] * (places.length + 1) + leaf.upper[x][i];
      if (!words.has(key)) words.set(key, attribute.fineName(places[leaf.lower[x][i]], places[leaf.upper[x][i]]));
      return words.get(key);
    };
    return { attribute, places, has, low: (i) => places[leaf.lower[x][i]], high: (i) => places[leaf.upper[x][i]], nameOf };
  });
  return { sides, count: leaf.counts.length, estimates: leaf.estimates, reach: leaf.reach };
}

// The strips of a shown attribute: the edges of all cells or, if these are too many, equal ones.
function strips(side, letter) {
  const { places, attribute } = side;
  let edges = places;
  if (places.length > SIDE + 1) {
    const [start, stop] = [places[0], places.at(-1)];
    edges = Array.from({ length: SIDE + 1 }, (_, j) => start + ((stop - start) * j) / SIDE);
  }
  return { edges, ticks: null, axis: letter, attribute, low: side.low, high: side.high, width: edges.at(-1) - edges[0], takes: side.has, nameOf: side.nameOf };
}

function blocksOf(side, letter) {
  const values = strips(side, letter);
  if (!side.attribute.keepsMissing) return [values];
  const apart = missingBlock(letter);
  return [values, { ...apart, attribute: side.attribute, low: () => -0.5, high: () => 0.5, width: 1 / SHARE_APART, takes: (i) => !side.has(i), nameOf: () => apart.names[0] }];
}

// The strip in which a position lies.
function stripAt(edges, place) {
  let low = 0;
  let high = edges.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (edges[middle] <= place) low = middle;
    else high = middle;
  }
  return low;
}

// The strips that a cell touches, each with the share of it that the cell covers.
function covered(block, i) {
  const { edges } = block;
  const [low, high] = [block.low(i), block.high(i)];
  const shares = [];
  for (let j = stripAt(edges, low); j < edges.length - 1 && edges[j] < high; j += 1) {
    const share = (Math.min(high, edges[j + 1]) - Math.max(low, edges[j])) / (edges[j + 1] - edges[j]);
    if (share > 1e-9) shares.push([j, share]);
  }
  return shares;
}

// Adds up cells on the strips of two blocks. For each square: rows per share of the chart, the square of its reach, and
// the cell that covers most of it, the smallest if several do.
function painted(tiles, column, row) {
  const across = column.edges.length - 1;
  const squares = across * (row.edges.length - 1);
  const density = new Float64Array(squares);
  const spread = new Float64Array(squares);
  const cover = new Float64Array(squares);
  const owner = new Int32Array(squares).fill(-1);
  const areas = new Float64Array(tiles.count);
  let overlaps = false;
  for (let i = 0; i < tiles.count; i += 1) {
    if (!column.takes(i) || !row.takes(i)) continue;
    areas[i] = ((column.high(i) - column.low(i)) / column.width) * ((row.high(i) - row.low(i)) / row.width);
    const columns = covered(column, i);
    for (const [y, up] of covered(row, i)) {
      for (const [x, along] of columns) {
        const square = y * across + x;
        const share = up * along;
        density[square] += (share * tiles.estimates[i]) / areas[i];
        spread[square] += ((share * tiles.reach[i]) / areas[i]) ** 2;
        overlaps ||= cover[square] > 1 - 1e-6 && share > 1 - 1e-6;
        const best = owner[square];
        if (best < 0 || share > cover[square] + 1e-9 || (share > cover[square] - 1e-9 && areas[i] < areas[best])) {
          owner[square] = i;
          cover[square] = share;
        }
      }
    }
  }
  return { across, density, spread, owner, areas, overlaps };
}

// What a square says when pointed at: the names of its cell, its rows, and what they lie between.
function told(tiles, column, row, paint) {
  const own = new Map();
  return (square) => {
    const i = paint.owner[square];
    if (i < 0) return null;
    if (!paint.overlaps && own.has(i)) return own.get(i);
    const rows = paint.overlaps ? paint.density[square] * paint.areas[i] : tiles.estimates[i];
    const reach = paint.overlaps ? Math.sqrt(paint.spread[square]) * paint.areas[i] : tiles.reach[i];
    const words = [plain(column.nameOf(i)), plain(row.nameOf(i)), ...[rows, Math.max(0, rows - reach), Math.max(0, rows + reach)].map((value) => Math.round(value) + 0)];
    own.set(i, words);
    return words;
  };
}

const table = (paint, of) => Array.from({ length: paint.density.length / paint.across }, (_, y) =>
  Array.from({ length: paint.across }, (__, x) => of(y * paint.across + x)));

// Densities differ by orders of magnitude: on the scale log, colours go by log(1 + 4 density), where 1 is the mean density
// of the map.
function scaleOf(tiles, paints, kind) {
  const total = Math.max(1, tiles.estimates.reduce((sum, value) => sum + value, 0));
  const most = paints.reduce((high, { density }) => density.reduce((a, b) => Math.max(a, b), high), total);
  const isLog = kind === "log";
  const colourOf = (density) => (isLog ? Math.log1p((4 * Math.max(0, density)) / total) : density / total);
  const ticks = [0];
  for (let tick = 1; isLog && tick <= most / total; tick *= 10) ticks.push(tick);
  for (let part = 1; !isLog && part <= 4; part += 1) ticks.push(Number(((part * most) / total / 4).toPrecision(2)));
  return { colourOf, top: colourOf(most), tickvals: ticks.map((tick) => colourOf(tick * total)), ticktext: ticks.map((tick) => (tick ? `${number(tick)} ×` : "0")) };
}

// Whether the interval of the cell of each square lies above zero; null for a square of no cell.
const standsOf = (paint) => (square) => (paint.owner[square] < 0 ? null : paint.density[square] > Math.sqrt(paint.spread[square]));

// How many of the cells stand out: each is looked at in the squares that it owns.
function standingOf(paints) {
  const verdicts = new Map();
  paints.forEach((paint, place) => {
    const stands = standsOf(paint);
    paint.owner.forEach((cell, square) => {
      if (cell >= 0) verdicts.set(`${place} ${cell}`, stands(square));
    });
  });
  return { out: [...verdicts.values()].filter(Boolean).length, all: verdicts.size, chance: 40 };
}

const intervalOf = (noise) => `95 % interval: %{customdata[3]:,} to %{customdata[4]:,}${noise === "all" ? ", all cells at once" : ""}`;

export function tileMap(colour, shown, answer, { showscale, scale: kind, noise }) {
  const tiles = tilesOf(shown, answer);
  const [columns, rows] = tiles.sides.map((side, place) => blocksOf(side, place ? "y" : "x"));
  const parts = rows.flatMap((row) => columns.map((column) => ({ row, column, paint: painted(tiles, column, row) })));
  const scale = scaleOf(tiles, parts.map(({ paint }) => paint), kind);
  const [across, up] = shown;
  const traces = parts.flatMap(({ row, column, paint }, place) => split({
    type: "heatmap", x: column.edges, y: row.edges, xaxis: column.axis, yaxis: row.axis, zmin: 0, zmax: scale.top, colorscale: colour.heat,
    z: table(paint, (square) => scale.colourOf(paint.density[square])), customdata: table(paint, told(tiles, column, row, paint)),
    hovertemplate: `${plain(across.name)} %{customdata[0]}<br>${plain(up.name)} %{customdata[1]}<br>about %{customdata[2]:,} rows<br>${intervalOf(noise)}<extra></extra>`,
    colorbar: { thickness: 10, outlinewidth: 0, tickfont: { color: colour.soft, size: 11 }, len: 0.9, tickmode: "array", tickvals: scale.tickvals, ticktext: scale.ticktext },
    showscale: showscale && place === 0,
  }, noise === "shown" ? null : table(paint, standsOf(paint))));
  const axes = { ...axesOf(colour, across, columns, { showgrid: false }), ...axesOf(colour, up, rows, { showgrid: false }) };
  return {
    traces, axes, blocks: [columns[0], rows[0]], words: "Colour is how densely rows lie there: 10 × is ten times the mean of the map.",
    standing: noise === "shown" ? null : standingOf(parts.map(({ paint }) => paint)),
  };
}

// Bars of one attribute: as high as the rows per unit of the attribute, so that areas are rows.
export function tileBars(colour, [attribute], answer, { noise }) {
  const tiles = tilesOf([attribute], answer);
  const whole = { edges: [0, 1], low: () => 0, high: () => 1, width: 1, takes: () => true, nameOf: () => "" };
  const { words: per, size } = attribute.densityUnit;
  const blocks = blocksOf(tiles.sides[0], "x");
  const paints = [];
  const traces = blocks.map((block) => {
    const paint = painted(tiles, block, whole);
    paints.push(paint);
    const stands = standsOf(paint);
    const tone = block.axis === "x" ? colour.accent : colour.soft;
    const squares = [...paint.density.keys()].filter((square) => paint.owner[square] >= 0);
    const width = (square) => block.edges[square + 1] - block.edges[square];
    const tell = told(tiles, block, whole, paint);
    return {
      type: "bar", x: squares.map((square) => block.edges[square] + width(square) / 2), width: squares.map((square) => width(square) * (block.ticks ? 0.7 : 1)),
      y: squares.map((square) => (paint.density[square] / blocks[0].width) * size), xaxis: block.axis,
      marker: { color: squares.map((square) => (noise === "shown" || stands(square) ? tone : faint(tone))), line: { width: 0 } },
      customdata: squares.map(tell), selected: { marker: { opacity: 1 } }, unselected: { marker: { opacity: 1 } },
      hovertemplate: `${plain(attribute.name)} %{customdata[0]}<br>about %{customdata[2]:,} rows<br>${intervalOf(noise)}<extra></extra>`,
    };
  });
  return {
    traces, axes: { ...axesOf(colour, attribute, blocks), bargap: 0 }, blocks: [blocks[0]],
    title: per, words: `Height is ${per}, so that areas are rows.`, standing: noise === "shown" ? null : standingOf(paints), heights: traces.flatMap(({ y }) => y),
  };
}
