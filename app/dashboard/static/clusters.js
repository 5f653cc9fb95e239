// The cluster panel: the slider for k, and a table of centres and sizes with their intervals.
import { ask, tell } from "./api.js";
import { noteLines, number } from "./format.js";
import { curl, literal, setLines } from "./lines.js";
import { watchScroll } from "./scroll.js";

const at = (id) => document.getElementById(id);
const QUICK = 200_000; // cells; beyond this, clusters are computed on request, not on every move of the slider

export class ClusterPanel {
  constructor(about, part) {
    Object.assign(this, { about, part, clustering: null, asked: 0, onChange: () => {} });
    at("k").addEventListener("input", () => {
      at("k-value").textContent = at("k").value;
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.offer(Number(at("k").value)), 120);
    });
    for (const id of ["show-regions", "show-borders"]) at(id).addEventListener("change", () => this.onChange());
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
    setLines("clusters", curl(path), `clusters = client.clusters(${literal(this.about.id)}, k=${k}${this.part.python})`);
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
    table.className = "compact clusters";
    table.append(this.head(clustering), this.body(clustering));
    const scroll = document.createElement("div");
    scroll.className = "scroll";
    scroll.append(table);
    at("clusters-body").replaceChildren(scroll, ...this.notes(clustering));
    watchScroll(scroll);
  }

  head(clustering) {
    const head = document.createElement("thead");
    const row = head.insertRow();
    const titles = ["", "rows", ...clustering.attributes];
    if (this.hasNoiseColumn(clustering)) titles.push("noise?");
    titles.forEach((title, place) => {
      const cell = document.createElement("th");
      cell.scope = "col";
      if (place) cell.className = "num";
      cell.textContent = title || "No.";
      row.append(cell);
    });
    return head;
  }

  // Whether the method gives the probability that a cluster is noise; else there is no such column.
  hasNoiseColumn(clustering) {
    return clustering.uncertainty.some((cluster) => typeof cluster.noise_probability === "number");
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
      if (this.hasNoiseColumn(clustering)) {
        const cell = row.insertCell();
        cell.className = "num";
        cell.textContent = typeof unsure.noise_probability === "number" ? `${number(100 * unsure.noise_probability, 2)} %` : "–";
      }
    });
    return body;
  }

  cell(row, value, interval, words, grid = "") {
    const cell = row.insertCell();
    cell.className = "num";
    cell.append(value);
    const range = document.createElement("div");
    range.className = "quiet-text";
    const end = (text) => Object.assign(document.createElement("span"), { className: "nowrap", textContent: text });
    range.append(end(words(interval.low)), " to ", end(words(interval.high)));
    cell.append(range);
    if (!grid) return;
    const shift = Object.assign(document.createElement("div"), { className: "quiet-text grid-shift" });
    shift.append("grid ", end(grid));
    cell.append(shift);
  }

  notes(clustering) {
    const remarks = [`Stability ${number(clustering.stability, 2)}, inertia ${number(clustering.inertia)}. Intervals at 95 % cover the noise; below each is what the grid can add at most.`];
    if (clustering.method) remarks.push(`Method: ${clustering.method}${clustering.method_reason ? `. ${clustering.method_reason}` : ""}`);
    const optional = this.attributes.filter((attribute) => attribute.keepsMissing).map(({ name }) => name);
    if (optional.length) remarks.push(`Rows without a value of ${optional.join(" or ")} are left out: they lie nowhere.`);
    if (clustering.slice) remarks.push("Distances are measured within the part that is shown.");
    const paragraphs = remarks.map((words) => {
      const line = document.createElement("p");
      line.className = "quiet-text";
      line.textContent = words;
      return line;
    });
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
