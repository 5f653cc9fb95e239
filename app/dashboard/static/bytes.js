// What the first bytes of a file say of it: a spreadsheet, an encoding that rugnik does not read, a format with another name.

const LOOKED_AT = 2 ** 16;
const SIGNATURES = [
  { bytes: [0x50, 0x4b, 0x03, 0x04], kind: "zip" }, { bytes: [0xd0, 0xcf, 0x11, 0xe0], kind: "xls" },
  { bytes: [0x50, 0x41, 0x52, 0x31], kind: "parquet" }, { bytes: [0x41, 0x52, 0x52, 0x4f, 0x57, 0x31], kind: "arrow file" },
  { bytes: [0x1f, 0x8b], kind: "gzip" }, { bytes: [0xff, 0xfe], kind: "utf-16" }, { bytes: [0xfe, 0xff], kind: "utf-16" },
];
const SPREADSHEET = "This is a spreadsheet, not text. Open it in the program that made it, choose “Save as” and “CSV UTF-8 (comma delimited)”, and choose that file here.";
const ADVICE = {
  zip: SPREADSHEET, xls: SPREADSHEET,
  parquet: "This is a Parquet file: choose Parquet as the kind of file.",
  "arrow file": "This is an Arrow file. rugnik reads Arrow streams; write it as one, or as Parquet.",
  gzip: "This file is compressed: tick “compressed with gzip”.",
  "utf-16": "This file is written in UTF-16, which rugnik does not read. Save it again as UTF-8; spreadsheet programs call it “CSV UTF-8 (comma delimited)”.",
};

function isUtf8(bytes) {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true }); // the last letter may be cut off
    return true;
  } catch {
    return false;
  }
}

// Every second byte is 0: UTF-16 without a mark at its start, as Western text has it.
function isUtf16(bytes) {
  const zeros = [0, 1].map((odd) => bytes.filter((byte, place) => place % 2 === odd && byte === 0).length);
  return Math.max(...zeros) > 0.3 * bytes.length && Math.min(...zeros) < 0.05 * bytes.length;
}

// `fault`: why a text file of this kind cannot be read, in a sentence, null if nothing speaks against it. `doubt`: what to
// look at although it can be read. `isText` says whether it is to be read as text without unpacking.
export async function lookAtBytes(file, isText) {
  const bytes = new Uint8Array(await file.slice(0, LOOKED_AT).arrayBuffer());
  const kind = SIGNATURES.find((each) => each.bytes.every((byte, place) => bytes[place] === byte))?.kind ?? null;
  if (["zip", "xls"].includes(kind)) return { fault: ADVICE[kind], doubt: null };
  if (!isText) return { fault: null, doubt: null };
  if (kind) return { fault: ADVICE[kind], doubt: null };
  if (isUtf16(bytes)) return { fault: ADVICE["utf-16"], doubt: null };
  const latin = "Some letters are not in UTF-8, so the file is probably in Latin-1 or a Windows encoding. Values and names with such letters do not match. Save it again as UTF-8.";
  return { fault: null, doubt: isUtf8(bytes) ? null : latin };
}
