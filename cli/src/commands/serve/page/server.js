// Calls of the service: tokens, errors, and ids that are larger than the numbers of JavaScript.

/** The server could not be reached, or is not ready: worth another try. */
export class Unreachable extends Error {}

/** The server refused. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const KEY = "hashbrook token";
let asking = null;
let askForToken = () => Promise.reject(new Refused(401, "A token is needed."));

/** What asks people for a token, and resolves to it. */
export function onTokenNeeded(ask) {
  askForToken = ask;
}

/** GET of an address relative to the page, as JSON. */
export function get(path) {
  return call(path, { method: "GET" });
}

/** POST of a JSON body. */
export function post(path, body) {
  const headers = { "content-type": "application/json" };
  return call(path, { method: "POST", headers, body: JSON.stringify(body, writeIds) });
}

async function call(path, options) {
  for (let attempt = 0; ; attempt++) {
    const token = sessionStorage.getItem(KEY);
    const headers = { accept: "application/json", ...options.headers };
    if (token) headers.authorization = `Bearer ${token}`;
    const response = await answer(path, { ...options, headers });
    if (response.ok) return parse(await response.text().catch(lost));
    if (response.status === 401) {
      // Several calls may find out at once: people are asked once. A token that came meanwhile is tried first.
      if (token === sessionStorage.getItem(KEY)) {
        asking ??= askForToken(token !== null).finally(() => (asking = null));
        sessionStorage.setItem(KEY, await asking);
      }
    } else if (response.status === 429 && attempt < 3) {
      const seconds = Number(response.headers.get("retry-after")) || 1;
      await new Promise((resolve) => setTimeout(resolve, Math.min(seconds, 5) * 1000));
    } else {
      const message = await explanation(response);
      if ([502, 503, 504].includes(response.status)) throw new Unreachable(message);
      throw new Refused(response.status, message);
    }
  }
}

async function answer(path, options) {
  return fetch(path, { ...options, cache: "no-store", signal: AbortSignal.timeout(15000) }).catch(lost);
}

function lost() {
  throw new Unreachable("The server does not answer.");
}

async function explanation(response) {
  const text = await response.text().catch(() => "");
  try {
    const { error } = JSON.parse(text);
    const message = typeof error === "string" ? error : error?.message;
    if (message) return message;
  } catch {
    // Not all that stands between us and the server speaks JSON.
  }
  return `The server answered ${response.status} ${response.statusText}`.trim();
}

/** Whole numbers beyond 2^53 become BigInt, where the browser lets us see how they were written. */
function parse(text) {
  return JSON.parse(text, (key, value, context) => {
    const whole = typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER;
    return whole && /^\d+$/.test(context?.source ?? "") ? BigInt(context.source) : value;
  });
}

function writeIds(key, value) {
  return typeof value === "bigint" ? JSON.rawJSON(String(value)) : value;
}
