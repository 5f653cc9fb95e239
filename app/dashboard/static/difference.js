// What the counts of two releases say of their difference. Pure functions: no page and no network.
//
// Each release is asked for the same boxes, with intervals that hold for all boxes together with probability EACH = 97.5 %.
// By the union bound, all intervals of both hold with probability 95 % or more. Where they do, each true difference
// right - left lies between low(right) - high(left) and high(right) - low(left). Intervals of counts include cells that
// a box cuts, so this is so for any box, on any grid.

export const LEVEL = 0.95;
export const EACH = (1 + LEVEL) / 2;

const FEWEST = 3; // cells on an axis that edges in common must make; else those of the coarser axis are taken
const SAME = 1e-12; // of the axis; two edges of axes of 2^16 cells that differ lie further apart

// At most so many cells: some of the edges, in equal steps by their number.
function thinned(edges, most) {
  const cells = edges.length - 1;
  if (cells <= most) return edges;
  return Array.from({ length: most + 1 }, (_, j) => edges[Math.round((j * cells) / most)]);
}

// Edges of cells that both axes can count, from the edges of both as ascending positions with the same ends. `side` and
// `places` say which they are; `whole[s]` whether every one is an edge of axis s, so that its cells are not cut.
export function commonEdges(axes, most) {
  const side = axes[1].length < axes[0].length ? 1 : 0;
  const [coarser, finer] = [axes[side], axes[1 - side]];
  const near = SAME * (coarser.at(-1) - coarser[0]);
  const places = [...coarser.keys()];
  const shared = places.filter((place) => finer.some((edge) => Math.abs(edge - coarser[place]) <= near));
  const chosen = thinned(shared.length > FEWEST || shared.length === coarser.length ? shared : places, most);
  const whole = [true, true];
  whole[1 - side] = chosen.every((place) => shared.includes(place));
  return { side, places: chosen, whole };
}

// For each box both counts with their intervals, the difference right - left with its interval, and its sign where it is
// certain: 1, -1, or 0 where the interval holds 0.
export function differences(left, right) {
  return left.counts.map((_, i) => {
    const [a, b] = [left, right].map(({ counts, low, high }) => ({ count: counts[i], low: low[i], high: high[i] }));
    const [low, high] = [b.low - a.high, b.high - a.low];
    return { left: a, right: b, difference: b.count - a.count, low, high, sign: low > 0 ? 1 : high < 0 ? -1 : 0 };
  });
}

// The median of half the widths of the intervals: about how large a difference must be before it is certain.
export function noticeable(cells) {
  const widths = cells.map(({ low, high }) => (high - low) / 2).sort((a, b) => a - b);
  return widths[Math.floor(widths.length / 2)];
}
