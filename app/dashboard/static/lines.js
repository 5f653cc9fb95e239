// The curl command and the Python code that give the same answer as a panel.

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

export function curl(path, { method = "GET", json, file } = {}) {
  const url = location.origin + path;
  const parts = [`curl ${/[?&{}' ]/.test(url) ? quoted(url) : url}`, '-H "Authorization: Bearer $RUGNIK_KEY"'];
  if (method !== "GET" && !json) parts.push(`-X ${method}`);
  if (json) parts.push(`--json ${quoted(JSON.stringify(json))}`);
  if (file) parts.push(`-o ${file}`);
  return parts.join(" \\\n  ");
}

export function python(call) {
  return `import os\nfrom rugnik import Client\n\nclient = Client("${location.origin}", os.environ["RUGNIK_KEY"])\n${call}`;
}

export function setLines(name, curlText, pythonCall) {
  const panel = document.querySelector(`[data-lines="${name}"]`);
  if (!panel) return;
  panel.querySelector("[data-curl]").textContent = curlText;
  panel.querySelector("[data-python]").textContent = python(pythonCall);
}

// Keyword arguments as Python code.
export const named = (fields) => Object.entries(fields).filter(([, value]) => value !== undefined)
  .map(([name, value]) => `${name}=${literal(value)}`).join(", ");

// A text, a number, or a list of them as Python code.
export const literal = (value) => (Array.isArray(value) ? `[${value.map(literal).join(", ")}]` : JSON.stringify(value));
