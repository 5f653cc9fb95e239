// The heat map of two attributes with the clusters on it; of a release with one attribute, its bars.
import { ask, tell } from "./api.js";
import { axis, certainty, colours, draw, layout, plain } from "./charts.js";
import { inUnits, number } from "./format.js";
import { curl, literal, setLines } from "./lines.js";
import { cells, scaled, unscaled } from "./voronoi.js";

const FINEST = 128; // cells on an axis that are sent and drawn; finer grids are summed up by the service
const at = (id) => document.getElementById(id);

export class MapPanel {
  constructor(about, clusters, box) {
    Object.assign(this, { about, clusters, box, found: null, asked: 0, listening: false });
  }

  get shown() {
    const names = this.about.attributes.length === 1 ? [at("x-axis").value] : [at("x-axis").value, at("y-axis").value];
    return names.map((name) => this.about.attributes.find((attribute) => attribute.name === name));
  }

  async load() {
    const mine = ++this.asked;
    const names = this.shown.map((attribute) => attribute.name).reverse(); // the last one varies fastest: across
    const coarse = this.about.plan.grid.cells_per_axis > FINEST;
    const query = `attributes=${names.map(encodeURIComponent).join(",")}${coarse ? `&cells=${FINEST}` : ""}`;
    const path = `/v1/releases/${this.about.id}/marginal?${query}`;
    setLines("map", curl(path), `histogram = client.marginal(${literal(this.about.id)}, ${literal(names)}${coarse ? `, cells=${FINEST}` : ""})`);
    try {
      const found = await ask(path);
      if (mine !== this.asked) return;
      this.found = found;
      await this.draw();
    } catch (error) {
      tell(at("problem"), error);
    }
  }

  async draw() {
    if (!this.found) return;
    const colour = colours();
    const flat = this.shown.length === 1;
    const traces = flat ? this.bars(colour) : this.heat(colour);
    const place = at("map");
    const narrow = place.clientWidth < 500;
    const [across, up] = this.shown;
    await draw(place, traces, layout(colour, {
      margin: { l: narrow ? 44 : 60, r: narrow ? 4 : 16, t: 8, b: 48 }, dragmode: "select", selectdirection: flat ? "h" : "any",
      newselection: { line: { color: colour.ordered, width: 2, dash: "solid" } },
      activeselection: { fillcolor: colour.ordered, opacity: 0.12 },
      selections: this.selection(colour), shapes: this.regions(colour),
      xaxis: axis(colour, across.name, { range: [across.lower, across.upper], fixedrange: true, showgrid: flat }),
      yaxis: flat ? axis(colour, "noisy count", { fixedrange: true })
        : axis(colour, up.name, { range: [up.lower, up.upper], fixedrange: true, showgrid: false }),
    }));
    this.listen(place);
    this.words();
    place.dataset.ready = String(this.clusters.found?.centers.length ?? 0);
    place.dataset.axes = this.shown.map((attribute) => attribute.name).join(" ");
  }

  listen(place) {
    if (this.listening) return;
    this.listening = true;
    place.on("plotly_selected", (event) => {
      const range = event?.range;
      if (!range) return;
      this.shown.forEach((attribute, number_) => {
        const [one, other] = range[number_ === 0 ? "x" : "y"];
        const ends = [Math.min(one, other), Math.max(one, other)].map((value) => Math.min(attribute.upper, Math.max(attribute.lower, value)));
        this.box.set(attribute, ends.map((value) => inUnits(value, attribute)));
      });
      this.box.count();
    });
  }

  heat(colour) {
    const [across, up] = [...this.found.attributes].reverse();
    const most = this.found.counts.reduce((high, row) => row.reduce((a, b) => Math.max(a, b), high), 1);
    const sure = certainty(this.found);
    return [{
      type: "heatmap", x: across.edges, y: up.edges, z: this.found.counts, zmin: 0, zmax: most, colorscale: colour.heat,
      hovertemplate: `${plain(across.name)} %{x}<br>${plain(up.name)} %{y}<br>noisy count %{z} ${sure.hover}<extra></extra>`, customdata: sure.customdata,
      colorbar: { thickness: 10, outlinewidth: 0, tickfont: { color: colour.soft, size: 11 }, len: 0.9, nticks: 5 },
      showscale: at("map").clientWidth > 500,
    }, ...this.borders(colour), ...this.centres(colour)];
  }

  bars(colour) {
    const [{ edges, name }] = this.found.attributes;
    const widths = edges.slice(1).map((edge, i) => edge - edges[i]);
    const sure = certainty(this.found);
    return [{
      type: "bar", x: widths.map((width, i) => edges[i] + width / 2), y: this.found.counts, width: widths,
      marker: { color: colour.accent, line: { width: 0 } },
      hovertemplate: `${plain(name)} %{x}<br>noisy count %{y} ${sure.hover}<extra></extra>`, customdata: sure.customdata,
    }, ...this.centres(colour)];
  }

  // The centres of the clusters in this picture's units, largest cluster first.
  placed() {
    const clusters = this.clusters.found;
    if (!clusters) return [];
    const places = this.shown.map((attribute) => clusters.attributes.indexOf(attribute.name));
    return clusters.centers.map((centre, i) => ({
      label: String(i + 1), size: clusters.sizes[i], whole: centre, values: places.map((place) => centre[place]),
      intervals: places.map((place) => clusters.uncertainty[i].center[place]),
    }));
  }

