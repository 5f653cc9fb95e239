// Calls of the service's API with the session cookie. An error response becomes a Problem with a message for people.

export class Problem extends Error {
  constructor(body, status) {
    super(body.detail || body.title || `The service answered ${status}.`);
    this.title = body.title || "Something went wrong";
    this.status = status;
    this.body = body;
  }
}

const token = () => document.querySelector('meta[name="csrf-token"]')?.content ?? "";

async function refused(response) {
  let body = {};
  try {
    body = await response.json();
  } catch {
    // The body is not JSON, so it is no problem document of the service: only the status is known.
  }
  if (response.status === 401) {
    body = { title: "You are signed out", detail: "Your session has ended. Reload the page to sign in again." };
  }
  return new Problem(body, response.status);
}

export async function reach(path, options) {
  try {
    return await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ title: "No connection", detail: "The service cannot be reached. Try again." }, 0);
  }
}

export async function ask(path, options = {}) {
  const response = await reach(path, { headers: { Accept: "application/json" }, ...options });
  if (!response.ok) throw await refused(response);
  return response.json();
}

export async function change(method, path, body, headers = {}) {
  const response = await reach(path, {
    method,
    headers: { "X-Rugnik-CSRF": token(), "Content-Type": "application/json", ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!response.ok) throw await refused(response);
  return response;
}

// Uploads with progress events: XMLHttpRequest, because fetch has none.
export function upload(path, file, headers, progress, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", path);
    request.setRequestHeader("X-Rugnik-CSRF", token());
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", (event) => progress(event.loaded, event.total));
    request.addEventListener("load", () => {
      let body = {};
      try {
        body = JSON.parse(request.responseText);
      } catch {
        // The body is not JSON: only the status is known.
      }
      if (request.status === 200) resolve(body);
      else reject(new Problem(body, request.status));
    });
    request.addEventListener("error", () => reject(new Problem(
      { detail: "The connection broke. Nothing of this try was kept; upload again at no further charge." }, 0)));
    request.addEventListener("abort", () => reject(new Problem(
      { detail: "Stopped. Nothing of this try was kept; upload again at no further charge." }, 0)));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

export function tell(place, error) {
  place.replaceChildren();
  if (!error) return;
  const words = document.createElement("p");
  words.className = "notice bad-notice";
  words.textContent = error.message;
  place.append(words);
}

export function facts(id) {
  return JSON.parse(document.getElementById(id).textContent);
}
