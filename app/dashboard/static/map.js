// The map panel: a heat map of two attributes, or bars of one, with the clusters on it.
import { ask, tell } from "./api.js";
import { MISSING_LABEL } from "./attribute.js";
import { axis, certainty, colours, draw, layout, plain } from "./charts.js";
import { number } from "./format.js";
import { barChart, heatChart } from "./histogram.js";
import { tileBars, tileMap } from "./tiles.js";
import { curl, literal, setLines } from "./lines.js";
import { cells, scaled, unscaled } from "./voronoi.js";

const FINEST = 128; // cells on an axis that are sent and drawn; the service sums the cells of finer grids
const MOST_TILES = 40_000; // leaves that are sent and drawn as they are; of more, neighbours are taken together
const MOST_BARS = 512;
const at = (id) => document.getElementById(id);
// The corners of a box on the map as a text; Plotly may give those on an axis of dates as texts.
const corner = (end) => (typeof end === "string" ? Date.parse(`${end.replace(" ", "T")}${end.length > 10 ? "Z" : ""}`) : end);
const keyOf = (box, axes) => (box ? [box.x0, box.x1, box.y0, box.y1].slice(0, 2 * axes).map((end) => corner(end).toPrecision(12)).join(" ") : "");

export class MapPanel {
  constructor(about, part, clusters, box) {
    Object.assign(this, { about, part, clusters, box, histogram: null, asked: 0, listening: false, outlines: new Set() });
  }

  // The attributes on the axes, the horizontal one first; a single one is shown as bars.
  get shown() {
    return [at("x-axis").value, at("y-axis").value].filter(Boolean).map((name) => this.about.named(name));
  }

  // Whether the leaves of an adaptive release are drawn as they are: categories have no line to lie on.
  get asTiles() {
    return Boolean(this.about.plan.grid.layered) && this.shown.every((attribute) => attribute.isOrdered)
      && !this.part.where.some((text) => text.endsWith(`:${MISSING_LABEL}`));
  }

  // The question that the map is drawn from: its path and its call in Python.
  question() {
    const { shown } = this;
    if (this.asTiles) {
      const most = this.about.attributes.filter((attribute) => attribute.isOrdered).length === 1 ? MOST_BARS : MOST_TILES;
      return { path: this.part.path("synopsis", [`cells=${most}`]), call: `synopsis = client.synopsis(${literal(this.about.id)}, cells=${most}${this.part.python})` };
    }
    const names = shown.map((attribute) => attribute.name).reverse(); // the last attribute varies fastest: it is the horizontal axis
    const coarse = shown.some((attribute) => attribute.isOrdered && attribute.cells > FINEST);
    const path = this.part.path("marginal", [`attributes=${names.map(encodeURIComponent).join(",")}`, ...(coarse ? [`cells=${FINEST}`] : [])]);
    return { path, call: `histogram = client.marginal(${literal(this.about.id)}, ${literal(names)}${coarse ? `, cells=${FINEST}` : ""}${this.part.python})` };
  }

  async load() {
    const mine = ++this.asked;
    const { shown } = this;
    const { path, call } = this.question();
    setLines("map", curl(path), call);
    try {
      const histogram = await ask(path);
      if (mine !== this.asked) return;
      Object.assign(this, { histogram, drawn: shown });
      tell(at("problem"), null);
      await this.draw();
    } catch (error) {
      if (mine === this.asked) tell(at("problem"), error);
    }
  }

  async draw() {
    if (!this.histogram) return;
    const colour = colours();
    const place = at("map");
    const narrow = place.clientWidth < 500;
    const flat = this.drawn.length === 1;
    const chart = this.chart(colour, !narrow);
    Object.assign(this, { blocks: chart.blocks, heights: chart.heights ?? this.histogram.counts, tileWords: chart.words });
    const traces = [...chart.traces, ...this.borders(colour), ...this.centres(colour)];
    await draw(place, traces, layout(colour, {
      margin: { l: narrow ? 44 : 60, r: narrow ? 4 : 16, t: 8, b: 48 }, dragmode: "select", selectdirection: flat ? "h" : "any",
      newselection: { line: { color: colour.ordered, width: 2, dash: "solid" } },
      activeselection: { fillcolor: colour.ordered, opacity: 0.12 },
      selections: this.selection(colour), shapes: this.regions(colour),
      ...(flat ? { yaxis: axis(colour, "noisy count", { fixedrange: true }) } : {}), ...chart.axes,
    }));
    this.listen(place);
    this.words();
    place.dataset.ready = String(this.clusters.clustering?.centers.length ?? 0);
    place.dataset.axes = this.drawn.map((attribute) => attribute.name).join(" ");
    place.dataset.part = this.part.where.join(" ");
  }

