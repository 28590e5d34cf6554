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
/** Milliseconds that an answer may take. */
const USUAL = 15_000;
let asking = null;
let askForToken = () => Promise.resolve(null);

/** Takes the function that asks people for a token: `{toWrite, refused}` to the token, or to null if they have none. */
export function onTokenNeeded(ask) {
  askForToken = ask;
}

/** Returns whether this tab has a token. */
export function hasToken() {
  return sessionStorage.getItem(KEY) !== null;
}

/** GET of an address relative to the page, as JSON. */
export function get(path) {
  return call(path, { method: "GET" });
}

/** POST of a JSON body, whose answer may take some milliseconds. */
export function post(path, body, { milliseconds = USUAL } = {}) {
  const headers = { "content-type": "application/json" };
  return call(path, { method: "POST", headers, body: JSON.stringify(body, writeIds) }, milliseconds);
}

async function call(path, options, milliseconds = USUAL) {
  /** A token that may write. It takes the place of the tab's once the server has accepted it. */
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
      // A token that arrived meanwhile is tried first.
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

/** Asks people once, although several calls may need a token at the same time. */
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
