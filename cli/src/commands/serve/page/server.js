// Calls of the service: tokens, errors, and ids beyond the integer range of JavaScript numbers.

/** The server could not be reached or is not ready; the call can be tried again. */
export class Unreachable extends Error {}

/** The server refused the call. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const KEY = "hashbrook token";
/** Default timeout of an answer in milliseconds. */
const USUAL = 15_000;
let asking = null;
let askForToken = () => Promise.resolve(null);

/**
 * Sets the function that asks the user for a token. It takes `{toWrite, refused}` and resolves to
 * the token, or to null if the user has none.
 */
export function onTokenNeeded(ask) {
  askForToken = ask;
}

/** Returns whether this tab has a token. */
export function hasToken() {
  return sessionStorage.getItem(KEY) !== null;
}

/** Sends a GET request to a path relative to the page, and resolves to the JSON answer. */
export function get(path) {
  return call(path, { method: "GET" });
}

/** Sends a POST request with a JSON body, and resolves to the JSON answer within `milliseconds`. */
export function post(path, body, { milliseconds = USUAL } = {}) {
  const headers = { "content-type": "application/json" };
  return call(path, { method: "POST", headers, body: JSON.stringify(body, writeIds) }, milliseconds);
}

async function call(path, options, milliseconds = USUAL) {
  /** A token that may write. It replaces the token of the tab once the server has accepted it. */
  let offered = null;
  for (let attempt = 0; ; attempt++) {
    const token = offered ?? sessionStorage.getItem(KEY);
    const headers = { accept: "application/json", ...options.headers };
    if (token) headers.authorization = `Bearer ${token}`;
    const response = await answer(path, { ...options, headers }, milliseconds);
    if (response.ok) {
      if (offered) sessionStorage.setItem(KEY, offered);
      return parse(await response.text().catch(lost));
    }
    const { status } = response;
    if (token !== null && (status === 403 || (status === 401 && offered))) {
      const next = await ask({ toWrite: true, refused: offered !== null });
      if (next === null) throw new Refused(403, await explanation(response));
      offered = next;
    } else if (status === 401) {
      // If another call obtained a token meanwhile, that token is tried first.
      if (token === sessionStorage.getItem(KEY)) {
        const next = await ask({ toWrite: false, refused: token !== null });
        if (next === null) throw new Refused(401, "A token is needed.");
        sessionStorage.setItem(KEY, next);
      }
    } else if (status === 429 && attempt < 3) {
      const seconds = Number(response.headers.get("retry-after")) || 1;
      await new Promise((resolve) => setTimeout(resolve, Math.min(seconds, 5) * 1000));
    } else {
      const message = await explanation(response);
      if ([502, 503, 504].includes(status)) throw new Unreachable(message);
      throw new Refused(status, message);
    }
  }
}

/** Asks the user once, although several calls may need a token at the same time. */
function ask(why) {
  asking ??= askForToken(why).finally(() => (asking = null));
  return asking;
}

async function answer(path, options, milliseconds) {
  return fetch(path, { ...options, cache: "no-store", signal: AbortSignal.timeout(milliseconds) }).catch(lost);
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
    // Proxies between the page and the server may answer without JSON.
  }
  return `The server answered ${response.status} ${response.statusText}`.trim();
}

/** Parses integers beyond 2^53 as BigInt, in browsers that expose the source text of numbers. */
function parse(text) {
  return JSON.parse(text, (key, value, context) => {
    const whole = typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER;
    return whole && /^\d+$/.test(context?.source ?? "") ? BigInt(context.source) : value;
  });
}

function writeIds(key, value) {
  return typeof value === "bigint" ? JSON.rawJSON(String(value)) : value;
}
