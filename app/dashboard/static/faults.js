// Errors of a form: a message beside each field that is at fault, and above the form a summary whose lines lead to the
// fields. The first field at fault gets the focus.

// A fault is { input, message }; `input` is null where no field is at fault.
export class Faults extends Error {
  constructor(faults) {
    super(faults.map(({ message }) => message).join(" "));
    this.faults = faults;
  }
}

// A form's button is enabled by its script: sent without it, the form would only reload the page.
export const enable = (form) => { form.querySelector('[type="submit"]').disabled = false; };

const summaryOf = (form) => form.querySelector("[data-faults]");

// The text of an input's label, and of the group that it is in.
function titleOf(input) {
  const nodes = [...(input.labels?.[0]?.childNodes ?? [])].filter((node) => node.nodeType === Node.TEXT_NODE);
  const group = input.closest('[role="group"]')?.getAttribute("aria-label");
  return nodes.map((node) => node.textContent.trim()).join("") + (group ? ` (${group.toLowerCase()})` : "");
}

function describe(input, id, is) {
  const ids = (input.getAttribute("aria-describedby") ?? "").split(" ").filter((other) => other && other !== id);
  if (is) ids.push(id);
  if (ids.length) input.setAttribute("aria-describedby", ids.join(" "));
  else input.removeAttribute("aria-describedby");
}

function clearOne(input) {
  const words = document.getElementById(`${input.id}-fault`);
  if (!words) return;
  words.remove();
  input.removeAttribute("aria-invalid");
  describe(input, words.id, false);
}

export function markFault({ input, message }) {
  clearOne(input);
  const words = Object.assign(document.createElement("p"), { className: "field-fault", id: `${input.id}-fault`, textContent: message });
  (input.closest(".field") ?? input.parentElement).append(words);
  input.setAttribute("aria-invalid", "true");
  describe(input, words.id, true);
  input.addEventListener("input", () => clearOne(input), { once: true });
}

export const clearMarks = (root) => root.querySelectorAll("[aria-invalid]").forEach(clearOne);

export function clearFaults(form) {
  clearMarks(form);
  summaryOf(form).replaceChildren();
}

function lineOf({ input, message }) {
  if (!input) return document.createTextNode(message);
  const link = Object.assign(document.createElement("a"), { href: `#${input.id}`, textContent: `${titleOf(input)}: ${message}` });
  link.addEventListener("click", (event) => {
    event.preventDefault();
    input.focus();
  });
  return link;
}

export function showFaults(form, faults) {
  clearFaults(form);
  const notice = Object.assign(document.createElement("div"), { className: "notice bad-notice" });
  const lines = faults.map((fault) => {
    const line = document.createElement(faults.length > 1 ? "li" : "p");
    line.append(lineOf(fault));
    return line;
  });
  if (lines.length > 1) {
    const list = document.createElement("ul");
    list.append(...lines);
    notice.append(Object.assign(document.createElement("p"), { textContent: `${lines.length} fields need another look:` }), list);
  } else notice.append(...lines);
  summaryOf(form).replaceChildren(notice);
  faults.filter(({ input }) => input).forEach(markFault);
  const first = faults.find(({ input }) => input)?.input;
  first?.closest("details")?.setAttribute("open", "");
  if (first) first.focus();
  else notice.scrollIntoView({ block: "nearest" });
}

// The faults of any error. `inputOf` gives the input for a place in the request, such as "attributes.0.lower", or for the
// name of a problem, such as "name-taken"; null or undefined where there is none.
export function faultsOf(error, inputOf) {
  if (error instanceof Faults) return error.faults;
  const places = error.body?.errors ?? [];
  if (places.length) {
    return places.map(({ loc, msg }) => {
      const input = inputOf(loc.slice(1).join(".")) ?? null;
      return { input, message: input ? msg.replace(/^'[^']*': /, "") : msg }; // the field that it is beside names itself
    });
  }
  const name = (error.body?.type ?? "").split(":").at(-1);
  return [{ input: inputOf(name, error.message) ?? null, message: error.message }];
}
