// Counts the rows of a text file that the service would read, drop and clip. It runs in the browser; nothing is sent. The
// rules are those of app/ingest/csv_reader.py and ndjson_reader.py: each line is parsed on its own. A test compares both.

export const MOST_BYTES = 32 * 2 ** 20; // only so much of the file is read
const LONGEST_LINE = 64 * 2 ** 10;
const NUMBER = /^[ \t]*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t]*$/;

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

function columnsOf(line, attributes) {
  const names = (fieldsOf(line.replace(/^\ufeff/, "")) ?? []).map((name) => name.replace(/^[ \t]+|[ \t]+$/g, ""));
  const listed = (wanted) => attributes.map(({ name }) => name).filter((name) => wanted(names.filter((other) => other === name).length)).join(", ");
  const missing = listed((count) => count === 0);
  if (missing) throw new Error(`The file has no column for: ${missing}. Names are matched exactly.`);
  const ambiguous = listed((count) => count > 1);
  if (ambiguous) throw new Error(`The file has more than one column for: ${ambiguous}. Keep one of each.`);
  return { width: names.length, places: attributes.map(({ name }) => names.indexOf(name)) };
}

function csvNumbers(line, { width, places }) {
  const fields = fieldsOf(line);
  if (fields?.length !== width) return null;
  const wanted = places.map((place) => fields[place]);
  return wanted.every((field) => NUMBER.test(field)) ? wanted.map(Number) : null;
}

function jsonNumbers(line, attributes) {
  try {
    const row = JSON.parse(line.replace(/^\ufeff/, ""));
    const numbers = attributes.map(({ name }) => (Object.hasOwn(row, name) ? row[name] : null));
    return numbers.every((value) => typeof value === "number") ? numbers : null;
  } catch {
    return null;
  }
}

// The numbers of rows read, dropped and clipped, and whether the whole file was read. Throws if the columns do not fit.
export async function checkText(file, { csv, gzip, attributes, outOfRange }, signal) {
  const counted = { read: 0, dropped: 0, clipped: 0, whole: false };
  let columns = null;
  for await (const { lines, whole } of lineGroups(file, gzip)) {
    signal.throwIfAborted();
    counted.whole = whole;
    for (const ended of lines) {
      const line = ended.endsWith("\r") ? ended.slice(0, -1) : ended;
      if (csv && !columns) {
        columns = columnsOf(line, attributes);
        continue;
      }
      if (!line) continue;
      counted.read += 1;
      const numbers = line.length > LONGEST_LINE ? null : csv ? csvNumbers(line, columns) : jsonNumbers(line, attributes);
      if (!numbers?.every(Number.isFinite)) {
        counted.dropped += 1;
      } else if (numbers.some((value, x) => value < attributes[x].lower || value > attributes[x].upper)) {
        counted[outOfRange === "drop" ? "dropped" : "clipped"] += 1;
      }
    }
  }
  if (csv && !columns) throw new Error("The first line must name the columns, separated by commas.");
  return counted;
}
