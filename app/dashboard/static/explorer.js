// The synopsis explorer: creates its panels and connects them with the controls.
import { facts } from "./api.js";
import { attributeOf } from "./attribute.js";
import { BoxPanel } from "./box.js";
import { picture } from "./charts.js";
import { ClusterPanel } from "./clusters.js";
import { gridWords } from "./format.js";
import { MapPanel } from "./map.js";
import { showAttribute, showMoments, showRows } from "./panels.js";
import { Part } from "./part.js";

const given = facts("facts");
const { grid } = given.plan;
const attributes = given.attributes.map((declared, place) => Object.assign(attributeOf(declared), { cells: grid.shape[place] }));
const about = { ...given, attributes, named: (name) => attributes.find((attribute) => attribute.name === name) };
const at = (id) => document.getElementById(id);
at("grid-words").textContent = gridWords(grid);

function options(select, chosen) {
  for (const { name } of attributes) select.append(new Option(name, name, false, name === chosen));
}

// Ordered attributes come first. With one of them, or none, bars are easier to read than a map.
const names = [...attributes].sort((a, b) => b.isOrdered - a.isOrdered).map(({ name }) => name);
const ordered = attributes.filter((attribute) => attribute.isOrdered);
options(at("x-axis"), names[0]);
options(at("y-axis"), ordered.length > 1 ? names[1] : "");
options(at("marginal-attribute"), names[0]);
at("y-axis").append(new Option("noisy count", "", false, ordered.length < 2));
at("axes").hidden = names.length === 1;
at("clusters-card").hidden = ordered.length === 0;

const part = new Part(about);
const clusters = new ClusterPanel(about, part);
const box = new BoxPanel(about, part);
const map = new MapPanel(about, part, clusters, box);

for (const [mine, other] of [["x-axis", "y-axis"], ["y-axis", "x-axis"]]) {
  let before = at(mine).value;
  at(mine).addEventListener("change", () => {
    if (at(mine).value === at(other).value) at(other).value = before; // both axes equal: swap them
    for (const id of ["x-axis", "y-axis"]) at(id).dispatchEvent(new Event("settled"));
    map.load();
  });
  at(mine).addEventListener("settled", () => { before = at(mine).value; });
}
clusters.onChange = () => map.draw();
box.onChange = () => map.draw();
const showChosen = () => showAttribute(about, part, at("marginal-attribute").value);
part.onChange = () => load(Number(at("k").value));
at("marginal-attribute").addEventListener("change", showChosen);
document.addEventListener("themechange", () => {
  map.draw();
  showChosen();
});
for (const button of document.querySelectorAll("[data-picture]")) {
  button.addEventListener("click", () => picture(at("map"), button.dataset.picture, `${about.dataset}-${about.id}`));
}

// The map first; the other panels load at the same time.
function load(k) {
  map.load();
  if (ordered.length) clusters.offer(k);
  showChosen();
  showMoments(about, part);
  showRows(about, part);
}
load(Math.min(20, about.plan.order.clusters));
