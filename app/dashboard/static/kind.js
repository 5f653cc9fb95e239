// Attribute: what all kinds have in common. Fault: what is wrong with a field of a form.

export const MISSING_LABEL = "(missing)";
export const OTHER_LABEL = "(other)";

// What becomes of a row because of one of its values.
export const INSIDE = 0;
export const OUTSIDE = 1; // clipped or dropped, as the order says
export const DROPPED = 2;

export class Fault extends Error {
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

// Subclasses have `kind`, `title`, `fields` (of a registration), `hint`, and `declare`, which turns the texts of these
// fields into a declaration and throws a Fault. Where `labels` is null the attribute is ordered: see ordered.js.
export class Attribute {
  constructor(declared) {
    this.name = declared.name;
    this.title = this.constructor.title;
    this.keepsMissing = declared.missing === "keep";
    this.labels = null;
  }

  get isOrdered() {
    return this.labels === null;
  }

  // Labels to choose from: those of a category; of an ordered attribute, that of its missing values if they are kept.
  get choices() {
    return this.labels ?? (this.keepsMissing ? [MISSING_LABEL] : []);
  }

  // What the attribute declares, in a phrase.
  get declaredWords() {
    return `${this.words}${this.keepsMissing ? "; missing values kept" : ""}`;
  }

  // How a text that cannot be read is probably meant, in a sentence; null for no idea.
  habit() {
    return null;
  }

  // Whether a value that is there is on the list of values, where there is one.
  isListed() {
    return true;
  }

  // What becomes of a row with this value; `fromText` and `fromJson` read it from a file, null for a missing value.
  verdict(value) {
    if (value === null) return this.keepsMissing ? INSIDE : DROPPED;
    return this.judge(value);
  }
}
