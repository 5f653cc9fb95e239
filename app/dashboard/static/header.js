// The fields of a line of CSV, and the header line: where the wanted columns are, and what is probably meant where they
// are not. The rules are those of app/ingest/csv_reader.py.

const SEPARATORS = { ";": "semicolons", "\t": "tabs", "|": "vertical bars" };

export const trimmed = (text) => text.replace(/^[ \t]+|[ \t]+$/g, "");

// The fields of a line; null if its quotes do not match.
export function fieldsOf(line) {
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

// A name without what people overlook: case, blanks, signs.
const plain = (name) => name.normalize("NFKC").toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

// For each missing column the one that is probably meant.
export function lookalikes(names, missing) {
  return missing.flatMap((name) => names.filter((other) => plain(other) && plain(other) === plain(name)).slice(0, 1)
    .map((other) => `“${other}” is probably ${name}: rename it in the file; case and blanks count.`));
}

function advice(line, names, missing, wanted) {
  const foundBy = (sign) => line.split(sign).map(plain).filter((name) => wanted.some((other) => plain(other) === name)).length;
  const separates = (sign) => (line.includes(",") ? foundBy(sign) > Math.max(foundBy(","), 1) : line.includes(sign));
  const sign = Object.keys(SEPARATORS).find(separates);
  if (sign) {
    return [`Its columns are separated by ${SEPARATORS[sign]}; rugnik reads commas. Save it as “CSV UTF-8 (comma delimited)”, with a point in decimal numbers.`];
  }
  if (names.every((name) => /^[-+.\d]/.test(name))) return [`Its first line holds no names. Put this line before it: ${wanted.join(",")}`];
  return lookalikes(names, missing);
}

// The places of the wanted columns; the last one is that of the ids of persons, if they are wanted.
export function columnsOf(line, wanted) {
  const text = line.replace(/^\ufeff/, "");
  const names = (fieldsOf(text) ?? []).map(trimmed);
  const chosen = (fits) => wanted.filter((name) => fits(names.filter((other) => other === name).length));
  const missing = chosen((count) => count === 0);
  if (missing.length) {
    throw new Error([`The file has no column for: ${missing.join(", ")}. Names are matched exactly.`, ...advice(text, names, missing, wanted)].join(" "));
  }
  const ambiguous = chosen((count) => count > 1);
  if (ambiguous.length) throw new Error(`The file has more than one column for: ${ambiguous.join(", ")}. Keep one of each.`);
  return { width: names.length, places: wanted.map((name) => names.indexOf(name)) };
}
