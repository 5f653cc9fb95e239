// Counts the rows of a text file that the service would read, drop and clip, and says why, column by column. It runs in the
// browser; nothing is sent. The file is read in slices, and only counts are kept. The rules are those of
// app/ingest/csv_reader.py and ndjson_reader.py: each line is parsed on its own. A test compares both. What a value is
// depends on the kind of its attribute, which reads it: see attribute.js.
import { NULLS } from "./attribute.js";
import { columnsOf, fieldsOf, lookalikes, trimmed } from "./header.js";
import { DROPPED, OUTSIDE } from "./kind.js";

const LONGEST_LINE = 64 * 2 ** 10; // bytes
const LONGEST_ID = 256; // bytes
const REPLACED = "\ufffd"; // what the decoder writes for bytes that are no UTF-8
const MOST_IDS = 2_000_000; // persons that are told apart in the browser's memory

const bytesOf = (text) => new TextEncoder().encode(text).length;
const isLonger = (text, most) => text.length > most || (3 * text.length > most && bytesOf(text) > most);

function takes(decoder, bytes) {
  try {
    decoder.decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

// Yields the lines of a file in groups; `whole` of the last group says whether the file was read to its end, and `utf8`
// whether all bytes were UTF-8 up to here.
async function* lineGroups(file, gzip, reading) {
  let bytes = 0;
  const counting = new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      controller.enqueue(chunk);
    },
  });
  const counted = file.stream().pipeThrough(counting);
  const reader = (gzip ? counted.pipeThrough(new DecompressionStream("gzip")) : counted).getReader();
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const strict = new TextDecoder("utf-8", { fatal: true });
  let utf8 = true; // so far
  let begun = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = (begun + decoder.decode(value, { stream: true })).split("\n");
      utf8 &&= takes(strict, value);
      begun = lines.pop().slice(0, LONGEST_LINE + 2); // a line that is already too long stays too long
      yield { lines, whole: false, utf8 };
      reading.progress?.(bytes, file.size);
      if (reading.enough) return;
    }
    yield { lines: begun ? [begun] : [], whole: true, utf8 };
  } finally {
    reader.cancel().catch(() => {});
  }
}

// Both functions return the values of a row, null for a missing one, what the file has for them, and its id; or null for a
// line that is no row.
function csvRow(line, { width, places }, { attributes, person }) {
  const fields = fieldsOf(line);
  if (fields?.length !== width) return null;
  const raw = attributes.map((_, x) => fields[places[x]]);
  return { raw, values: attributes.map((attribute, x) => attribute.fromText(raw[x])), id: person ? trimmed(fields[places.at(-1)]) : null };
}

function jsonRow(line, { attributes, person }, names, utf8) {
  let row = null;
  if (!utf8 && line.includes(REPLACED)) return null; // some of its bytes are no UTF-8, and then it is no JSON
  try {
    row = JSON.parse(line.replace(/^\ufeff/, ""));
  } catch {
    return null;
  }
  if (typeof row !== "object" || row === null || Array.isArray(row)) return null;
  if (Object.values(row).some((value) => Math.abs(value) === Infinity && typeof value === "number")) return null; // 1e999 is no JSON
  if (names.size === 0) Object.keys(row).forEach((name) => names.add(name)); // those of the first row
  const of = (name) => (Object.hasOwn(row, name) ? row[name] : null);
  const id = person ? of(person.column) : null;
  const raw = attributes.map((attribute) => of(attribute.name));
  return {
    raw, values: attributes.map((attribute, x) => attribute.fromJson(raw[x])),
    id: Number.isInteger(id) && id >= -(2 ** 63) && id <= 2 ** 64 ? String(id) : typeof id === "string" ? id : "",
  };
}

const isEmpty = (raw) => raw === null || (typeof raw === "string" && NULLS.includes(trimmed(raw)));

// What is wrong with the values of one column: their numbers, the line of the first one, and how it is probably written.
class Tally {
  constructor(attribute) {
    Object.assign(this, { attribute, empty: 0, unreadable: 0, unlisted: 0, outside: 0, firstLine: null, habit: null });
  }

  add(value, raw, verdict, line) {
    const kind = value === null ? (isEmpty(raw) ? "empty" : "unreadable") : verdict === OUTSIDE ? "outside" : this.attribute.isListed(value) ? null : "unlisted";
    if (!kind) return;
    this[kind] += 1;
    if (kind === "empty") return;
    this.firstLine ??= line;
    if (kind === "unreadable") this.habit ??= this.attribute.habit(String(raw));
  }
}

// The numbers of rows read, dropped, clipped and, for persons, beyond the limit of rows per person (null where there are too
// many persons to tell); whether the whole file was read; rows that are no rows (`broken`) or have no id; a tally for each
// column; and hints. `person` has the column and the limit; null for records. `reading` has `progress`, called with bytes
// read and all bytes, and `enough`: once that is true, the rest of the file is not read. Throws if the columns do not fit.
export async function checkText(file, { csv, gzip, attributes, outOfRange, person = null }, signal, reading = {}) {
  const terms = { attributes, person };
  const wanted = [...attributes.map(({ name }) => name), ...(person ? [person.column] : [])];
  const counted = { read: 0, dropped: 0, clipped: 0, overLimit: 0, whole: true, broken: 0, withoutId: 0 };
  const tallies = attributes.map((attribute) => new Tally(attribute));
  const rowsOf = new Map();
  const names = new Set();
  let columns = null;
  let number = 0;
  for await (const { lines, whole, utf8 } of lineGroups(file, gzip, reading)) {
    signal.throwIfAborted();
    counted.whole = whole;
    for (const ended of lines) {
      number += 1;
      const line = ended.endsWith("\r") ? ended.slice(0, -1) : ended;
      if (csv && !columns) {
        columns = columnsOf(line, wanted);
        continue;
      }
      if (!line) continue;
      counted.read += 1;
      const row = isLonger(ended, LONGEST_LINE) ? null : csv ? csvRow(line, columns, terms) : jsonRow(line, terms, names, utf8);
      const verdict = row ? judge(row, terms, tallies, counted, number) : DROPPED;
      if (!row) counted.broken += 1;
      if (verdict === DROPPED || (verdict === OUTSIDE && outOfRange === "drop")) {
        counted.dropped += 1;
        continue;
      }
      if (verdict === OUTSIDE) counted.clipped += 1;
      if (person && counted.overLimit !== null) {
        const rows = (rowsOf.get(row.id) ?? 0) + 1;
        rowsOf.set(row.id, rows);
        if (rows > person.maxRows) counted.overLimit += 1;
        if (rowsOf.size > MOST_IDS) counted.overLimit = null;
      }
    }
  }
  if (csv && !columns) throw new Error("The first line must name the columns, separated by commas.");
  const hints = csv ? [] : lookalikes([...names], wanted.filter((name) => names.size && !names.has(name)));
  return { ...counted, tallies, hints };
}

// What becomes of a row: the worst of what its values say.
function judge(row, { attributes, person }, tallies, counted, number) {
  let worst = 0;
  if (person && (!row.id || isLonger(row.id, LONGEST_ID))) {
    counted.withoutId += 1;
    worst = DROPPED;
  }
  row.values.forEach((value, x) => {
    const verdict = attributes[x].verdict(value);
    tallies[x].add(value, row.raw[x], verdict, number);
    worst = Math.max(worst, verdict);
  });
  return worst;
}
