// Formats numbers with significant digits, and times in the reader's time zone.

export function number(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Number.isInteger(value) || Math.abs(value) >= 10 ** digits) return Math.round(value).toLocaleString("en");
  return Number(value.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits });
}

// A value rounded for its attribute: the number of decimals follows from the width of the bounds.
export function inUnits(value, attribute) {
  const width = attribute.upper - attribute.lower;
  const places = Math.min(12, Math.max(0, 3 - Math.floor(Math.log10(width))));
  return Number(value.toFixed(places));
}

export function shown(value, attribute) {
  return inUnits(value, attribute).toLocaleString("en", { maximumFractionDigits: 12 });
}

const dayAndTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export function localTime(text) {
  return text.length === 10 ? text : dayAndTime.format(new Date(text));
}

export function localTimes(root) {
  for (const time of root.querySelectorAll("time[data-local]")) {
    time.textContent = localTime(time.dateTime);
    time.title = `${time.dateTime.replace("T", " ").replace("Z", " UTC")}`;
  }
}

// A sentence with the factor exp(epsilon) by which odds can grow.
export function odds(epsilon) {
  const factor = Math.exp(epsilon);
  if (factor > 1e6) return "Odds that one record is there can grow by a factor of more than a million: practically no protection.";
  const half = 1 / (1 + Math.exp(-epsilon));
  return `Odds that one record is there can grow by a factor of at most ${number(factor)}: ` +
    `from 50\u00a0% to at most ${half > 0.999 ? "over 99.9" : number(100 * half)}\u00a0%.`;
}
