// The view: what the reader chose, as the page's address has it. A link to the page shows the same again. Only what differs
// from the usual is written; values are the attributes' own texts, such as box=arrived:2026-03-01..2026-03-31.

const SINGLE = ["x", "y", "one", "k", "colour", "noise"]; // written if they differ from the usual
const HIDDEN = ["intervals", "boundaries"];
const MOST_CLUSTERS = 20; // of the slider

// Signs that mean nothing in a query stay as they are. Parentheses are written as %28 and %29: signing in leads back only
// to addresses of plain signs.
export const coded = (text) => encodeURIComponent(text).replaceAll("%3A", ":")
  .replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

export class View {
  constructor(about, usual) {
    const names = about.attributes.map(({ name }) => name);
    Object.assign(this, { about, usual });
    this.fits = {
      x: (name) => names.includes(name), y: (name) => name === "" || names.includes(name), one: (name) => names.includes(name),
      k: (text) => /^[1-9]\d?$/.test(text) && Number(text) <= MOST_CLUSTERS,
      colour: (text) => ["linear", "log"].includes(text), noise: (text) => ["shown", "each", "all"].includes(text),
      hide: (text) => HIDDEN.includes(text), snap: (text) => text === "true", where: (text) => this.isPart(text), box: (text) => this.isPart(text),
    };
  }

  isPart(text) {
    const [name, ...rest] = text.split(":");
    return this.about.named(name)?.accepts(rest.join(":")) ?? false;
  }

  // The query of the address of a view; empty for the usual one.
  search(view) {
    const pairs = SINGLE.filter((name) => view[name] !== this.usual[name]).map((name) => [name, view[name]]);
    for (const name of ["where", "box", "hide"]) pairs.push(...view[name].map((text) => [name, text]));
    if (view.snap && view.box.length) pairs.push(["snap", "true"]);
    return pairs.length ? `?${pairs.map(([name, text]) => `${name}=${coded(String(text))}`).join("&")}` : "";
  }

  // The view of an address, and what of it is ignored: unknown names, values that do not fit, a second one of the same.
  read(search) {
    const view = { ...this.usual, where: [], box: [], hide: [], snap: false };
    const ignored = [];
    const seen = new Set();
    for (const [name, text] of new URLSearchParams(search)) {
      const own = Object.hasOwn(this.fits, name);
      const isList = own && ["where", "box", "hide"].includes(name);
      const key = isList ? `${name} ${name === "hide" ? text : text.split(":")[0]}` : name;
      if (!own || !this.fits[name](text) || seen.has(key)) {
        ignored.push(`${name}=${text}`);
        continue;
      }
      seen.add(key);
      if (isList) view[name].push(text);
      else view[name] = { k: Number, snap: Boolean }[name]?.(text) ?? text;
    }
    if (view.x === view.y) { // one of the two was given alone, or both as the same
      ignored.push(...["x", "y"].filter((name) => seen.has(name)).map((name) => `${name}=${view[name]}`));
      Object.assign(view, { x: this.usual.x, y: this.usual.y });
    }
    return { view, ignored };
  }
}