  chart(colour, showscale) {
    const flat = this.drawn.length === 1;
    if (this.histogram.layers) return (flat ? tileBars : tileMap)(colour, this.drawn, this.histogram, showscale);
    return flat ? barChart(colour, this.drawn[0], this.histogram) : heatChart(colour, this.drawn, this.histogram, showscale);
  }

  listen(place) {
    if (this.listening) return;
    this.listening = true;
    place.on("plotly_selected", (event) => {
      if (!event?.range || this.outlines.has(keyOf(event.selections?.[0], this.drawn.length))) return; // Plotly reports outlines that move as well
      this.outlines.clear();
      this.drawn.forEach((attribute, i) => {
        const letter = i === 0 ? "x" : "y";
        const isOwn = !this.blocks[i].ticks || !attribute.isOrdered; // else the part has missing values alone
        if (event.range[letter] && isOwn) this.box.drag(attribute, event.range[letter]);
        else this.box.choose(attribute, [MISSING_LABEL]);
      });
      this.box.countDragged();
    });
  }

  // The cluster centres as positions on this chart, largest cluster first; none on an axis that has no distances.
  placed() {
    const clusters = this.clusters.clustering;
    const places = this.drawn.map((attribute) => clusters?.attributes.indexOf(attribute.name) ?? -1);
    if (places.includes(-1) || this.blocks.some((block) => block.ticks)) return [];
    const interval = (attribute, { low, high }) => ({ low: attribute.at(low), high: attribute.at(high), words: `${attribute.shown(low)} to ${attribute.shown(high)}` });
    return clusters.centers.map((centre, i) => ({
      label: String(i + 1), size: clusters.sizes[i], whole: this.clusters.attributes.map((attribute, x) => attribute.at(centre[x])),
      values: places.map((place, x) => this.drawn[x].at(centre[place])), texts: places.map((place, x) => this.drawn[x].shown(centre[place])),
      grids: places.map((place, x) => this.drawn[x].spread(this.clusters.shift(i)[place])),
      intervals: places.map((place, x) => interval(this.drawn[x], clusters.uncertainty[i].center[place])),
    }));
  }

  centres(colour) {
    const placed = this.placed();
    const flat = this.drawn.length === 1;
    const top = flat ? Math.max(...this.heights) : 0;
    return [{
      mode: "markers+text", x: placed.map((cluster) => cluster.values[0]), y: placed.map((cluster) => (flat ? top : cluster.values[1])),
      text: placed.map((cluster) => cluster.label), textfont: { color: colour.ink, size: 12 }, name: "centres",
      marker: { size: 22, color: colour.surface, line: { color: colour.ordered, width: 2.5 } },
      hovertemplate: placed.map((cluster) => `cluster ${cluster.label}, about ${number(cluster.size)} rows<br>` +
        this.drawn.map((attribute, i) => `${plain(attribute.name)} ${cluster.texts[i]} (${cluster.intervals[i].words}; grid ± ${cluster.grids[i]})`).join("<br>") +
        "<extra></extra>"),
      selected: { marker: { opacity: 1 }, textfont: { color: colour.ink } },
      unselected: { marker: { opacity: 1 }, textfont: { color: colour.ink } },
    }];
  }

  regions(colour) {
    if (!at("show-regions").checked) return [];
    const flat = this.drawn.length === 1;
    return this.placed().map((cluster) => ({
      type: "rect", x0: cluster.intervals[0].low, x1: cluster.intervals[0].high,
      ...(flat ? { yref: "paper", y0: 0, y1: 1 } : { y0: cluster.intervals[1].low, y1: cluster.intervals[1].high }),
      line: { color: colour.ordered, width: 1.5 }, fillcolor: colour.ordered, opacity: 0.3, layer: "above",
    }));
  }

