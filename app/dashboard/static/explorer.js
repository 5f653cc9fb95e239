// The synopsis explorer: creates its panels and connects them with the controls.
import { facts } from "./api.js";
import { BoxPanel } from "./box.js";
import { picture } from "./charts.js";
import { ClusterPanel } from "./clusters.js";
import { number } from "./format.js";
import { MapPanel } from "./map.js";
import { showAttribute, showMoments, showRows } from "./panels.js";

const about = facts("facts");
const at = (id) => document.getElementById(id);
const grid = about.plan.grid;
at("grid-words").textContent = `${number(grid.cells_per_axis, 6)} cells on each of ${grid.dimensions} ${grid.dimensions === 1 ? "axis" : "axes"}`;

function options(select, chosen) {
  for (const attribute of about.attributes) select.append(new Option(attribute.name, attribute.name, false, attribute.name === chosen));
}

const names = about.attributes.map((attribute) => attribute.name);
options(at("x-axis"), names[0]);
options(at("y-axis"), names[1]);
options(at("marginal-attribute"), names[0]);
at("axes").hidden = names.length === 1;

const clusters = new ClusterPanel(about);
const box = new BoxPanel(about);
const map = new MapPanel(about, clusters, box);

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
at("marginal-attribute").addEventListener("change", () => showAttribute(about, at("marginal-attribute").value));
document.addEventListener("themechange", () => {
  map.draw();
  showAttribute(about, at("marginal-attribute").value);
});
for (const button of document.querySelectorAll("[data-picture]")) {
  button.addEventListener("click", () => picture(at("map"), button.dataset.picture, `${about.dataset}-${about.id}`));
}
showRows(about);
// The map first; the other panels load at the same time.
map.load();
clusters.offer(Math.min(20, about.plan.order.clusters));
showAttribute(about, names[0]);
showMoments(about);
