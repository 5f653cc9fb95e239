// The page of a dataset: a step chart of its epsilon with a mark for each ledger entry; grant (admin) and close (curator).
import { change, facts, tell } from "./api.js";
import { axis, colours, draw, layout, plain } from "./charts.js";
import { Faults, clearFaults, enable, faultsOf, showFaults } from "./faults.js";
import { localTime } from "./format.js";

const place = document.getElementById("steps-chart");
const across = document.getElementById("steps-axis");
const DAY = 86_400_000;

async function drawSteps() {
  const { points } = facts("steps");
  const colour = colours();
  const byTime = across.value === "time";
  const marks = {
    grant: "triangle-up", charge: "circle", draw: "circle-open", void: "triangle-down", publish: "diamond", close: "square",
    rule: "star", request: "hourglass", refuse: "x",
  };
  const x = points.map((point) => (byTime ? new Date(point.at) : point.seq));
  const words = points.map((point) => [
    `${point.kind} ${point.epsilon === "0" ? "" : point.epsilon} (entry ${point.seq})`, localTime(point.told),
    `by ${point.actor}`, point.why.slice(0, 80),
  ].filter(Boolean).map(plain).join("<br>"));
  const line = (values, name, tint, more) => ({
    x, y: values, name, mode: "lines", line: { shape: "hv", width: 2, color: tint, ...more }, hoverinfo: "skip",
  });
  const narrow = place.clientWidth < 500;
  const few = !byTime && points.length && points.at(-1).seq - points[0].seq < (narrow ? 4 : 8); // no ticks between two entries
  await draw(place, [
    line(points.map((p) => p.granted), "granted", colour.soft, { dash: "dot" }),
    { ...line(points.map((p) => p.spent), "spent", colour.accent, {}), fill: "tozeroy", fillcolor: `${colour.accent}22` },
    {
      x, y: points.map((p) => (p.kind === "grant" ? p.granted : p.spent)), name: "entries", mode: "markers", showlegend: false,
      marker: {
        symbol: points.map((p) => marks[p.kind]), size: points.length > 200 ? 5 : 10, line: { width: 1.5, color: colour.surface },
        color: points.map((p) => ({ grant: colour.soft, publish: colour.good, void: colour.ordered }[p.kind] ?? colour.accent)),
      },
      text: words, hovertemplate: "%{text}<extra></extra>",
    },
  ], layout(colour, {
    showlegend: true, legend: { orientation: "h", x: 0, y: 1.12, font: { color: colour.soft } },
    margin: { l: narrow ? 40 : 56, r: 12, t: 30, b: 40 }, 
    xaxis: axis(colour, byTime ? "" : "ledger entry", { type: byTime ? "date" : "linear", nticks: narrow ? 4 : 8, ...(few && { dtick: 1 }) }),
    yaxis: axis(colour, "epsilon", { rangemode: "tozero" }),
  }));
  place.dataset.ready = across.value;
}

if (place) {
  // If all entries are of one day, the horizontal axis shows entry numbers instead of times.
  const { points } = facts("steps");
  if (points.length && new Date(points.at(-1).at) - new Date(points[0].at) < DAY) across.value = "entry";
  drawSteps();
  across.addEventListener("change", drawSteps);
  document.addEventListener("themechange", drawSteps);
}

const grant = document.getElementById("grant");
const GRANT_FIELDS = { epsilon: "grant-epsilon", reason: "grant-reason", "invalid-epsilon": "grant-epsilon", "budget-too-large": "grant-epsilon" };
const EMPTY = { epsilon: "Write a number, such as 0.5.", reason: "Say why, in a few words." };

grant?.addEventListener("submit", async (event) => {
  event.preventDefault();
  clearFaults(grant);
  const inputOf = (place) => document.getElementById(GRANT_FIELDS[place] ?? "");
  const body = Object.fromEntries(["epsilon", "reason"].map((field) => [field, inputOf(field).value.trim()]));
  try {
    const empty = Object.keys(body).filter((field) => !body[field]);
    if (empty.length) throw new Faults(empty.map((field) => ({ input: inputOf(field), message: EMPTY[field] })));
    await change("POST", `/v1/datasets/${encodeURIComponent(grant.dataset.dataset)}/grants`, body);
    location.reload();
  } catch (error) {
    showFaults(grant, faultsOf(error, inputOf));
  }
});

if (grant) enable(grant);

document.getElementById("close")?.addEventListener("click", async (event) => {
  try {
    await change("POST", `/v1/datasets/${encodeURIComponent(event.target.dataset.dataset)}/close`);
    location.reload();
  } catch (error) {
    tell(document.getElementById("close-problem"), error);
  }
});
