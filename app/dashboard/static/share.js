// Taking the view along: a link that shows it again, and a notebook that asks its questions.
import { callOf, connected } from "./lines.js";
import { notebook, save } from "./notebook.js";

const TITLES = {
  map: "Where the rows are", count: "Count of a part", clusters: "Clusters", scan: "Which k?", marginal: "One attribute", quantiles: "Quantiles",
  moments: "Size, means and spread", rows: "Synthetic rows and the synopsis",
};
const link = () => location.origin + location.pathname + location.search; // without the place on the page
const at = (id) => document.getElementById(id);

async function copyLink() {
  const button = at("copy-link");
  try {
    await navigator.clipboard.writeText(link());
    at("view-status").textContent = "The link is copied.";
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy link"; }, 1500);
  } catch {
    // Without access to the clipboard, the reader copies the link by hand.
    at("link").hidden = false;
    at("link").value = link();
    at("link").select();
  }
}

// `belongs` says whether a panel's question belongs to the view.
export function share(about, belongs) {
  at("copy-link").addEventListener("click", copyLink);
  at("notebook").addEventListener("click", () => {
    const panels = Object.entries(TITLES).filter(([name]) => callOf(name) && belongs(name)).map(([name, title]) => ({ name, title, call: callOf(name) }));
    const names = about.attributes.map(({ name }) => name).join(" × ");
    save(notebook({ title: `${about.dataset}: ${names}`, link: link(), connected: connected(), panels }), `${about.dataset}-${about.id}.ipynb`);
    at("view-status").textContent = "The notebook is saved as a file.";
  });
}
