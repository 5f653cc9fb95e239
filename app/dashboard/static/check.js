// Counts the rows of a text file that the service would read, drop and clip. It runs in the browser; nothing is sent. The
// rules are those of app/ingest/csv_reader.py and ndjson_reader.py: each line is parsed on its own. A test compares both.
// What a value is depends on the kind of its attribute, which reads it: see attribute.js.
import { DROPPED, OUTSIDE } from "./kind.js";

export const MOST_BYTES = 32 * 2 ** 20; // only so much of the file is read
const LONGEST_LINE = 64 * 2 ** 10;
const LONGEST_ID = 256; // bytes

// Yields the lines of a file in groups; `whole` of the last group says whether the file was read to its end.
async function* lineGroups(file, gzip) {
  const stream = gzip ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  const reader = stream.getReader();
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let begun = "";
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      bytes += value.length;
      const lines = (begun + decoder.decode(value, { stream: true })).split("\n");
      begun = lines.pop().slice(0, LONGEST_LINE + 2); // a line that is already too long stays too long
      yield { lines, whole: false };
      if (bytes >= MOST_BYTES) return;
    }
    yield { lines: begun ? [begun] : [], whole: true };
  } finally {
    reader.cancel().catch(() => {});
  }
}

// The fields of a line; null if its quotes do not match.
function fieldsOf(line) {
  if (!line.includes('"')) return line.split(",");
  const fields = [];
  for (let at = 0; ; at += 1) {
    const quoted = line[at] === '"' ? /^"((?:[^"]|"")*)"(?=,|$)/.exec(line.slice(at)) : /^[^,]*/.exec(line.slice(at));
    if (!quoted) return null;
    fields.push((quoted[1] ?? quoted[0]).replaceAll('""', '"'));
    at += quoted[0].length;
    if (at >= line.length) return fields;
  }
}

const trimmed = (text) => text.replace(/^[ \t]+|[ \t]+$/g, "");

// The places of the wanted columns; the last one is that of the ids of persons, if they are wanted.
function columnsOf(line, wanted) {
  const names = (fieldsOf(line.replace(/^\ufeff/, "")) ?? []).map(trimmed);
  const listed = (chosen) => wanted.filter((name) => chosen(names.filter((other) => other === name).length)).join(", ");
  const missing = listed((count) => count === 0);
  if (missing) throw new Error(`The file has no column for: ${missing}. Names are matched exactly.`);
  const ambiguous = listed((count) => count > 1);
  if (ambiguous) throw new Error(`The file has more than one column for: ${ambiguous}. Keep one of each.`);
  return { width: names.length, places: wanted.map((name) => names.indexOf(name)) };
}

// Both functions return the values of a row, null for a missing one, and its id; or null for a line that is no row.
function csvRow(line, { width, places }, { attributes, person }) {
  const fields = fieldsOf(line);
  if (fields?.length !== width) return null;
  return {
    values: attributes.map((attribute, x) => attribute.fromText(fields[places[x]])),
    id: person ? trimmed(fields[places.at(-1)]) : null,
  };
}

function jsonRow(line, { attributes, person }) {
  let row = null;
  try {
    row = JSON.parse(line.replace(/^\ufeff/, ""));
  } catch {
    return null;
  }
  if (typeof row !== "object" || row === null || Array.isArray(row)) return null;
  if (Object.values(row).some((value) => Math.abs(value) === Infinity && typeof value === "number")) return null; // 1e999 is no JSON
  const of = (name) => (Object.hasOwn(row, name) ? row[name] : null);
  const id = person ? of(person.column) : null;
  return {
    values: attributes.map((attribute) => attribute.fromJson(of(attribute.name))),
    id: Number.isInteger(id) ? String(id) : typeof id === "string" ? id : "",
  };
}

// What becomes of a row: the worst of what its values say.
function verdictOf(row, { attributes, person }) {
  if (!row || (person && !(row.id && new TextEncoder().encode(row.id).length <= LONGEST_ID))) return DROPPED;
  return Math.max(...row.values.map((value, x) => attributes[x].verdict(value)));
}

// The numbers of rows read, dropped, clipped and, for persons, beyond the limit of rows per person; and whether the whole
// file was read. `person` has the column and the limit; null for records. Throws if the columns do not fit.
export async function checkText(file, { csv, gzip, attributes, outOfRange, person = null }, signal) {
  const counted = { read: 0, dropped: 0, clipped: 0, overLimit: 0, whole: false };
  const rowsOf = new Map();
  const wanted = [...attributes.map(({ name }) => name), ...(person ? [person.column] : [])];
  const terms = { attributes, person };
  let columns = null;
  for await (const { lines, whole } of lineGroups(file, gzip)) {
    signal.throwIfAborted();
    counted.whole = whole;
    for (const ended of lines) {
      const line = ended.endsWith("\r") ? ended.slice(0, -1) : ended;
      if (csv && !columns) {
        columns = columnsOf(line, wanted);
        continue;
      }
      if (!line) continue;
      counted.read += 1;
      const row = line.length > LONGEST_LINE ? null : csv ? csvRow(line, columns, terms) : jsonRow(line, terms);
      const verdict = verdictOf(row, terms);
      if (verdict === DROPPED || (verdict === OUTSIDE && outOfRange === "drop")) {
        counted.dropped += 1;
        continue;
      }
      if (verdict === OUTSIDE) counted.clipped += 1;
      if (person) {
        const rows = (rowsOf.get(row.id) ?? 0) + 1;
        rowsOf.set(row.id, rows);
        if (rows > person.maxRows) counted.overLimit += 1;
      }
    }
  }
  if (csv && !columns) throw new Error("The first line must name the columns, separated by commas.");
  return counted;
}
