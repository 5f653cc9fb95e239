// The map panel: a heat map of two attributes with the clusters on it; a bar chart if the release has one attribute.
import { ask, tell } from "./api.js";
import { axis, certainty, colours, draw, layout, plain } from "./charts.js";
import { inUnits, number } from "./format.js";
import { curl, literal, setLines } from "./lines.js";
import { cells, scaled, unscaled } from "./voronoi.js";

const FINEST = 128; // cells on an axis that are sent and drawn; the service sums the cells of finer grids
const at = (id) => document.getElementById(id);

export class MapPanel {
  constructor(about, clusters, box) {
    Object.assign(this, { about, clusters, box, histogram: null, asked: 0, listening: false });
  }

  get shown() {
    const names = this.about.attributes.length === 1 ? [at("x-axis").value] : [at("x-axis").value, at("y-axis").value];
    return names.map((name) => this.about.attributes.find((attribute) => attribute.name === name));
  }

  async load() {
    const mine = ++this.asked;
    const names = this.shown.map((attribute) => attribute.name).reverse(); // the last attribute varies fastest: it is the horizontal axis
    const coarse = this.about.plan.grid.cells_per_axis > FINEST;
    const query = `attributes=${names.map(encodeURIComponent).join(",")}${coarse ? `&cells=${FINEST}` : ""}`;
    const path = `/v1/releases/${this.about.id}/marginal?${query}`;
    setLines("map", curl(path), `histogram = client.marginal(${literal(this.about.id)}, ${literal(names)}${coarse ? `, cells=${FINEST}` : ""})`);
    try {
      const histogram = await ask(path);
      if (mine !== this.asked) return;
      this.histogram = histogram;
      await this.draw();
    } catch (error) {
      tell(at("problem"), error);
    }
  }

  async draw() {
    if (!this.histogram) return;
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
    place.dataset.ready = String(this.clusters.clustering?.centers.length ?? 0);
    place.dataset.axes = this.shown.map((attribute) => attribute.name).join(" ");
  }

  listen(place) {
    if (this.listening) return;
    this.listening = true;
    place.on("plotly_selected", (event) => {
      const range = event?.range;
      if (!range) return;
      this.shown.forEach((attribute, number_) => {
        const [start, end] = range[number_ === 0 ? "x" : "y"];
        const ends = [Math.min(start, end), Math.max(start, end)].map((value) => Math.min(attribute.upper, Math.max(attribute.lower, value)));
        this.box.set(attribute, ends.map((value) => inUnits(value, attribute)));
      });
      this.box.count();
    });
  }

  heat(colour) {
    const [across, up] = [...this.histogram.attributes].reverse();
    const most = this.histogram.counts.reduce((high, row) => row.reduce((a, b) => Math.max(a, b), high), 1);
    const sure = certainty(this.histogram);
    return [{
      type: "heatmap", x: across.edges, y: up.edges, z: this.histogram.counts, zmin: 0, zmax: most, colorscale: colour.heat,
      hovertemplate: `${plain(across.name)} %{x}<br>${plain(up.name)} %{y}<br>noisy count %{z} ${sure.hover}<extra></extra>`, customdata: sure.customdata,
      colorbar: { thickness: 10, outlinewidth: 0, tickfont: { color: colour.soft, size: 11 }, len: 0.9, nticks: 5 },
      showscale: at("map").clientWidth > 500,
    }, ...this.borders(colour), ...this.centres(colour)];
  }

  bars(colour) {
    const [{ edges, name }] = this.histogram.attributes;
    const widths = edges.slice(1).map((edge, i) => edge - edges[i]);
    const sure = certainty(this.histogram);
    return [{
      type: "bar", x: widths.map((width, i) => edges[i] + width / 2), y: this.histogram.counts, width: widths,
      marker: { color: colour.accent, line: { width: 0 } },
      hovertemplate: `${plain(name)} %{x}<br>noisy count %{y} ${sure.hover}<extra></extra>`, customdata: sure.customdata,
    }, ...this.centres(colour)];
  }