  // The plane in which boundaries are drawn: all other attributes are fixed at the mean of the clusters. Distances are
  // measured within `span`: the bounds or, of a part, its own.
  plane() {
    const clusters = this.clusters.clustering;
    const weights = clusters.sizes.map((size) => Math.max(0, size));
    const total = weights.reduce((a, b) => a + b, 0) || 1;
    return this.clusters.attributes.map((attribute, x) => ({
      attribute, shown: this.drawn.includes(attribute),
      span: (clusters.slice?.[attribute.name] && attribute.spanOf(clusters.slice[attribute.name])) ?? [attribute.start, attribute.stop],
      value: clusters.centers.reduce((sum, centre, i) => sum + (weights[i] / total) * attribute.at(centre[x]), 0),
    }));
  }

  get hasBorders() {
    return at("show-borders").checked && this.drawn.length === 2 && this.placed().length > 1;
  }

  borders(colour) {
    if (!this.hasBorders) return [];
    const plane = this.plane();
    const [across, up] = this.drawn.map((attribute) => plane.find((other) => other.attribute === attribute).span);
    const points = this.placed().map((cluster) => ({
      x: scaled(cluster.values[0], across), y: scaled(cluster.values[1], up),
      off: plane.reduce((sum, other, place) => (other.shown ? sum
        : sum + (scaled(other.value, other.span) - scaled(cluster.whole[place], other.span)) ** 2), 0),
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
    const dash = plane.length > 2 ? "dash" : "solid";
    return [{ mode: "lines", x: xs, y: ys, line: { color: colour.ink, width: 1, dash }, opacity: 0.6, hoverinfo: "skip", name: "boundaries" }];
  }

  selection(colour) {
    const ends = this.drawn.map((attribute) => this.box.ends(attribute));
    if (!this.box.drawable || ends.every((pair) => pair === null)) return [];
    const [x, y] = this.blocks.map(({ edges }, i) => ends[i] ?? [edges[0], edges.at(-1)]);
    const vertical = y ? { y0: y[0], y1: y[1] } : { y0: Math.min(0, ...this.heights), y1: Math.max(...this.heights) };
    const outline = { type: "rect", xref: "x", yref: "y", x0: x[0], x1: x[1], ...vertical, line: { color: colour.ordered, width: 2, dash: "solid" } };
    this.outlines.add(keyOf(outline, this.drawn.length));
    return [outline];
  }

  // What is drawn, and how sure it is.
  drawnWords() {
    if (this.histogram.layers) {
      const { leaf } = this.histogram.layers;
      const all = number(this.histogram.grid.leaves, 9);
      const cells = leaf.summed ? `${all} leaves, neighbours taken together to ${number(leaf.counts.length, 9)} cells` : `All ${all} leaves as they are`;
      return `${cells}: small where rows are many. ${this.tileWords} Point at one for its range, its rows and their 95 % interval.`;
    }
    const sure = certainty(this.histogram);
    if (sure.words) return `Noisy counts as drawn; each is within ${sure.words} of the true one with 95 % probability.`;
    if (this.about.plan.threshold === null) return "Estimates from the noisy counts of all layers. Point at a cell for what its rows lie between with 95 % probability.";
    return `Sums of noisy counts of at least ${this.about.plan.threshold}: smaller ones were not released. Point at a cell for its bounds.`;
  }

  words() {
    const sentences = [this.drawnWords()];
    const summed = [this.histogram.cells_summed ?? 1].flat();
    if (Math.max(...summed) > 1) {
      const [across, up] = this.drawn.map((_, i) => summed.at(-1 - i) ?? summed[0]);
      sentences.push(`Each ${up ? "square" : "bar"} sums up to ${across}${up ? ` × ${up}` : ""} cells of the grid.`);
    }
    const centred = this.placed().length > 0;
    if (this.about.attributes.length > this.drawn.length) {
      sentences.push(`Counts are summed over the attributes that are not shown${centred ? "; centres and their intervals are seen along those axes" : ""}.`);
    }
    if (this.hasBorders) {
      const others = this.plane().filter((other) => !other.shown).map(({ attribute, value }) => `${attribute.name} = ${attribute.shown(attribute.back(value))}`);
      sentences.push(others.length ? `Dashed boundaries are exact in the slice where ${others.join(", ")}; elsewhere they lie elsewhere.`
        : "Lines separate what is nearest to each centre.");
    }
    if (centred && at("show-regions").checked) sentences.push("Rectangles are 95 % intervals of each coordinate, from the noise alone; point at a centre for what the grid can add.");
    if (this.histogram.attributes.some((wireAxis) => wireAxis.missing)) sentences.push("Rows without a value are apart.");
    at("map-words").textContent = sentences.join(" ");
  }
}
