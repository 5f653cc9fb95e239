// The curl command and the Python code that give the same answer as a panel.

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

const LONGEST = 1000; // letters of a body within the command; a longer one follows it, since a shell takes no argument of any length

export function curl(path, { method = "GET", json, file } = {}) {
  const url = location.origin + path;
  const parts = [`curl ${/[?&{}' ]/.test(url) ? quoted(url) : url}`, '-H "Authorization: Bearer $RUGNIK_KEY"'];
  if (method !== "GET" && !json) parts.push(`-X ${method}`);
  const body = json ? JSON.stringify(json) : "";
  const isLong = body.length > LONGEST;
  if (json) parts.push(`--json ${isLong ? "@- <<'JSON'" : quoted(body)}`);
  if (file) parts.push(`-o ${file}`);
  return parts.join(" \\\n  ") + (isLong ? `\n${body}\nJSON` : "");
}

const CALLS = new Map(); // the call in Python of each panel

// The lines that every call needs before it.
export const connected = () => `import os\nfrom rugnik import Client\n\nclient = Client("${location.origin}", os.environ["RUGNIK_KEY"])`;

// The panel's present call in Python.
export const callOf = (name) => CALLS.get(name);

export function setLines(name, curlText, pythonCall) {
  const panel = document.querySelector(`[data-lines="${name}"]`);
  if (!panel) return;
  panel.querySelector("[data-curl]").textContent = curlText;
  panel.querySelector("[data-python]").textContent = `${connected()}\n${pythonCall}`;
  CALLS.set(name, pythonCall);
}

// Keyword arguments as Python code.
export const named = (fields) => Object.entries(fields).filter(([, value]) => value !== undefined)
  .map(([name, value]) => `${name}=${literal(value)}`).join(", ");

// A text, a number, a truth value, or a list of them as Python code.
export const literal = (value) => {
  if (typeof value === "boolean") return value ? "True" : "False";
  return Array.isArray(value) ? `[${value.map(literal).join(", ")}]` : JSON.stringify(value);
};