  // The cluster centres in the units of this chart, largest cluster first.
  placed() {
    const clusters = this.clusters.clustering;
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
    const top = flat ? Math.max(...this.histogram.counts) : 0;
    return [{
      mode: "markers+text", x: placed.map((cluster) => cluster.values[0]), y: placed.map((cluster) => (flat ? top : cluster.values[1])),
      text: placed.map((cluster) => cluster.label), textfont: { color: colour.ink, size: 12 }, name: "centres",
      marker: { size: 22, color: colour.surface, line: { color: colour.ordered, width: 2.5 } },
      hovertemplate: placed.map((cluster) => `cluster ${cluster.label}, about ${number(cluster.size)} rows<br>` +
        this.shown.map((attribute, i) => `${plain(attribute.name)} ${number(cluster.values[i], 4)} (${number(cluster.intervals[i].low, 4)} to ${number(cluster.intervals[i].high, 4)})`).join("<br>") +
        "<extra></extra>"),
      selected: { marker: { opacity: 1 }, textfont: { color: colour.ink } },
      unselected: { marker: { opacity: 1 }, textfont: { color: colour.ink } },
    }];
  }

  regions(colour) {
    if (!at("show-regions").checked) return [];
    const flat = this.shown.length === 1;
    return this.placed().map((cluster) => ({
      type: "rect", x0: cluster.intervals[0].low, x1: cluster.intervals[0].high,
      ...(flat ? { yref: "paper", y0: 0, y1: 1 } : { y0: cluster.intervals[1].low, y1: cluster.intervals[1].high }),
      line: { color: colour.ordered, width: 1.5 }, fillcolor: colour.ordered, opacity: 0.3, layer: "above",
    }));
  }

  // The slice in which boundaries are drawn: all other attributes are fixed at the mean of the clusters.
  slice() {
    const { attributes } = this.about;
    const clusters = this.clusters.clustering;
    const weights = clusters.sizes.map((size) => Math.max(0, size));
    const total = weights.reduce((a, b) => a + b, 0) || 1;
    return attributes.map((attribute, place) => ({
      attribute, shown: this.shown.includes(attribute),
      value: clusters.centers.reduce((sum, centre, i) => sum + (weights[i] / total) * centre[place], 0),
    }));
  }

  borders(colour) {
    if (!at("show-borders").checked || !this.clusters.clustering || this.clusters.clustering.centers.length < 2) return [];
    const [across, up] = this.shown;
    const slice = this.slice();
    const points = this.placed().map((cluster) => ({
      x: scaled(cluster.values[0], across), y: scaled(cluster.values[1], up),
      off: slice.reduce((sum, other, place) => (other.shown ? sum
        : sum + (scaled(other.value, other.attribute) - scaled(cluster.whole[place], other.attribute)) ** 2), 0),
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
    const vertical = y ? { y0: y[0], y1: y[1] } : { y0: Math.min(0, ...this.histogram.counts), y1: Math.max(...this.histogram.counts) };
    return [{ type: "rect", xref: "x", yref: "y", x0: x[0], x1: x[1], ...vertical, line: { color: colour.ordered, width: 2, dash: "solid" } }];
  }

  words() {
    const sure = certainty(this.histogram);
    const sentences = [sure.words ? `Noisy counts as drawn; each is within ${sure.words} of the true one with 95 % probability.`
      : `Sums of noisy counts of at least ${this.about.plan.threshold}: smaller ones were not released. Point at a cell for its bounds.`];
    if (this.histogram.cells_summed > 1) sentences.push(`Each square sums up to ${this.histogram.cells_summed} × ${this.histogram.cells_summed} cells of the grid.`);
    if (this.about.attributes.length > 2) {
      sentences.push("Counts are summed over the attributes that are not shown; centres and their intervals are seen along those axes.");
      if (this.clusters.clustering && at("show-borders").checked) {
        const others = this.slice().filter((other) => !other.shown).map((other) => `${other.attribute.name} = ${number(other.value, 4)}`);
        sentences.push(`Dashed boundaries are exact in the slice where ${others.join(", ")}; elsewhere they lie elsewhere.`);
      }
    } else if (this.about.attributes.length === 2 && at("show-borders").checked) sentences.push("Lines separate what is nearest to each centre.");
    if (at("show-regions").checked) sentences.push("Rectangles are 95 % intervals of each coordinate, from the noise alone.");
    at("map-words").textContent = sentences.join(" ");
  }
}

