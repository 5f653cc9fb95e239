// The cluster panel: the slider for k, and a table of centres and sizes with their intervals.
import { ask, tell } from "./api.js";
import { noteLines, number } from "./format.js";
import { curl, literal, setLines } from "./lines.js";
import { watchScroll } from "./scroll.js";

const at = (id) => document.getElementById(id);
const modelsNoise = ({ uncertainty }) => uncertainty.some((cluster) => typeof cluster.noise_probability === "number");
const QUICK = 200_000; // cells; beyond this, clusters are computed on request, not on every move of the slider

export class ClusterPanel {
  constructor(about, part) {
    Object.assign(this, { about, part, clustering: null, before: null, asked: 0, onChange: () => {} });
    at("k").addEventListener("input", () => {
      at("k-value").textContent = at("k").value;
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.offer(Number(at("k").value)), 120);
    });
  }

  // The attributes of the clusters, in their order: all but the categories.
  get attributes() {
    return this.clustering?.attributes.map((name) => this.about.named(name)) ?? [];
  }

  // How far the grid can move the centre of a cluster, for each attribute.
  shift(i) {
    return this.clustering.uncertainty[i].discretisation ?? this.clustering.discretisation.center;
  }

  // Clusters of a large grid take a while the first time (then the answer is cached), so they wait for a click.
  offer(k) {
    clearTimeout(this.waiting);
    at("k").value = k;
    at("k-value").textContent = k;
    const { cells } = this.about.plan.grid;
    if (cells <= QUICK) {
      this.load(k);
      return;
    }
    this.describe(k);
    const words = document.createElement("p");
    words.className = "help";
    words.textContent = `Clusters of ${number(cells, 9)} cells can take a minute the first time.`;
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: `Find ${k} clusters` });
    button.addEventListener("click", () => this.load(k));
    at("clusters-body").replaceChildren(words, button);
  }

  describe(k) {
    const path = this.part.path("clusters", [`k=${k}`]);
    setLines("clusters", curl(path), `clusters = client.clusters(${literal(this.about.id)}, k=${k}${this.part.python()})`);
    return path;
  }

  async load(k) {
    const mine = ++this.asked;
    const path = this.describe(k);
    at("clusters-body").setAttribute("aria-busy", "true");
    if (!this.clustering || this.about.plan.grid.cells > QUICK) {
      at("clusters-body").replaceChildren(Object.assign(document.createElement("p"), { className: "help", textContent: "Working it out …" }));
    }
    try {
      const clustering = await ask(path);
      if (mine !== this.asked) return;
      this.clustering = clustering;
      this.show();
      this.onChange();
    } catch (error) {
      if (mine !== this.asked) return;
      tell(at("clusters-body"), error);
      this.clustering = null; // those of other rows or of another k would be misread
      this.onChange();
    } finally {
      at("clusters-body").removeAttribute("aria-busy");
    }
  }

  show() {
    const { clustering } = this;
    const table = document.createElement("table");
    table.className = "compact clusters stacked";
    const titles = ["No.", "rows", ...clustering.attributes, ...(modelsNoise(clustering) ? ["noise?"] : [])];
    table.append(this.head(clustering, titles), this.body(clustering));
    for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, place) => { cell.dataset.label = titles[place]; });
    const scroll = document.createElement("div");
    scroll.className = "scroll";
    scroll.append(table);
    at("clusters-body").replaceChildren(scroll, ...this.notes(clustering));
    watchScroll(scroll);
  }

  head(clustering, titles) {
    const head = document.createElement("thead");
    const row = head.insertRow();
    titles.forEach((title, place) => {
      const cell = document.createElement("th");
      cell.scope = "col";
      if (place) cell.className = "num";
      cell.textContent = title;
      row.append(cell);
    });
    if (modelsNoise(clustering)) row.lastChild.title = "The probability that next to no rows are there";
    return head;
  }

  // Whether the method is another than a moment ago; empty if there is nothing to say.
  methodWords({ centers, method, method_reason: reason }) {
    const { before } = this;
    this.before = { method, k: centers.length };
    if (!before || before.method === method) return "";
    return `Another method than for k = ${before.k}: ${method} in place of ${before.method}.${reason ? ` ${reason}` : ""}`;
  }

  body(clustering) {
    const body = document.createElement("tbody");
    clustering.centers.forEach((centre, i) => {
      const row = body.insertRow();
      const unsure = clustering.uncertainty[i];
      row.insertCell().textContent = String(i + 1);
      this.cell(row, number(clustering.sizes[i]), unsure.size, (value) => number(value));
      centre.forEach((value, place) => {
        const attribute = this.attributes[place];
        this.cell(row, attribute.shown(value), unsure.center[place], (end) => attribute.shown(end), `± ${attribute.spread(this.shift(i)[place])}`);
      });
      if (!modelsNoise(clustering)) return;
      const cell = row.insertCell();
      cell.className = "num";
      cell.textContent = typeof unsure.noise_probability === "number" ? `${number(100 * unsure.noise_probability, 2)} %` : "–";
    });
    return body;
  }

  cell(row, value, interval, spelled, grid = "") {
    const cell = row.insertCell();
    cell.className = "num";
    const words = document.createElement("div"); // one child: on a phone it stands beside the title of its column
    words.append(value);
    cell.append(words);
    const range = document.createElement("div");
    range.className = "quiet-text";
    const end = (text) => Object.assign(document.createElement("span"), { className: "nowrap", textContent: text });
    range.append(end(spelled(interval.low)), " to ", end(spelled(interval.high)));
    words.append(range);
    if (!grid) return;
    const shift = Object.assign(document.createElement("div"), { className: "quiet-text grid-shift" });
    shift.append("grid ", end(grid));
    words.append(shift);
  }

  notes(clustering) {
    const remarks = [`Stability ${number(clustering.stability, 2)}, inertia ${number(clustering.inertia)}. Intervals at 95 % cover the noise; below each is what the grid can add at most.`];
    if (clustering.method) remarks.push(`Method: ${clustering.method}${clustering.method_reason ? `. ${clustering.method_reason}` : ""}`);
    if (!modelsNoise(clustering)) remarks.push("There is no column “noise?”, because this method cannot fill it.");
    const optional = this.attributes.filter((attribute) => attribute.keepsMissing).map(({ name }) => name);
    if (optional.length) remarks.push(`Rows without a value of ${optional.join(" or ")} are left out: they lie nowhere.`);
    if (clustering.slice) remarks.push("Distances are measured within the part that is shown.");
    const paragraphs = remarks.map((words) => {
      const line = document.createElement("p");
      line.className = "quiet-text";
      line.textContent = words;
      return line;
    });
    const words = this.methodWords(clustering);
    if (words) paragraphs.unshift(Object.assign(document.createElement("p"), { className: "notice warn-notice method-note", textContent: words }));
    const merges = (clustering.merges ?? []).map(({ clusters, probability }) =>
      `Clusters ${clusters.map((place) => place + 1).join(" and ")} may be one, with probability ${number(probability, 2)}.`);
    const warnings = [...clustering.warnings, ...merges];
    if (warnings.length) {
      const list = document.createElement("ul");
      list.className = "warnings";
      list.append(...warnings.map((words) => {
        const line = document.createElement("li");
        line.textContent = words;
        return line;
      }));
      paragraphs.push(list);
    }
    return [...paragraphs, ...noteLines(clustering)];
  }
}
