// Plotly, loaded once the page stands, and the looks that all charts share: colours are those of the page.

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

// Text for Plotly, which reads some HTML, <a> among it, and in templates %{…}: all of it is shown as it is written.
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

// What a histogram's answer says of its own error: one reach for all cells or, after a threshold, bounds for each.
export function certainty(found) {
  if (found.reach) {
    const reach = Number(found.reach.each.toPrecision(3)).toLocaleString("en");
    return { reach: found.reach.each, words: `± ${reach}`, hover: `± ${reach}`, customdata: undefined };
  }
  const { low, high } = found.bounds.each;
  const pair = (a, b) => (Array.isArray(a) ? a.map((one, i) => pair(one, b[i])) : [Math.floor(a), Math.ceil(b)]);
  return { reach: null, words: null, hover: "(%{customdata[0]} to %{customdata[1]})", customdata: low.map((one, i) => pair(one, high[i])) };
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
