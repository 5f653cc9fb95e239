// Formats numbers with significant digits, and times in the reader's time zone.

export function number(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Number.isInteger(value) || Math.abs(value) >= 10 ** digits) return Math.round(value).toLocaleString("en");
  return Number(value.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits });
}

// A value rounded for bounds that lie so far apart.
export function inUnits(value, width) {
  const places = Math.min(12, Math.max(0, 3 - Math.floor(Math.log10(width || 1))));
  return Number(value.toFixed(places));
}

// The shape of a grid: "12 cells on each of 2 axes" or, where axes differ, "24 × 13 × 3 cells".
// Of the adaptive rule: "a base of 8 × 8 cells, cut into 3,211 leaves".
export function gridWords({ cells_per_axis: each, dimensions, shape, layered, leaves }) {
  if (layered) {
    const base = `a base of ${shape.map((cells) => number(cells, 6)).join(" × ")} cells`;
    return leaves ? `${base}, cut into ${number(leaves, 9)} leaves` : `${base}, cut further where noisy counts are high`;
  }
  if (each === null) return `${shape.map((cells) => number(cells, 6)).join(" × ")} cells`;
  return `${number(each, 6)} cells${dimensions > 1 ? ` on each of ${dimensions} axes` : ""}`;
}

// Rows of terms and words for a list of facts.
export function factRows(rows) {
  return rows.map(([term, words]) => {
    const row = document.createElement("div");
    const name = document.createElement("dt");
    const value = document.createElement("dd");
    name.textContent = term;
    value.textContent = words;
    row.append(name, value);
    return row;
  });
}

const LONG_NOTE = 120; // letters
const AT_END = " at an end of the interval: ";

// The first words of a long note, for its summary.
function beginning(words) {
  if (words.includes(AT_END)) return "some values lie at an end of their interval";
  return `${words.slice(0, 60).replace(/\s+\S*$/, "")} …`;
}

// The notes of an answer: why values lie at an end of their interval. A paragraph for each, folded where it is long.
export function noteLines({ notes = [] }) {
  return notes.map((words) => {
    if (words.length <= LONG_NOTE) return Object.assign(document.createElement("p"), { className: "help note", textContent: `Note: ${words}` });
    const folded = Object.assign(document.createElement("details"), { className: "note" });
    folded.append(Object.assign(document.createElement("summary"), { textContent: `Note: ${beginning(words)}` }),
      Object.assign(document.createElement("p"), { className: "help", textContent: words }));
    return folded;
  });
}

// A table of texts; all columns but the first are numbers.
export function textTable(titles, rows) {
  const table = document.createElement("table");
  table.className = "compact";
  const head = table.createTHead().insertRow();
  titles.forEach((text, place) => {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = text;
    if (place) cell.className = "num";
    head.append(cell);
  });
  const body = table.createTBody();
  for (const texts of rows) {
    const row = body.insertRow();
    texts.forEach((text, place) => {
      const cell = row.insertCell();
      cell.textContent = text;
      if (place) cell.className = "num";
    });
  }
  return table;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = (value) => String(value).padStart(2, "0");

// A time of a record: "18 Nov 2026" for a day, which is the same in every zone, and "18 Nov 2026, 14:05" in the reader's
// zone for a moment. `day` in app/dashboard/words.py does the same.
export function localTime(text) {
  const date = new Date(text);
  if (text.length === 10) return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
  return `${date.getDate()} ${MONTHS[date.getMonth()]} ${date.getFullYear()}, ${two(date.getHours())}:${two(date.getMinutes())}`;
}

export function localTimes(root) {
  for (const time of root.querySelectorAll("time[data-local]")) {
    time.title = time.textContent; // as the service wrote it: in UTC
    time.textContent = localTime(time.dateTime);
  }
}

// A sentence with the factor exp(epsilon) by which odds can grow. The unit is what is protected: a record or a person.
export function odds(epsilon, unit = "record") {
  const factor = Math.exp(epsilon);
  if (factor > 1e6) return `Odds that one ${unit} is there can grow by a factor of more than a million: practically no protection.`;
  const half = 1 / (1 + Math.exp(-epsilon));
  return `Odds that one ${unit} is there can grow by a factor of at most ${number(factor)}: ` +
    `from 50\u00a0% to at most ${half > 0.999 ? "over 99.9" : number(100 * half)}\u00a0%.`;
}
