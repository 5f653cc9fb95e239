// The map panel: a heat map of two attributes, or bars of one, with the clusters on it.
import { ask, tell } from "./api.js";
import { MISSING_LABEL } from "./attribute.js";
import { Centres } from "./centres.js";
import { axis, certainty, colours, draw, hush, keyOf, label, layout, outline, outlines } from "./charts.js";
import { number } from "./format.js";
import { barChart, heatChart } from "./histogram.js";
import { curl, literal, setLines } from "./lines.js";
import { noiseWords } from "./shade.js";
import { tileBars, tileMap } from "./tiles.js";

const FINEST = 128; // cells on an axis that are sent and drawn; the service sums the cells of finer grids
const MOST_TILES = 40_000; // leaves that are sent and drawn as they are; of more, neighbours are taken together
const MOST_BARS = 512;
const NO_CENTRES = "Labels have no distances, so a map with an axis of labels has no centres.";
const ERROR = 0.05; // of intervals that hold for all cells at once
const at = (id) => document.getElementById(id);

export class MapPanel {
  constructor(about, part, clusters, box) {
    Object.assign(this, { about, part, clusters, box, histogram: null, asked: 0, listening: false, outlines: new Set(), onRefused: () => false });
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
      return { path: this.part.path("synopsis", [`cells=${most}`]), call: `synopsis = client.synopsis(${literal(this.about.id)}, cells=${most}${this.part.python()})` };
    }
    const names = shown.map((attribute) => attribute.name).reverse(); // the last attribute varies fastest: it is the horizontal axis
    const coarse = shown.some((attribute) => attribute.isOrdered && attribute.cells > FINEST);
    const path = this.part.path("marginal", [`attributes=${names.map(encodeURIComponent).join(",")}`, ...(coarse ? [`cells=${FINEST}`] : [])]);
    return { path, call: `histogram = client.marginal(${literal(this.about.id)}, ${literal(names)}${coarse ? `, cells=${FINEST}` : ""}${this.part.python()})` };
  }

  async load() {
    const mine = ++this.asked;
    const { shown } = this;
    const { path, call } = this.question();
    setLines("map", curl(path), call);
    try {
      const histogram = await this.withIntervals(await ask(path), path);
      if (mine !== this.asked) return;
      Object.assign(this, { histogram, drawn: shown });
      tell(at("problem"), null);
      await this.draw();
    } catch (error) {
      if (mine === this.asked && !this.onRefused(error)) tell(at("problem"), error);
    }
  }

  // Leaves come with an interval for each alone. For all at once, each has to hold at a higher level (Bonferroni).
  async withIntervals(answer, path) {
    if (!answer.layers || at("noise").value !== "all") return answer;
    const { reach } = (await ask(`${path}&level=${1 - ERROR / Math.max(1, answer.layers.leaf.counts.length)}`)).layers.leaf;
    return { ...answer, layers: { ...answer.layers, leaf: { ...answer.layers.leaf, reach } } };
  }

  async draw() {
    if (!this.histogram) return;
    const colour = colours();
    const place = at("map");
    const narrow = place.clientWidth < 500;
    const flat = this.drawn.length === 1;
    const look = { showscale: !narrow, scale: at("colour").value, noise: at("noise").value };
    const chart = this.chart(colour, look);
    Object.assign(this, { blocks: chart.blocks, heights: chart.heights ?? this.histogram.counts });
    const centres = new Centres(this.clusters, this);
    const box = this.outline(colour);
    await draw(place, [...chart.traces, ...centres.traces(colour)], layout(colour, {
      margin: { l: narrow ? 44 : 60, r: narrow ? 4 : 16, t: 8, b: 48 }, dragmode: "select", selectdirection: flat ? "h" : "any",
      ...outlines(colour), selections: box ? [box] : [], annotations: this.label(colour, box),
      ...(flat ? { yaxis: axis(colour, chart.title, { fixedrange: true }) } : {}), ...chart.axes,
    }));
    this.listen(place);
    this.words(chart, centres);
    this.settleTools();
    at("colour-tool").hidden = flat;
    place.dataset.ready = String(this.clusters.clustering?.centers.length ?? 0);
    place.dataset.axes = this.drawn.map((attribute) => attribute.name).join(" ");
    place.dataset.part = this.part.where.join(" ");
    place.dataset.look = `${look.scale} ${look.noise}`;
  }

  chart(colour, look) {
    const flat = this.drawn.length === 1;
    if (this.histogram.layers) return (flat ? tileBars : tileMap)(colour, this.drawn, this.histogram, look);
    return flat ? barChart(colour, this.drawn[0], this.histogram, look) : heatChart(colour, this.drawn, this.histogram, look);
  }

  listen(place) {
    if (this.listening) return;
    this.listening = true;
    place.on("plotly_selected", (event) => {
      if (!event?.range || this.outlines.has(keyOf(event.selections?.[0], this.drawn.length))) return; // Plotly reports outlines that move as well
      this.outlines.clear();
      hush(place);
      this.drawn.forEach((attribute, i) => {
        const letter = i === 0 ? "x" : "y";
        const isOwn = !this.blocks[i].ticks || !attribute.isOrdered; // else the part has missing values alone
        if (event.range[letter] && isOwn) this.box.drag(attribute, event.range[letter]);
        else this.box.choose(attribute, [MISSING_LABEL]);
      });
      this.box.countDragged();
    });
  }

  // Controls of marks that the map cannot have say so. The number of clusters still holds for their table.
  settleTools() {
    const labels = this.blocks.some(({ ticks }) => ticks);
    const flat = this.drawn.length === 1;
    const why = { "show-regions": labels ? NO_CENTRES : "", "show-borders": labels ? NO_CENTRES : flat ? "Boundaries need two attributes on the map." : "" };
    for (const [id, words] of Object.entries(why)) {
      at(id).disabled = words !== "";
      at(id).closest("label").title = words;
    }
    at("k-row").title = labels ? `${NO_CENTRES} The table of clusters follows k.` : "";
  }

  // The outline of the box that is counted; null without one.
  outline(colour) {
    const ends = this.drawn.map((attribute) => this.box.ends(attribute));
    if (!this.box.drawable || ends.every((pair) => pair === null)) return null;
    const [x, y] = this.blocks.map(({ edges }, i) => ends[i] ?? [edges[0], edges.at(-1)]);
    const vertical = y ? { y0: y[0], y1: y[1] } : { y0: Math.min(0, ...this.heights), y1: Math.max(...this.heights) };
    const drawn = outline(colour, { x0: x[0], x1: x[1], ...vertical });
    this.outlines.add(keyOf(drawn, this.drawn.length));
    return drawn;
  }

  // The answer beside the box.
  label(colour, box) {
    if (!box || !this.box.words) return [];
    const [{ edges }, rows] = this.blocks;
    const [bottom, top] = rows ? [rows.edges[0], rows.edges.at(-1)] : [0, box.y1];
    return [label(colour, this.box.words, box, [edges[0], edges.at(-1)], bottom + 0.93 * (top - bottom))];
  }

  // What is drawn, and how sure it is.
  drawnWords(chart) {
    if (this.histogram.layers) {
      const { leaf } = this.histogram.layers;
      const all = number(this.histogram.grid.leaves, 9);
      const cells = leaf.summed ? `${all} leaves, neighbours taken together to ${number(leaf.counts.length, 9)} cells` : `All ${all} leaves as they are`;
      return `${cells}: small where rows are many. ${chart.words} Point at one for its range, its rows and their 95 % interval.`;
    }
    const sure = certainty(this.histogram);
    const scale = chart.words ? ` ${chart.words}` : "";
    if (sure.words) return `Noisy counts as drawn; each is within ${sure.words} of the true one with 95 % probability.${scale}`;
    if (this.about.plan.threshold === null) return `Estimates from the noisy counts of all layers. Point at a cell for what its rows lie between with 95 % probability.${scale}`;
    return `Sums of noisy counts of at least ${this.about.plan.threshold}: smaller ones were not released. Point at a cell for its bounds.${scale}`;
  }

  words(chart, centres) {
    const noise = noiseWords(at("noise").value, chart.standing);
    at("map-noise").hidden = !noise;
    at("map-noise").textContent = noise;
    const isBare = this.clusters.clustering && this.blocks.some(({ ticks }) => ticks);
    const lost = isBare ? NO_CENTRES : centres.missingWords();
    at("map-lost").hidden = !lost;
    at("map-lost").textContent = lost;
    at("map-certainty").textContent = this.drawnWords(chart);
    const sentences = [];
    const summed = [this.histogram.cells_summed ?? 1].flat();
    if (Math.max(...summed) > 1) {
      const [across, up] = this.drawn.map((_, i) => summed.at(-1 - i) ?? summed[0]);
      sentences.push(`Each ${up ? "square" : "bar"} sums up to ${across}${up ? ` × ${up}` : ""} cells of the grid.`);
    }
    if (this.about.attributes.length > this.drawn.length) {
      sentences.push(`Counts are summed over the attributes that are not shown${centres.placed.length ? "; centres and their intervals are seen along those axes" : ""}.`);
    }
    sentences.push(...centres.words());
    if (this.histogram.attributes.some((wireAxis) => wireAxis.missing)) sentences.push("Rows without a value are apart.");
    at("map-more").textContent = sentences.join(" ");
    at("map-more").parentElement.hidden = sentences.length === 0;
  }
}
