// The page /docs: a search over its entries, and entries that open when an address leads to them.

const entries = [...document.querySelectorAll("[data-entry]")];
const words = new Map(entries.map((entry) => [entry, entry.textContent.toLowerCase()]));
const find = document.getElementById("docs-find");
const count = document.getElementById("docs-count");

function search() {
  const wanted = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const entry of entries) {
    entry.hidden = !wanted.every((word) => words.get(entry).includes(word));
    shown += entry.hidden ? 0 : 1;
  }
  for (const group of document.querySelectorAll("[data-group]")) {
    group.hidden = !group.querySelector("[data-entry]:not([hidden])");
  }
  count.textContent = wanted.length ? `${shown} of ${entries.length} entries` : "";
}

function open() {
  const entry = entries.find(({ id }) => id === decodeURIComponent(location.hash.slice(1)));
  if (!entry) return;
  if (entry.hidden) {
    find.value = "";
    search();
  }
  entry.open = true;
  entry.scrollIntoView();
}

find.addEventListener("input", search);
addEventListener("hashchange", open);
search();
open();
