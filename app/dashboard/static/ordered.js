// Ordered: what the kinds of attributes have in common whose values lie on a line. A chart places a value at a number: the
// value itself; of a date or a datetime, milliseconds since 1970 as if the attribute's zone were UTC, because Plotly
// knows no other zone.
import { number } from "./format.js";
import { Attribute, INSIDE, MISSING_LABEL, OUTSIDE } from "./kind.js";

// Subclasses have `at` (JSON value to position), `back` (position to JSON value), `shown` (JSON value in words), `typed`
// (position to the text of an input) and `written` (text of an input to an end of a range; null if it is none).
export class Ordered extends Attribute {
  static fields = ["lower", "upper"];
  static before = 0; // from the lower edge of a value to its position
  static step = 0; // from a value to the next one; 0 if there is none
  static plotType = "linear";
  static input = { type: "text", inputMode: "decimal" };
  static isClosed = false; // whether a range holds its upper end

  constructor(declared) {
    super(declared);
    Object.assign(this, { lower: declared.lower, upper: declared.upper });
    [this.start, this.stop] = this.span(this.lower, this.upper);
  }

  get words() {
    return `${this.shown(this.lower)} to ${this.shown(this.upper)}`;
  }

  get plotType() {
    return this.constructor.plotType;
  }

  get input() {
    return this.constructor.input;
  }

  get rule() {
    return this.constructor.isClosed ? "both ends are counted" : "the upper end is not counted";
  }

  // Both edges of the range from one value to another, as positions.
  span(lower, upper) {
    const { before, step } = this.constructor;
    return [this.at(lower) - before, this.at(upper) - before + step];
  }

  // A cell in words.
  cellName(low, high) {
    const { before, step } = this.constructor;
    const [first, last] = [low + before, high + before - step].map((place) => this.shown(this.back(place)));
    return first === last ? first : `${first} to ${last}`;
  }

  // A cell in words that may be much smaller than the bounds are apart.
  fineName(low, high) {
    return this.cellName(low, high);
  }

  // What a chart of rows per unit says, and the length of that unit in positions.
  get densityUnit() {
    return { words: "rows per value", size: 1 };
  }

  // A position as a chart's selection gives it: a number, or a text such as "2026-03-01 12:30:00.5".
  place(drawn) {
    return typeof drawn === "number" ? drawn : Date.parse(drawn.replace(" ", "T") + (drawn.length > 10 ? "Z" : ""));
  }

  // The ends of the range that a selection on a chart has dragged over, as the texts of two inputs. A range of whole
  // values takes those that lie in it by half at least, and one value if there is none.
  dragged(drawn) {
    const { before, step } = this.constructor;
    const ends = drawn.map((end) => Math.min(this.stop, Math.max(this.start, this.place(end)))).sort((a, b) => a - b);
    if (!step) return ends.map((end) => this.typed(end));
    const last = this.stop + before - step;
    const first = Math.min(last, step * Math.round((ends[0] + before) / step));
    return [first, Math.max(first, step * Math.round((ends[1] + before) / step) - step)].map((end) => this.typed(end));
  }

  // The edges of the range between two inputs; an empty text stands for the bound.
  ends(from, to) {
    return this.span(from ? this.typedValue(from) : this.lower, to ? this.typedValue(to) : this.upper);
  }

  typedValue(text) {
    return this.written(text);
  }

  // An end of a range as the text of an input.
  inputText(text) {
    return text;
  }

  // The text of an input with the digits that the words of a part have, for reading only; empty for an empty one.
  rounded(text) {
    return text && this.typed(this.at(this.typedValue(text)));
  }

  range(from, to) {
    return `${from ? this.written(from) : ""}..${to ? this.written(to) : ""}`;
  }

  // The range between two edges of an answer's axis, as `where` has it.
  between(low, high) {
    const { before, step } = this.constructor;
    if (!step) return `${low}..${high}`;
    return [this.at(low) + before, this.at(high) + before - step].map((place) => this.back(place)).join("..");
  }

  // The texts of both ends of a part such as 20..60, 20.. or, where both ends are counted, 20; null for anything else.
  endsOf(part) {
    const ends = part.split("..");
    if (ends.length === 1 && this.constructor.isClosed) ends.push(part);
    return ends.length === 2 && ends.every((end) => end === "" || this.written(end) !== null) ? ends : null;
  }

  // The edges of a part; null for its missing values.
  spanOf(part) {
    const ends = this.endsOf(part);
    return ends && this.ends(...ends);
  }

  // Whether a text is a part of this attribute that has values within the bounds.
  accepts(part) {
    if (part === MISSING_LABEL) return this.keepsMissing;
    const [low, high] = (part !== ".." && this.spanOf(part)) || [0, 0];
    return low < high && low < this.stop && high > this.start;
  }

  partWords(part) {
    const ends = this.endsOf(part);
    if (!ends) return `${this.name} ${part}`;
    const [from, to] = ends.map((end, place) => this.shown(end ? this.typedValue(end) : [this.lower, this.upper][place]));
    if (from === to) return `${this.name} ${from}`;
    return `${this.name} ${from} to ${this.constructor.isClosed ? "" : "below "}${to}`;
  }

  // A mean in words.
  mean(value) {
    return this.shown(value);
  }

  // A standard deviation in words.
  spread(value) {
    return number(value, 4);
  }

  judge(value) {
    return value < this.lower || value > this.upper ? OUTSIDE : INSIDE;
  }
}
