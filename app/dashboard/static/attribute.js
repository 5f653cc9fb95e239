// The kinds of attributes. All that pages need to know about a kind is asked of the classes in KINDS: how a value is shown
// and typed, where a chart places it, how a part of it is written in `where`, how a file has it.
import { Attribute, DROPPED, Fault, INSIDE, MISSING_LABEL, OTHER_LABEL } from "./kind.js";
import { IntegerAttribute, NumberAttribute } from "./numbers.js";
import { DateAttribute, DatetimeAttribute } from "./times.js";

// Spellings of "no value" in files; one that is on the list of a category is a value. As in app/ingest/columns/categories.py.
export const NULLS = ["", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "#N/A"];
const OTHER = -1;
const LISTED = 8; // values that are named in a sentence

export class CategoryAttribute extends Attribute {
  static kind = "category";
  static title = "category";
  static fields = ["values", "other"];
  static hint = "A list of values that is public. Rows are matched by their text.";

  constructor(declared) {
    super(declared);
    this.values = declared.values;
    this.hasOther = declared.other ?? false;
    this.labels = [...this.values, ...(this.hasOther ? [OTHER_LABEL] : []), ...(this.keepsMissing ? [MISSING_LABEL] : [])];
    this.places = new Map([...NULLS.map((text) => [text, null]), ...this.values.map((text, place) => [text, place])]);
  }

  static declare({ values, other }) {
    const listed = values.split(/[\n,]/).map((text) => text.trim()).filter(Boolean);
    if (listed.length === 0) throw new Fault("values", "List at least one value.");
    const twice = listed.find((text, place) => listed.indexOf(text) !== place);
    if (twice !== undefined) throw new Fault("values", `“${twice}” is listed twice.`);
    return { values: listed, ...(other ? { other: true } : {}) };
  }

  get words() {
    const shown = this.values.slice(0, LISTED).join(", ");
    const more = this.values.length - LISTED;
    return `${shown}${more > 0 ? ` and ${more} more` : ""}${this.hasOther ? ", others" : ""}`;
  }

  // Labels that a selection on a chart touches, from its ends on the axis, where cell j reaches from j - 1/2 to j + 1/2.
  touched([low, high]) {
    return this.labels.filter((_, place) => place + 0.5 > low && place - 0.5 < high);
  }

  // Whether a text is a part of this attribute: some of its labels.
  accepts(part) {
    return part.split(",").every((label) => this.labels.includes(label));
  }

  partWords(text) {
    return `${this.name} ${text.split(",").join(" or ")}`;
  }

  fromText(text) {
    const trimmed = text.replace(/^[ \t]+|[ \t]+$/g, "");
    return this.places.has(trimmed) ? this.places.get(trimmed) : OTHER;
  }

  fromJson(value) {
    return ["string", "number", "boolean"].includes(typeof value) ? this.fromText(String(value)) : null;
  }

  isListed(value) {
    return value !== OTHER;
  }

  judge(value) {
    return value === OTHER && !this.hasOther ? DROPPED : INSIDE;
  }
}

export const KINDS = Object.fromEntries(
  [NumberAttribute, IntegerAttribute, CategoryAttribute, DateAttribute, DatetimeAttribute].map((kind) => [kind.kind, kind]));

export const attributeOf = (declared) => new KINDS[declared.kind ?? "number"](declared);

// Cells of an axis of an answer, for a chart: `edges` are their positions, `names` their words, `ticks` their labels if
// they are categories. `missing` says whether the counts have one cell more, for rows without a value. Of a part, an
// ordered attribute may have its missing values alone: the axis is then one of labels.
export function cellsOf(attribute, axis) {
  if (!axis.labels) {
    const edges = axis.edges.map((edge) => attribute.at(edge));
    return { edges, names: edges.slice(1).map((edge, j) => attribute.cellName(edges[j], edge)), ticks: null, missing: axis.missing ?? false };
  }
  const edges = [...axis.labels, null].map((_, place) => place - 0.5);
  return { edges, names: axis.labels, ticks: axis.labels, missing: false };
}

export { Fault, MISSING_LABEL };
