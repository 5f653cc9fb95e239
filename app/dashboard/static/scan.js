// The comparison of several k: inertia and stability of each, and which k the service recommends. It is asked on request,
// because it takes long on large grids.
import { ask, tell } from "./api.js";
import { axis, colours, draw, layout } from "./charts.js";
import { noteLines, number, textTable } from "./format.js";
import { curl, literal, setLines } from "./lines.js";
import { watchScroll } from "./scroll.js";

const MOST = 20; // clusters, of the slider
const at = (id) => document.getElementById(id);
const paragraph = (words, name) => Object.assign(document.createElement("p"), { textContent: words, className: name });

export class ScanPanel {
  constructor(about, part) {
    Object.assign(this, { about, part, answer: null, asked: 0, onTake: () => {} });
    at("scan-from").value = 2;
    at("scan-to").value = Math.min(MOST, Math.max(8, 2 * about.plan.order.clusters));
    at("scan").addEventListener("submit", (event) => { event.preventDefault(); this.load(); });
    at("scan").addEventListener("input", () => this.describe());
    this.describe();
  }

  get ends() {
    return [at("scan-from"), at("scan-to")].map(({ value }) => (/^\s*\d{1,2}\s*$/.test(value) ? Number(value) : NaN));
  }

  get isRange() {
    const [from, to] = this.ends;
    return from >= 1 && to >= from && to <= MOST;
  }

  describe() {
    const [from, to] = this.ends;
    const path = this.part.path("clusters/scan", [`k=${from}..${to}`]);
    if (this.isRange) setLines("scan", curl(path), `scan = client.scan_clusters(${literal(this.about.id)}, ${from}, ${to}${this.part.python()})`);
    return path;
  }

  // Another part of the rows is shown: what was compared before is not about it.
  reset() {
    this.asked += 1;
    this.answer = null;
    this.describe();
    at("scan-chart").hidden = true;
    at("scan-body").replaceChildren();
    at("scan-table").replaceChildren();
  }

  async load() {
    this.reset();
    if (!this.isRange) {
      tell(at("scan-body"), new Error(`Write two whole numbers, the first at least 1, the second not below it and at most ${MOST}.`));
      at("scan-from").focus();
      return;
    }
    const mine = ++this.asked;
    at("scan-body").replaceChildren(paragraph("Working it out …", "help"));
    try {
      const answer = await ask(this.describe());
      if (mine !== this.asked) return;
      this.answer = answer;
      await this.show();
    } catch (error) {
      if (mine === this.asked) tell(at("scan-body"), error);
    }
  }

  async show() {
    const { answer } = this;
    at("scan-body").replaceChildren(...this.advice(answer), ...noteLines(answer));
    const table = textTable(["k", "Inertia", "Stability"], answer.scan.map(({ k, inertia, stability }) => [String(k), number(inertia), number(stability)]));
    table.classList.add("scan-table");
    const scroll = Object.assign(document.createElement("div"), { className: "scroll" });
    scroll.append(table);
    const more = document.createElement("details");
    more.append(Object.assign(document.createElement("summary"), { textContent: "The numbers" }), scroll);
    at("scan-table").replaceChildren(more);
    watchScroll(scroll);
    at("scan-chart").hidden = false;
    await this.draw();
  }

  // The recommended k in words, with a button to take it. Of a service that recommends none, how to read the chart.
  advice({ recommended, method, method_reason: reason }) {
    const words = [paragraph(`Inertia falls with every k: look for the bend after which it falls slowly, at a stability near 1. Method of the comparison: ${method}. ${reason}`, "quiet-text")];
    if (!recommended) return words;
    const box = Object.assign(document.createElement("div"), { className: "advice" });
    box.append(paragraph(`k = ${recommended.k} is recommended. ${recommended.reason}`, ""));
    const take = Object.assign(document.createElement("button"), { type: "button", className: "small", textContent: `Take k = ${recommended.k}` });
    take.addEventListener("click", () => this.onTake(recommended.k));
    if (recommended.k <= MOST) box.append(take);
    return [box, ...words];
  }

  async draw() {
    if (!this.answer) return;
    const colour = colours();
    const { scan, recommended } = this.answer;
    const line = (name, tone, dash, more) => ({
      mode: "lines+markers", name, x: scan.map(({ k }) => k), y: scan.map((entry) => entry[name]), line: { color: tone, width: 2, dash },
      marker: { size: scan.map(({ k }) => (k === recommended?.k ? 12 : 7)), color: tone }, hovertemplate: `k = %{x}<br>${name} %{y:.3~g}<extra></extra>`, ...more,
    });
    const plain = { fixedrange: true, rangemode: "tozero" };
    await draw(at("scan-chart"), [line("inertia", colour.accent, "solid"), line("stability", colour.ordered, "dot", { yaxis: "y2" })], layout(colour, {
      margin: { l: 60, r: 60, t: 8, b: 44 }, xaxis: axis(colour, "k", { dtick: scan.length > 12 ? 2 : 1, fixedrange: true, showgrid: false }),
      yaxis: axis(colour, "inertia", plain), yaxis2: axis(colour, "stability (dotted)", { ...plain, overlaying: "y", side: "right", range: [0, 1.05], tickmode: "linear", dtick: 0.25, showgrid: false }),
    }));
    at("scan-chart").dataset.ready = scan.map(({ k }) => k).join(" ");
  }
}
