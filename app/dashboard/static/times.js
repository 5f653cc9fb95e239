// The kinds date and datetime. Their values are data, so pages write them as files and the API have them, 2026-01-31; days
// of records are written for people, 31 Jan 2026 (format.js).
import { number } from "./format.js";
import { Fault, INSIDE, OUTSIDE } from "./kind.js";
import { Ordered } from "./ordered.js";

const DAY = 86_400_000;
const MOMENT = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})?$/;
const iso = (milliseconds, length) => new Date(milliseconds).toISOString().slice(0, length);
const trimmed = (text) => text.replace(/^[ \t]+|[ \t]+$/g, "");

// The start of a day YYYY-MM-DD in milliseconds; NaN for a day that no calendar has.
function dayOf(text) {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text.startsWith("0000")) return NaN;
  const start = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(start) || iso(start, 10) !== text ? NaN : start;
}

export class DateAttribute extends Ordered {
  static kind = "date";
  static title = "date";
  static hint = "Days, written YYYY-MM-DD in files. Both bounds belong to it.";
  static step = DAY;
  static plotType = "date";
  static input = { type: "date" };
  static isClosed = true;

  constructor(declared) {
    super(declared);
    Object.assign(this, { first: dayOf(this.lower), last: dayOf(this.upper) });
  }

  static declare({ lower, upper }) {
    if (!lower) throw new Fault("lower", "Choose a date.");
    if (!upper) throw new Fault("upper", "Choose a date.");
    if (lower > upper) throw new Fault("upper", "It must not be before the lower bound.");
    return { lower, upper };
  }

  at(value) {
    return Date.parse(`${value}T00:00:00Z`);
  }

  back(position) {
    return iso(position, 10);
  }

  shown(value) {
    return value;
  }

  typed(position) {
    return iso(position, 10);
  }

  written(text) {
    return Number.isNaN(dayOf(text)) ? null : text;
  }

  fault() {
    return "the date is not complete; give its day, month and year.";
  }

  habit(text) {
    return /^\s*\d{1,4}[./-]\d{1,2}[./-]\d{1,4}/.test(text) ? "Days are written year first, as in 2026-01-31." : null;
  }

  spread(value) {
    return `${number(value)} days`;
  }

  get densityUnit() {
    return { words: "rows per day", size: DAY };
  }

  fromText(text) {
    const day = dayOf(trimmed(text));
    return Number.isNaN(day) ? null : day;
  }

  fromJson(value) {
    return typeof value === "string" ? this.fromText(value) : null;
  }

  judge(value) {
    return value < this.first || value > this.last ? OUTSIDE : INSIDE;
  }
}

export class DatetimeAttribute extends Ordered {
  static kind = "datetime";
  static title = "date and time";
  static fields = ["lower", "upper", "zone"];
  static hint = "Moments, written like 2026-01-31T14:05:00Z in files. The upper bound itself lies outside.";
  static plotType = "date";
  static input = { type: "datetime-local", step: 1 };

  constructor(declared) {
    super(declared);
    this.zone = MOMENT.exec(this.lower)[4];
    Object.assign(this, { first: this.moment(this.lower), last: this.moment(this.upper) });
  }

  static declare({ lower, upper, zone }) {
    if (!/^(Z|[+-]\d{2}:\d{2})$/.test(zone)) throw new Fault("zone", "Write Z for UTC, or an offset such as +01:00.");
    if (!lower) throw new Fault("lower", "Choose a date and a time.");
    if (!upper) throw new Fault("upper", "Choose a date and a time.");
    if (lower >= upper) throw new Fault("upper", "It must be after the lower bound.");
    const [from, to] = [lower, upper].map((text) => (text.length === 16 ? `${text}:00` : text) + zone);
    return { lower: from, upper: to };
  }

  // The time on the attribute's own clock, as if it were UTC.
  at(value) {
    return Date.parse(`${value.replace(/(?:Z|[+-]\d{2}:\d{2})$/i, "").replace(" ", "T")}Z`);
  }

  back(position) {
    return `${iso(position, 19)}${this.zone}`;
  }

  shown(value) {
    return value.replace("T", " ").replace(/\.\d+/, "").replace(/Z$/, " UTC");
  }

  typed(position) {
    return iso(position, 19);
  }

  // A moment in another zone is none of the attribute's own texts.
  written(text) {
    const whole = text.length === 16 ? `${text}:00` : text;
    return [undefined, this.zone].includes((MOMENT.exec(whole) ?? [null, null, null, null, ""])[4]) ? whole : null;
  }

  inputText(text) {
    return text.endsWith(this.zone) ? text.slice(0, -this.zone.length) : text;
  }

  fault() {
    return "the date and time are not complete.";
  }

  habit(text) {
    return /^\s*\d{1,4}[./-]\d{1,2}[./-]\d{1,4}/.test(text) ? "Moments are written like 2026-01-31T14:05:00Z." : null;
  }

  get densityUnit() {
    const [words, size] = [["rows per day", DAY], ["rows per hour", DAY / 24], ["rows per minute", 60_000]]
      .find(([, length]) => this.stop - this.start >= 20 * length) ?? ["rows per second", 1000];
    return { words, size };
  }

  // From seconds, in the largest unit of which there is one at least.
  spread(seconds) {
    const [unit, length] = [["days", 86_400], ["hours", 3600], ["minutes", 60], ["seconds", 1]]
      .find(([, size]) => seconds >= size) ?? ["seconds", 1];
    return `${number(seconds / length)} ${unit}`;
  }

  // Milliseconds since 1970, with microseconds as a fraction; NaN for what is no moment.
  moment(text) {
    const [, day, time, fraction = "", zone = this.zone] = MOMENT.exec(text) ?? [];
    const start = day ? dayOf(day) : NaN;
    const [hours, minutes, seconds] = (time ?? "").split(":").map(Number);
    if (Number.isNaN(start) || hours > 23 || minutes > 59 || seconds > 59) return NaN;
    const offset = /^Z$/i.test(zone) ? [0, 0] : zone.slice(1).split(":").map(Number);
    if (offset[0] > 23 || offset[1] > 59) return NaN;
    const ahead = (zone[0] === "-" ? -1 : 1) * (60 * offset[0] + offset[1]);
    return start + 1000 * (3600 * hours + 60 * (minutes - ahead) + seconds) + Number(fraction.slice(0, 6).padEnd(6, "0")) / 1000;
  }

  fromText(text) {
    const moment = this.moment(trimmed(text));
    return Number.isNaN(moment) ? null : moment;
  }

  fromJson(value) {
    return typeof value === "string" ? this.fromText(value) : null;
  }

  judge(value) {
    return value < this.first || value >= this.last ? OUTSIDE : INSIDE;
  }
}
