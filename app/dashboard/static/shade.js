// How counts become colours, and which cells stand out from the noise.
import { number } from "./format.js";

const LOUD = 1;
const MUTED = 0.16; // opacity of what may be noise

// The colour scale of counts up to `most`. linear: the count. log: asinh(count / noise), which is about linear within
// the noise and logarithmic beyond, so that noise is not drawn as if it were structure. Below zero: the colour of zero.
export function shadeOf(kind, most, noise) {
  if (kind !== "log") return { of: (count) => count, top: most, bar: { nticks: 5 }, words: "" };
  const of = (count) => Math.asinh(Math.max(0, count) / noise);
  const ticks = [0];
  for (let tick = 10 ** Math.ceil(Math.log10(noise)); tick <= most; tick *= 10) ticks.push(tick);
  if (ticks.length < 3) ticks.push(most);
  return {
    of, top: of(most), words: `Colours are logarithmic beyond counts of ${number(noise)}, which is about the noise, and counts below zero have the colour of zero.`,
    bar: { tickmode: "array", tickvals: ticks.map(of), ticktext: ticks.map((tick) => number(tick)) },
  };
}

// A trace of cells, or two: those that stand out, and the others in faint colours. `stands` is nested like z.
export function split(trace, stands) {
  if (stands === null) return [trace];
  const only = (wanted, opacity) => ({
    ...trace, opacity, hoverongaps: false, z: trace.z.map((row, y) => row.map((value, x) => (stands[y][x] === wanted ? value : null))),
    ...(opacity === LOUD ? {} : { showscale: false, name: "muted" }),
  });
  return [only(true, LOUD), only(false, MUTED)];
}

// What muting means: which cells stand out, and how many would by chance alone. `standing` is null if nothing is muted.
export function noiseWords(mode, standing) {
  if (mode === "shown" || !standing) return "";
  const counts = `${number(standing.out, 9)} of ${number(standing.all, 9)} cells stand out from the noise; the others are muted.`;
  if (mode === "all") return `${counts} With 95 % probability no cell without rows is among them: the intervals hold for all cells at once.`;
  return `${counts} Their own 95 % interval lies above zero. Of the cells without rows, about one in ${standing.chance} may stand out by chance${standing.all > standing.chance ? `: up to ${number(Math.ceil(standing.all / standing.chance), 6)} here` : ""}.`;
}