  centres(colour) {
    const placed = this.placed();
    const flat = this.shown.length === 1;
    const top = flat ? Math.max(...this.found.counts) : 0;
    return [{
      mode: "markers+text", x: placed.map((one) => one.values[0]), y: placed.map((one) => (flat ? top : one.values[1])),
      text: placed.map((one) => one.label), textfont: { color: colour.ink, size: 12 }, name: "centres",
      marker: { size: 22, color: colour.surface, line: { color: colour.ordered, width: 2.5 } },
      hovertemplate: placed.map((one) => `cluster ${one.label}, about ${number(one.size)} rows<br>` +
        this.shown.map((attribute, i) => `${plain(attribute.name)} ${number(one.values[i], 4)} (${number(one.intervals[i].low, 4)} to ${number(one.intervals[i].high, 4)})`).join("<br>") +
        "<extra></extra>"),
      selected: { marker: { opacity: 1 }, textfont: { color: colour.ink } },
      unselected: { marker: { opacity: 1 }, textfont: { color: colour.ink } },
    }];
  }

  regions(colour) {
    if (!at("show-regions").checked) return [];
    const flat = this.shown.length === 1;
    return this.placed().map((one) => ({
      type: "rect", x0: one.intervals[0].low, x1: one.intervals[0].high,
      ...(flat ? { yref: "paper", y0: 0, y1: 1 } : { y0: one.intervals[1].low, y1: one.intervals[1].high }),
      line: { color: colour.ordered, width: 1.5 }, fillcolor: colour.ordered, opacity: 0.3, layer: "above",
    }));
  }

  // Other attributes than the two shown, at the mean of the clusters: the slice that the boundaries are drawn in.
  slice() {
    const { attributes } = this.about;
    const clusters = this.clusters.found;
    const weights = clusters.sizes.map((size) => Math.max(0, size));
    const total = weights.reduce((a, b) => a + b, 0) || 1;
    return attributes.map((attribute, place) => ({
      attribute, shown: this.shown.includes(attribute),
      value: clusters.centers.reduce((sum, centre, i) => sum + (weights[i] / total) * centre[place], 0),
    }));
  }

  borders(colour) {
    if (!at("show-borders").checked || !this.clusters.found || this.clusters.found.centers.length < 2) return [];
    const [across, up] = this.shown;
    const slice = this.slice();
    const points = this.placed().map((one) => ({
      x: scaled(one.values[0], across), y: scaled(one.values[1], up),
      off: slice.reduce((sum, other, place) => (other.shown ? sum
        : sum + (scaled(other.value, other.attribute) - scaled(one.whole[place], other.attribute)) ** 2), 0),
    }));
    const xs = [];
    const ys = [];
    for (const polygon of cells(points)) {
      for (const [u, v] of [...polygon, ...polygon.slice(0, 1)]) {
        xs.push(unscaled(u, across));
        ys.push(unscaled(v, up));
      }
      xs.push(null);
      ys.push(null);
    }
    const dash = this.about.attributes.length > 2 ? "dash" : "solid";
    return [{ mode: "lines", x: xs, y: ys, line: { color: colour.ink, width: 1, dash }, opacity: 0.6, hoverinfo: "skip", name: "boundaries" }];
  }

  selection(colour) {
    const ends = this.shown.map((attribute) => this.box.ends(attribute));
    if (!this.box.drawable || ends.every((pair) => pair === null)) return [];
    const [x, y] = this.shown.map((attribute, i) => ends[i] ?? [attribute.lower, attribute.upper]);
    const vertical = y ? { y0: y[0], y1: y[1] } : { y0: Math.min(0, ...this.found.counts), y1: Math.max(...this.found.counts) };
    return [{ type: "rect", xref: "x", yref: "y", x0: x[0], x1: x[1], ...vertical, line: { color: colour.ordered, width: 2, dash: "solid" } }];
  }

  words() {
    const sure = certainty(this.found);
    const told = [sure.words ? `Noisy counts as drawn; each is within ${sure.words} of the true one with 95 % probability.`
      : `Sums of noisy counts of at least ${this.about.plan.threshold}: smaller ones were not released. Point at a cell for its bounds.`];
    if (this.found.cells_summed > 1) told.push(`Each square sums up to ${this.found.cells_summed} × ${this.found.cells_summed} cells of the grid.`);
    if (this.about.attributes.length > 2) {
      told.push("Counts are summed over the attributes that are not shown; centres and their intervals are seen along those axes.");
      if (this.clusters.found && at("show-borders").checked) {
        const others = this.slice().filter((other) => !other.shown).map((other) => `${other.attribute.name} = ${number(other.value, 4)}`);
        told.push(`Dashed boundaries are exact in the slice where ${others.join(", ")}; elsewhere they lie elsewhere.`);
      }
    } else if (this.about.attributes.length === 2 && at("show-borders").checked) told.push("Lines separate what is nearest to each centre.");
    if (at("show-regions").checked) told.push("Rectangles are 95 % intervals of each coordinate, from the noise alone.");
    at("map-words").textContent = told.join(" ");
  }
}

