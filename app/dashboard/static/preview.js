// What a file holds, column by column, as a table: no value of it, only numbers and the line of the first fault.
import { number } from "./format.js";
import { watchScroll } from "./scroll.js";

// A share in percent that is never rounded to nothing or to everything.
export function share(part, all) {
  if (part === 0 || part === all) return `${part ? 100 : 0} % of the rows`;
  const percent = (100 * part) / all;
  return `${percent < 0.1 ? "under 0.1" : percent > 99.9 ? "over 99.9" : number(percent, 2)} % of the rows`;
}

const TITLES = ["Column", "Values that are odd", "First at line"];

// What is odd about the values of a column, and what becomes of their rows.
function oddities({ attribute, empty, unreadable, unlisted, outside }, outOfRange) {
  const missing = attribute.keepsMissing ? "kept as missing" : "rows dropped";
  const parts = [
    [empty, "empty", missing], [unreadable, "not readable", missing], [unlisted, "not on the list", attribute.hasOther ? "kept as (other)" : "rows dropped"],
    [outside, "out of bounds", outOfRange === "drop" ? "rows dropped" : "clipped"],
  ];
  return parts.filter(([count]) => count).map(([count, words, fate]) => `${number(count, 12)} ${words}: ${fate}`).join("; ") || "none";
}

function tableOf(tallies, outOfRange) {
  const table = Object.assign(document.createElement("table"), { className: "compact stacked" });
  const head = table.createTHead().insertRow();
  TITLES.forEach((text) => head.append(Object.assign(document.createElement("th"), { textContent: text, scope: "col" })));
  const body = table.createTBody();
  for (const tally of tallies) {
    const row = body.insertRow();
    [tally.attribute.name, oddities(tally, outOfRange), tally.firstLine === null ? "–" : number(tally.firstLine, 12)].forEach((text, x) => {
      const cell = row.insertCell();
      cell.append(Object.assign(document.createElement("span"), { textContent: text }));
      cell.dataset.label = TITLES[x];
    });
  }
  return table;
}

// The table, and sentences about rows that are none and about what is probably meant.
export function previewOf({ tallies, broken, withoutId, overLimit }, { outOfRange, csv, person }) {
  const place = Object.assign(document.createElement("div"), { id: "file-preview" });
  const scroll = Object.assign(document.createElement("div"), { className: "scroll" });
  scroll.append(tableOf(tallies, outOfRange));
  const lines = [
    ...(broken ? [`${number(broken, 12)} ${broken === 1 ? "line is" : "lines are"} no row${csv ? ": another number of fields than the first line, or quotes that do not match" : ""}.`] : []),
    ...(withoutId ? [`${number(withoutId, 12)} ${withoutId === 1 ? "row has" : "rows have"} no id in ${person.column}, and would be dropped.`] : []),
    ...(person && overLimit === null ? ["There are too many persons to count here which of their rows are beyond the limit."] : []),
    ...tallies.filter(({ habit }) => habit).map(({ attribute, habit }) => `${attribute.name}: ${habit}`),
  ];
  const list = document.createElement("ul");
  list.append(...lines.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  place.append(scroll, ...(lines.length ? [list] : []));
  watchScroll(scroll);
  return place;
}
