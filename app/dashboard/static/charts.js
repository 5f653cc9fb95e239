// Loads Plotly when a chart is first drawn, and has the layout and colours that all charts share.

let loading = null;

export function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = document.querySelector('meta[name="plotly"]').content;
    script.addEventListener("load", () => resolve(window.Plotly));
    script.addEventListener("error", () => reject(new Error("The charts could not be loaded. Reload the page.")));
    document.head.append(script);
  });
  return loading;
}

export function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  const dark = style.colorScheme === "dark";
  return {
    dark, ink: of("ink"), soft: of("soft"), line: of("line"), surface: of("surface"), accent: of("accent"),
    ordered: of("ordered"), track: of("track"), good: of("good"), faint: of("accent-faint"),
    heat: dark
      ? [[0, "#19222d"], [0.25, "#27407a"], [0.55, "#4f78dc"], [0.8, "#9cb9ff"], [1, "#f1f5ff"]]
      : [[0, "#f3f5fa"], [0.25, "#b9c8f3"], [0.55, "#6883dd"], [0.8, "#2f4bc4"], [1, "#17226b"]],
  };
}

// A colour #rrggbb, faint. Of bars, the opacity is Plotly's own for what is selected.
export const faint = (colour, opacity = 0.25) => `rgba(${[1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16)).join(",")},${opacity})`;

// Escapes text for Plotly, which interprets some HTML, such as <a>, and %{…} in templates.
export const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("%{", "%\u200b{");

export function axis(colour, title, more = {}) {
  return {
    title: { text: plain(title), font: { size: 13, color: colour.soft }, standoff: 10 }, color: colour.soft, gridcolor: colour.line,
    linecolor: colour.line, zeroline: false, automargin: true, tickfont: { size: 12 }, ...more,
  };
}

export function layout(colour, more = {}) {
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true,
    font: { family: "system-ui, -apple-system, Segoe UI, Roboto, Noto Sans, DejaVu Sans, sans-serif", size: 13, color: colour.ink },
    margin: { l: 56, r: 16, t: 12, b: 48 }, showlegend: false, hovermode: "closest",
    hoverlabel: { bgcolor: colour.surface, bordercolor: colour.line, font: { color: colour.ink, size: 13 }, align: "left" },
    ...more,
  };
}

// The key of a box on a chart, with so many axes; Plotly may give the corners on an axis of dates as texts.
const corner = (end) => (typeof end === "string" ? Date.parse(`${end.replace(" ", "T")}${end.length > 10 ? "Z" : ""}`) : end);
export const keyOf = (box, axes) => (box ? [box.x0, box.x1, box.y0, box.y1].slice(0, 2 * axes).map((end) => corner(end).toPrecision(12)).join(" ") : "");

// A box that was dragged or counted: an outline without a filling, which would hide the cells under it.
export const outlines = (colour) => ({
  newselection: { line: { color: colour.ordered, width: 2, dash: "solid" } }, activeselection: { fillcolor: "rgba(0,0,0,0)", opacity: 1 },
});
export const outline = (colour, ends) => ({ type: "rect", xref: "x", yref: "y", ...ends, line: { color: colour.ordered, width: 2.5, dash: "solid" } });

// Words beside a box, within the chart: over its upper edge or, where there is no room, under it.
export function label(colour, words, { x0, x1, y1 }, [start, stop], top) {
  const isRight = (x0 + x1) / 2 > (start + stop) / 2;
  return {
    text: plain(words), x: isRight ? x1 : x0, y: y1, xref: "x", yref: "y", xanchor: isRight ? "right" : "left", yanchor: y1 > top ? "top" : "bottom",
    showarrow: false, font: { size: 13, color: colour.surface }, bgcolor: colour.ink, borderpad: 4, yshift: y1 > top ? -4 : 4, name: "answer",
  };
}

const nested = (values, make) => values.map((value) => (Array.isArray(value) ? nested(value, make) : make(value)));
const paired = (low, high, make) => low.map((value, i) => (Array.isArray(value) ? paired(value, high[i], make) : make(value, high[i])));
const rows = (value) => Math.max(0, value) + 0; // of rows there are never fewer than none

// The error of a histogram, for each cell alone or for all at once: the same half-width for all cells or, after a threshold,
// bounds for each. `low` has the lower end of each cell, nested like the counts; `customdata` both ends for pointing at it.
// A histogram of differences is `signed`: they may lie below zero.
export function certainty(histogram, together = false) {
  const scope = together ? "all" : "each";
  const level = (histogram.reach ?? histogram.bounds).level;
  const hover = `${100 * level} % interval: %{customdata[0]:,} to %{customdata[1]:,} rows${together ? ", all cells at once" : ""}`;
  if (histogram.reach) {
    const reach = histogram.reach[scope];
    const words = `± ${Number(reach.toPrecision(3)).toLocaleString("en")}`;
    const customdata = nested(histogram.counts, (count) => [rows(Math.round(count - reach)), rows(Math.round(count + reach))]);
    return { reach, words, hover, customdata, low: nested(histogram.counts, (count) => count - reach) };
  }
  const { low, high } = histogram.bounds[scope];
  const end = histogram.signed ? (value) => value + 0 : rows;
  return { reach: null, words: null, hover, customdata: paired(low, high, (a, b) => [end(Math.floor(a)), end(Math.ceil(b))]), low, high };
}

export const settings = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false };

export async function draw(place, traces, more) {
  const Plotly = await plotly();
  await Plotly.react(place, traces, more, settings);
}

const AWAY = 40; // pixels
const released = { x: 0, y: 0 };
addEventListener("pointerup", ({ clientX: x, clientY: y }) => Object.assign(released, { x, y }), { capture: true });

// After a drag the pointer lies on the box, where a tooltip would cover the answer beside it. It comes back once the
// pointer has moved on.
export function hush(place) {
  const { x, y } = released;
  place.classList.add("dragged");
  const watch = ({ type, clientX, clientY }) => {
    if (type === "pointermove" && Math.hypot(clientX - x, clientY - y) < AWAY) return;
    place.classList.remove("dragged");
    for (const name of ["pointermove", "pointerdown"]) removeEventListener(name, watch, { capture: true });
  };
  for (const name of ["pointermove", "pointerdown"]) addEventListener(name, watch, { capture: true });
}

// Draws a chart anew in the size that its place has by now.
export async function fit(place) {
  const Plotly = await plotly();
  await Plotly.Plots.resize(place);
}

export async function picture(place, format, name) {
  const Plotly = await plotly();
  const { clientWidth: width, clientHeight: height } = place;
  const url = await Plotly.toImage(place, { format, width, height, scale: format === "png" ? 2 : 1 });
  const link = document.createElement("a");
  link.href = url;
  link.download = `${name}.${format}`;
  link.click();
}
