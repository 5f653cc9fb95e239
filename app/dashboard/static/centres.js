// What the clusters add to the map: centres, the intervals of their coordinates, and the boundaries between them.
import { plain } from "./charts.js";
import { number } from "./format.js";
import { cells, scaled, unscaled } from "./voronoi.js";

const at = (id) => document.getElementById(id);

// The sides between two polygons, each once: not those on the frame.
function inner(polygons) {
  const sides = new Map();
  for (const polygon of polygons) {
    polygon.forEach((start, place) => {
      const side = [start, polygon[(place + 1) % polygon.length]];
      const isFrame = [0, 1].some((x) => side.every((end) => Math.abs(Math.abs(end[x]) - 1) < 1e-9) && side[0][x] * side[1][x] > 0);
      const key = side.map((end) => end.map((u) => u.toFixed(6)).join(" ")).sort().join(" ");
      if (!isFrame) sides.set(key, side);
    });
  }
  return [...sides.values()];
}

export class Centres {
  constructor(clusters, { drawn, blocks, heights }) {
    Object.assign(this, { clusters, drawn, heights, placed: [] });
    const found = clusters.clustering;
    const places = drawn.map((attribute) => found?.attributes.indexOf(attribute.name) ?? -1);
    if (!places.includes(-1) && !blocks.some((block) => block.ticks)) this.placed = this.positions(found, places);
  }

  // The centres as positions on this chart, those of the largest cluster first; none on an axis that has no distances.
  positions(clustering, places) {
    const interval = (attribute, { low, high }) => ({ low: attribute.at(low), high: attribute.at(high), words: `${attribute.shown(low)} to ${attribute.shown(high)}` });
    return clustering.centers.map((centre, i) => ({
      label: String(i + 1), size: clustering.sizes[i], whole: this.clusters.attributes.map((attribute, x) => attribute.at(centre[x])),
      values: places.map((place, x) => this.drawn[x].at(centre[place])), texts: places.map((place, x) => this.drawn[x].shown(centre[place])),
      grids: places.map((place, x) => this.drawn[x].spread(this.clusters.shift(i)[place])),
      intervals: places.map((place, x) => interval(this.drawn[x], clustering.uncertainty[i].center[place])),
    }));
  }

  get hasRegions() {
    return at("show-regions").checked && this.placed.length > 0;
  }

  get hasBorders() {
    return at("show-borders").checked && this.drawn.length === 2 && this.placed.length > 1;
  }

  traces(colour) {
    return [...this.borders(colour), ...this.regions(colour), this.markers(colour)];
  }

  markers(colour) {
    const flat = this.drawn.length === 1;
    const top = flat ? Math.max(...this.heights) : 0;
    return {
      mode: "markers+text", x: this.placed.map((cluster) => cluster.values[0]), y: this.placed.map((cluster) => (flat ? top : cluster.values[1])),
      text: this.placed.map((cluster) => cluster.label), textfont: { color: colour.ink, size: 11 }, name: "centres",
      marker: { size: 18, color: colour.surface, line: { color: colour.ordered, width: 2 } },
      hovertemplate: this.placed.map((cluster) => `cluster ${cluster.label}, about ${number(cluster.size)} rows<br>` +
        this.drawn.map((attribute, i) => `${plain(attribute.name)} ${cluster.texts[i]} (${cluster.intervals[i].words}; grid ± ${cluster.grids[i]})`).join("<br>") +
        "<extra></extra>"),
      selected: { marker: { opacity: 1 }, textfont: { color: colour.ink } },
      unselected: { marker: { opacity: 1 }, textfont: { color: colour.ink } },
    };
  }

  // Outlines without a filling, which would hide the cells under them.
  regions(colour) {
    if (!this.hasRegions) return [];
    const corners = this.placed.map(({ intervals: [x, y = { low: 0, high: Math.max(...this.heights) }] }) => ({
      x: [x.low, x.high, x.high, x.low, x.low, null], y: [y.low, y.low, y.high, y.high, y.low, null],
    }));
    return [{
      mode: "lines", x: corners.flatMap(({ x }) => x), y: corners.flatMap(({ y }) => y), line: { color: colour.ordered, width: 1.5 },
      hoverinfo: "skip", name: "intervals",
    }];
  }

  // The plane in which boundaries are drawn: all other attributes are fixed at the mean of the clusters. Distances are
  // measured within `span`: the bounds or, of a part, its own.
  plane() {
    const { clustering } = this.clusters;
    const weights = clustering.sizes.map((size) => Math.max(0, size));
    const total = weights.reduce((a, b) => a + b, 0) || 1;
    return this.clusters.attributes.map((attribute, x) => ({
      attribute, shown: this.drawn.includes(attribute),
      span: (clustering.slice?.[attribute.name] && attribute.spanOf(clustering.slice[attribute.name])) ?? [attribute.start, attribute.stop],
      value: clustering.centers.reduce((sum, centre, i) => sum + (weights[i] / total) * attribute.at(centre[x]), 0),
    }));
  }

  // The regions of the centres in the plane, as polygons; empty for one that the plane does not meet.
  polygons(plane) {
    const [across, up] = this.drawn.map((attribute) => plane.find((other) => other.attribute === attribute).span);
    const points = this.placed.map((cluster) => ({
      x: scaled(cluster.values[0], across), y: scaled(cluster.values[1], up),
      off: plane.reduce((sum, other, place) => (other.shown ? sum
        : sum + (scaled(other.value, other.span) - scaled(cluster.whole[place], other.span)) ** 2), 0),
    }));
    return { across, up, polygons: cells(points) };
  }

  borders(colour) {
    if (!this.hasBorders) return [];
    const plane = this.plane();
    const { across, up, polygons } = this.polygons(plane);
    const sides = inner(polygons);
    const xs = sides.flatMap(([[u], [w]]) => [unscaled(u, across), unscaled(w, across), null]);
    const ys = sides.flatMap(([[, v], [, w]]) => [unscaled(v, up), unscaled(w, up), null]);
    const dash = plane.length > 2 ? "dash" : "solid";
    return [{ mode: "lines", x: xs, y: ys, line: { color: colour.ink, width: 1, dash }, opacity: 0.6, hoverinfo: "skip", name: "boundaries" }];
  }

  // Where the plane lies among the attributes that are not shown.
  slice(plane) {
    return plane.filter((other) => !other.shown).map(({ attribute, value }) => `${attribute.name} = ${attribute.shown(attribute.back(value))}`);
  }

  // Which centres have no region on the map, in a sentence; empty if all have one.
  missingWords() {
    if (!this.hasBorders) return "";
    const plane = this.plane();
    const { polygons } = this.polygons(plane);
    const lost = this.placed.filter((_, place) => polygons[place].length === 0).map(({ label }) => label);
    const others = this.slice(plane);
    if (!lost.length || !others.length) return "";
    const named = lost.length === 1 ? `Cluster ${lost[0]} has` : `Clusters ${lost.slice(0, -1).join(", ")} and ${lost.at(-1)} have`;
    return `${named} no region on this map: boundaries are those where ${others.join(", ")}, and other centres are nearer there.`;
  }

  // What these marks mean, in sentences.
  words() {
    const sentences = [];
    if (this.hasBorders) {
      const others = this.slice(this.plane());
      sentences.push(others.length ? `Dashed boundaries are exact in the slice where ${others.join(", ")}; elsewhere they lie elsewhere.`
        : "Lines separate what is nearest to each centre.");
    }
    if (this.hasRegions) sentences.push("Rectangles are 95 % intervals of each coordinate, from the noise alone; point at a centre for what the grid can add.");
    return sentences;
  }
}
