// The kinds number and integer.
import { inUnits, number } from "./format.js";
import { Fault } from "./kind.js";
import { Ordered } from "./ordered.js";

// A number as files have it; as in app/ingest/columns/numbers.py.
const NUMBER = /^[ \t]*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t]*$/;

function declaredNumbers(texts, read, message) {
  const bounds = {};
  for (const field of ["lower", "upper"]) {
    bounds[field] = read(texts[field]);
    if (bounds[field] === null) throw new Fault(field, message);
  }
  return bounds;
}

export class NumberAttribute extends Ordered {
  static kind = "number";
  static title = "number";
  static hint = "Any number. Values beyond a bound are clipped to it or dropped, as each order says. " +
    "Declare a column of whole numbers as a whole number: its cells then never cut a value.";

  static read(text) {
    return text.trim() === "" || !Number.isFinite(Number(text)) ? null : Number(text);
  }

  static declare(texts) {
    const bounds = declaredNumbers(texts, this.read, "Write a number.");
    if (bounds.lower >= bounds.upper) throw new Fault("upper", "It must be above the lower bound.");
    return bounds;
  }

  at(value) {
    return value;
  }

  back(position) {
    return position;
  }

  shown(value) {
    return inUnits(value, this.upper - this.lower).toLocaleString("en", { maximumFractionDigits: 12 });
  }

  mean(value) {
    return number(value, 4);
  }

  fineName(low, high) {
    return [low, high].map((end) => inUnits(end, 100 * (high - low)).toLocaleString("en", { maximumFractionDigits: 12 })).join(" to ");
  }

  get densityUnit() {
    return { words: `rows per unit of ${this.name}`, size: 1 };
  }

  typed(position) {
    return String(inUnits(position, this.upper - this.lower));
  }

  written(text) {
    return NumberAttribute.read(text) === null ? null : text;
  }

  typedValue(text) {
    return Number(text);
  }

  // Why a text is no number, with a suggestion if its commas allow one.
  fault(text) {
    const plain = text.replaceAll(",", "");
    const meant = /^[-+]?\d+,\d{3}$/.test(text) ? `${plain} or ${text.replace(",", ".")}`
      : /^[-+]?\d*,\d+$/.test(text) ? text.replace(",", ".")
        : /^[-+]?\d{1,3}(,\d{3})+(\.\d*)?$/.test(text) ? plain : "";
    return `'${text}' is not a number${meant ? `; write ${meant}` : ""}.`;
  }

  habit(text) {
    return /^\s*[-+]?[\d.]*,\d+\s*$/.test(text) ? "Numbers seem to have a decimal comma; write a point." : null;
  }

  fromText(text) {
    return NUMBER.test(text) && Number.isFinite(Number(text)) ? Number(text) : null;
  }

  fromJson(value) {
    if (typeof value === "string") return this.fromText(value);
    return typeof value === "number" && Number.isFinite(value) ? value : null;
  }
}

export class IntegerAttribute extends NumberAttribute {
  static kind = "integer";
  static title = "whole number";
  static hint = "Both bounds belong to it. A value that is not whole counts as missing.";
  static before = 0.5;
  static step = 1;
  static input = { type: "text", inputMode: "numeric" };
  static isClosed = true;

  static read(text) {
    return /^\s*[+-]?\d{1,16}\s*$/.test(text) ? Number(text) : null;
  }

  static declare(texts) {
    const bounds = declaredNumbers(texts, this.read, "Write a whole number.");
    if (bounds.lower > bounds.upper) throw new Fault("upper", "It must not be below the lower bound.");
    return bounds;
  }

  written(text) {
    return IntegerAttribute.read(text) === null ? null : text.trim();
  }

  fault(text) {
    return `'${text}' is not a whole number.`;
  }

  habit(text) {
    return Number.isFinite(super.fromText(text) ?? NaN) ? "Some numbers are not whole." : super.habit(text);
  }

  fineName(low, high) {
    return this.cellName(low, high);
  }

  get densityUnit() {
    return { words: "rows per value", size: 1 };
  }

  typed(position) {
    return String(Math.round(position));
  }

  fromText(text) {
    const value = super.fromText(text);
    return Number.isInteger(value) ? value : null;
  }

  fromJson(value) {
    const read = super.fromJson(value);
    return Number.isInteger(read) ? read : null;
  }
}
