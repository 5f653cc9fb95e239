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

// The error of a histogram: the same half-width for all cells or, after a threshold, bounds for each cell.
export function certainty(histogram) {
  if (histogram.reach) {
    const reach = Number(histogram.reach.each.toPrecision(3)).toLocaleString("en");
    return { reach: histogram.reach.each, words: `± ${reach}`, hover: `± ${reach}`, customdata: undefined };
  }
  const { low, high } = histogram.bounds.each;
  const pair = (a, b) => (Array.isArray(a) ? a.map((value, i) => pair(value, b[i])) : [Math.floor(a), Math.ceil(b)]);
  return { reach: null, words: null, hover: "(%{customdata[0]} to %{customdata[1]})", customdata: low.map((value, i) => pair(value, high[i])) };
}

export const settings = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false };

export async function draw(place, traces, more) {
  const Plotly = await plotly();
  await Plotly.react(place, traces, more, settings);
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
