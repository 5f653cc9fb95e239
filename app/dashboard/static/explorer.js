// The synopsis explorer: creates its panels, connects them with the controls, and keeps the view in the page's address.
import { facts } from "./api.js";
import { attributeOf } from "./attribute.js";
import { BoxPanel } from "./box.js";
import { picture, plotly } from "./charts.js";
import { ClusterPanel } from "./clusters.js";
import { gridWords } from "./format.js";
import { MapPanel } from "./map.js";
import { showAttribute, showMoments, showRows } from "./panels.js";
import { Part } from "./part.js";
import { ScanPanel } from "./scan.js";
import { share } from "./share.js";
import { View } from "./view.js";

const UNFIT = 422; // what the service says of a part that it cannot take
const HIDES = { intervals: "show-regions", boundaries: "show-borders" };
const given = facts("facts");
const { grid } = given.plan;
const attributes = given.attributes.map((declared, place) => Object.assign(attributeOf(declared), { cells: grid.shape[place] }));
const about = { ...given, attributes, named: (name) => attributes.find((attribute) => attribute.name === name) };
const at = (id) => document.getElementById(id);
at("grid-words").textContent = gridWords(grid);
plotly().catch(() => {}); // in time for the first chart, which says so if it fails

// Ordered attributes come first. With one of them, or none, bars are easier to read than a map.
const names = [...attributes].sort((a, b) => b.isOrdered - a.isOrdered).map(({ name }) => name);
const ordered = attributes.filter((attribute) => attribute.isOrdered);
for (const id of ["x-axis", "y-axis", "marginal-attribute"]) at(id).append(...attributes.map(({ name }) => new Option(name, name)));
at("y-axis").append(new Option("noisy count", ""));
at("axes").hidden = names.length === 1;
for (const id of ["clusters-card", "k-row", "cluster-tools"]) at(id).hidden = ordered.length === 0;

const views = new View(about, {
  x: names[0], y: ordered.length > 1 ? names[1] : "", one: names[0], k: Math.min(20, given.plan.order.clusters),
  colour: grid.layered ? "log" : "linear", noise: "shown",
});
const part = new Part(about);
const clusters = new ClusterPanel(about, part);
const scan = new ScanPanel(about, part);
const box = new BoxPanel(about, part);
const map = new MapPanel(about, part, clusters, box);

// The view that the controls show.
function current() {
  return {
    x: at("x-axis").value, y: at("y-axis").value, one: at("marginal-attribute").value, k: Number(at("k").value), colour: at("colour").value,
    noise: at("noise").value, hide: Object.keys(HIDES).filter((name) => !at(HIDES[name]).checked), where: part.where,
    box: box.active ? box.where() : [], snap: box.snap,
  };
}

let written = null; // the query of the address; null while a view is being shown that the address has already
let sliding = false;

// Writes the view into the address. A deliberate step is one that the browser's Back undoes; of a slider that moves, only
// the whole move. What `amends` the last step, as an answer does with the ends of its box, is no step of its own.
function remember({ slides = false, amends = false } = {}) {
  if (written === null) return;
  const search = views.search(current());
  if (search === written) return;
  written = search;
  const address = location.pathname + search;
  if (amends || (slides && sliding)) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  sliding = slides;
}

// Sets the controls to the view of the address, and loads everything.
function show() {
  const { view, ignored } = views.read(location.search);
  written = null;
  at("view-note").hidden = ignored.length === 0;
  at("view-note").textContent = ignored.length ? `Left out of the address, because it does not fit this release: ${ignored.join(", ")}.` : "";
  for (const [id, name] of [["x-axis", "x"], ["y-axis", "y"], ["marginal-attribute", "one"], ["colour", "colour"], ["noise", "noise"]]) at(id).value = view[name];
  for (const [name, id] of Object.entries(HIDES)) at(id).checked = !view.hide.includes(name);
  part.fill(view.where);
  settleAxes();
  load(view.k);
  box.fill(view.box, view.snap);
  written = views.search(view);
  history.replaceState(null, "", location.pathname + written);
}

const before = {};

function settleAxes() {
  for (const id of ["x-axis", "y-axis"]) before[id] = at(id).value;
}

for (const [mine, other] of [["x-axis", "y-axis"], ["y-axis", "x-axis"]]) {
  at(mine).addEventListener("change", () => {
    if (at(mine).value === at(other).value) at(other).value = before[mine]; // both axes equal: swap them
    settleAxes();
    map.load();
    remember();
  });
}
const showChosen = () => showAttribute(about, part, at("marginal-attribute").value);
clusters.onChange = () => map.draw();
box.onChange = ({ amends = false } = {}) => {
  map.draw();
  remember({ amends });
};
part.onChange = () => {
  load(Number(at("k").value));
  box.within();
  if (box.active) box.count();
  remember();
};
scan.onTake = (k) => {
  clusters.offer(k);
  remember();
};
map.onRefused = ({ status }) => {
  if (status !== UNFIT || !part.where.length) return false;
  const refused = part.where.join(", ");
  part.set([]);
  at("view-note").hidden = false;
  at("view-note").textContent = `Left out, because this release has no such part: ${refused}.`;
  return true;
};
at("k").addEventListener("input", () => remember({ slides: true }));
at("k").addEventListener("change", () => { sliding = false; });
at("marginal-attribute").addEventListener("change", () => {
  showChosen();
  remember();
});
for (const id of ["colour", ...Object.values(HIDES)]) {
  at(id).addEventListener("change", () => {
    map.draw();
    remember();
  });
}
at("noise").addEventListener("change", () => {
  map.load(); // of leaves, intervals for all at once are another question
  remember();
});
document.addEventListener("themechange", () => {
  map.draw();
  scan.draw();
  showChosen();
});
for (const button of document.querySelectorAll("[data-picture]")) {
  button.addEventListener("click", () => picture(at("map"), button.dataset.picture, `${about.dataset}-${about.id}`));
}
// Whether the question of a panel belongs to the view.
const belongs = (name) => ({
  count: box.active, clusters: clusters.clustering !== null, scan: scan.answer !== null, quantiles: !at("quantile-card").hidden,
})[name] ?? true;
share(about, belongs);

// The map first; the other panels load at the same time.
function load(k) {
  map.load();
  if (ordered.length) clusters.offer(k);
  scan.reset();
  showMoments(about, part, box);
  showChosen();
  showRows(about, part);
}
window.addEventListener("popstate", () => {
  if (views.search(views.read(location.search).view) !== written) show(); // the skip link changes the address as well
});
show();
