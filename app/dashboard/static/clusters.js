// k clusters: the slider, the numbers, and what noise leaves certain of each.
import { ask, tell } from "./api.js";
import { number, shown } from "./format.js";
import { curl, literal, setLines } from "./lines.js";
import { watchScroll } from "./scroll.js";

const at = (id) => document.getElementById(id);
const QUICK = 200_000; // cells; beyond this, clusters are worked out when they are asked for, not on every move of k

export class ClusterPanel {
  constructor(about) {
    Object.assign(this, { about, found: null, asked: 0, onChange: () => {} });
    at("k").addEventListener("input", () => {
      at("k-value").textContent = at("k").value;
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.offer(Number(at("k").value)), 120);
    });
    for (const id of ["show-regions", "show-borders"]) at(id).addEventListener("change", () => this.onChange());
  }

  // A large grid takes a while, once: the answer is kept. So the reader says when.
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
    const path = `/v1/releases/${this.about.id}/clusters?k=${k}`;
    setLines("clusters", curl(path), `clusters = client.clusters(${literal(this.about.id)}, k=${k})`);
    return path;
  }

  async load(k) {
    const mine = ++this.asked;
    const path = this.describe(k);
    at("clusters-body").setAttribute("aria-busy", "true");
    if (!this.found || this.about.plan.grid.cells > QUICK) {
      at("clusters-body").replaceChildren(Object.assign(document.createElement("p"), { className: "help", textContent: "Working it out …" }));
    }
    try {
      const found = await ask(path);
      if (mine !== this.asked) return;
      this.found = found;
      this.show();
      this.onChange();
    } catch (error) {
      if (mine === this.asked) tell(at("clusters-body"), error);
    } finally {
      at("clusters-body").removeAttribute("aria-busy");
    }
  }

  show() {
    const { found } = this;
    const table = document.createElement("table");
    table.className = "compact clusters";
    table.append(this.head(found), this.body(found));
    const scroll = document.createElement("div");
    scroll.className = "scroll";
    scroll.append(table);
    at("clusters-body").replaceChildren(scroll, ...this.notes(found));
    watchScroll(scroll);
  }

  head(found) {
    const head = document.createElement("thead");
    const row = head.insertRow();
    const titles = ["", "rows", ...found.attributes];
    if (this.tellsNoise(found)) titles.push("noise?");
    titles.forEach((title, place) => {
      const cell = document.createElement("th");
      cell.scope = "col";
      if (place) cell.className = "num";
      cell.textContent = title || "No.";
      row.append(cell);
    });
    return head;
  }

  // Only some methods give a probability that a cluster is noise: without one, no column.
  tellsNoise(found) {
    return found.uncertainty.some((one) => typeof one.noise_probability === "number");
  }

  body(found) {
    const body = document.createElement("tbody");
    found.centers.forEach((centre, i) => {
      const row = body.insertRow();
      const unsure = found.uncertainty[i];
      row.insertCell().textContent = String(i + 1);
      this.cell(row, number(found.sizes[i]), unsure.size, (value) => number(value));
      centre.forEach((value, place) => {
        const attribute = this.about.attributes.find((one) => one.name === found.attributes[place]);
        this.cell(row, shown(value, attribute), unsure.center[place], (end) => shown(end, attribute));
      });
      if (this.tellsNoise(found)) {
        const cell = row.insertCell();
        cell.className = "num";
        cell.textContent = typeof unsure.noise_probability === "number" ? `${number(100 * unsure.noise_probability, 2)} %` : "–";
      }
    });
    return body;
  }

  cell(row, value, interval, words) {
    const cell = row.insertCell();
    cell.className = "num";
    cell.append(value);
    const range = document.createElement("div");
    range.className = "quiet-text";
    range.textContent = `${words(interval.low)} to ${words(interval.high)}`;
    cell.append(range);
  }

  notes(found) {
    const told = [`Stability ${number(found.stability, 2)}, inertia ${number(found.inertia)}. Intervals at 95 %, from the noise alone.`];
    if (found.method) told.push(`Method: ${found.method}${found.method_reason ? `. ${found.method_reason}` : ""}`);
    const paragraphs = told.map((words) => {
      const line = document.createElement("p");
      line.className = "quiet-text";
      line.textContent = words;
      return line;
    });
    const merges = (found.merges ?? []).map(({ clusters, probability }) =>
      `Clusters ${clusters.map((place) => place + 1).join(" and ")} may be one, with probability ${number(probability, 2)}.`);
    const warnings = [...found.warnings, ...merges];
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
    return paragraphs;
  }
}
