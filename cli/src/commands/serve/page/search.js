// Queries and their results.

import { histogram } from "./charts.js";
import { labelsLike } from "./classes.js";
import { fillCard, item, makeCard, portrait } from "./items.js";
import { post, Refused } from "./server.js";
import { count } from "./words.js";

const part = (id) => document.getElementById(id);

/** Weights of label bits and detail bits at each stop of the slider. */
const STOPS = [[1, 0], [8, 1], [4, 1], [2, 1], [1, 1], [1, 2], [1, 4], [1, 8], [0, 1]];
const SHOWN = 12;
/** Milliseconds after the last search until the distances of many items are requested. */
const CALM = 250;

let query = null;
let form = null;
let collection = { items: 0, bits: 0, labelBits: 0 };
let running = false;
let again = null;
let calm;
let mostDistances = 2000;
const cards = new Map();

/**
 * Takes the current size and bits of the collection, and the form of the pictures in its vectors.
 */
export function collectionIs(now, pictures) {
  collection = now;
  form = pictures;
  part("results").classList.toggle("pictures", form !== null);
  const plain = now.labelBits >= now.bits;
  part("dial").disabled = plain;
  showWeights(plain);
}

function weights() {
  return STOPS[Number(part("dial").value)];
}

function showWeights(plain) {
  const [label, detail] = weights();
  const only = detail === 0 ? "Only label bits count." : label === 0 ? "Only detail bits count." : null;
  const both = `A label bit counts ${label}, a detail bit ${detail}.`;
  const text = plain ? "These codes have no detail bits: all bits count the same." : (only ?? both);
  part("weights").textContent = text;
  part("dial").setAttribute("aria-valuetext", text);
}

/**
 * Searches with a query: `{body, name, id}`, where the body has a vector, an id or a code. Null
 * clears the query.
 */
export function searchWith(next, { quiet = false } = {}) {
  query = next;
  showQuery(next);
  if (query) {
    if (cards.size === 0) part("summary").textContent = `${query.name}: searching …`;
    return run(quiet);
  }
  clearTimeout(calm);
  part("summary").textContent = "Nothing was searched for yet.";
  showCards([]);
  part("distances").hidden = true;
  complain(null);
  return Promise.resolve();
}

/** Shows the query as a picture, if it is one. */
async function showQuery(asked) {
  const known = asked?.id === undefined ? asked?.body : await item(asked.id).catch(() => null);
  const picture = known && portrait(known, form);
  if (query === asked) part("query").replaceChildren(...(picture ? [picture] : []));
}

/** Repeats the search after items, codes or weights have changed. */
export function searchAgain() {
  return query ? run(true) : Promise.resolve();
}

/**
 * Runs one search at a time. Of the searches requested meanwhile, only the last is run afterwards.
 */
async function run(quiet) {
  if (running) {
    again = { quiet: quiet && (again?.quiet ?? true) };
    return;
  }
  running = true;
  try {
    await once(quiet);
    complain(null);
  } catch (error) {
    complain(error.message);
  } finally {
    running = false;
  }
  if (again) {
    const next = again;
    again = null;
    await run(next.quiet);
  }
}

function request(asked, k) {
  const body = { ...asked.body, k };
  if (collection.labelBits < collection.bits) [body.label_weight, body.detail_weight] = weights();
  if (part("float").checked) body.float_query = true;
  const only = part("only").value.trim();
  if (only) body.where = { label: only };
  return body;
}

async function once(quiet) {
  const asked = query;
  if (!asked) return;
  const body = request(asked, SHOWN + 1);
  if (part("rerank").checked) body.rerank = 1000;
  const begun = performance.now();
  const answer = await post("search", body);
  const took = performance.now() - begun;
  if (query !== asked) return;
  const own = String(asked.id ?? "");
  const found = answer.results.filter(({ id }) => asked.id === undefined || String(id) !== own).slice(0, SHOWN);
  showCards(found);
  const where = `${count(collection.items)} items, codes of version ${answer.version}, ${took.toFixed(took < 10 ? 1 : 0)} ms`;
  const summary = `${asked.name}: the nearest ${found.length} of ${where}.`;
  // A text that is read aloud must not change without user action.
  if (quiet) part("summary").setAttribute("aria-live", "off");
  else part("summary").removeAttribute("aria-live");
  part("summary").textContent = found.length ? summary : `${asked.name}: nothing was found.`;
  clearTimeout(calm);
  calm = setTimeout(() => showDistances(asked, found).catch(() => {}), CALM);
}

/** Reuses the cards of items that stay in the results, so that they keep the keyboard's focus. */
function showCards(found) {
  const list = part("results");
  const ids = new Set(found.map(({ id }) => String(id)));
  for (const [id, card] of cards) {
    if (!ids.has(id)) {
      card.entry.remove();
      cards.delete(id);
    }
  }
  found.forEach(({ id, distance, score, labels }, at) => {
    const key = String(id);
    if (!cards.has(key)) cards.set(key, makeCard(id, (chosen) => list.dispatchEvent(new CustomEvent("chosen", { detail: chosen }))));
    const card = cards.get(key);
    const words = labels.length ? `label ${labels.join(", ")}` : "no label";
    const note = score === undefined || score === null ? `${distance}` : `${distance} · ${score.toFixed(2)}`;
    fillCard(card, id, { labels, note, form, name: `Item ${id}, ${words}, distance ${distance}. Search with it.` });
    if (list.children[at] !== card.entry) list.insertBefore(card.entry, list.children[at] ?? null);
  });
}

/** Shows the distances of many items: of all items, if the collection is small. */
async function showDistances(asked, found) {
  if (!found.length) {
    part("distances").hidden = true;
    return;
  }
  let answer;
  while (!answer) {
    try {
      answer = await post("search", request(asked, Math.min(mostDistances, Math.max(1, collection.items))));
    } catch (error) {
      // The server may allow fewer hits per search than requested.
      if (!(error instanceof Refused) || ![400, 413, 422].includes(error.status) || mostDistances <= 50) throw error;
      mostDistances = Math.floor(mostDistances / 2);
    }
  }
  if (query !== asked || !answer.results.length) return;
  const kind = commonest(found.slice(0, 10).flatMap(({ labels }) => labels));
  const distances = answer.results.map(({ distance, labels }) => ({ distance, same: kind !== null && labels.includes(kind) }));
  const same = distances.filter((one) => one.same).length;
  const all = distances.length >= collection.items;
  const whose = all ? `All ${count(distances.length)} items` : `The nearest ${count(distances.length)} items`;
  const told = kind === null ? "" : `, of which ${count(same)} have the label ${kind}, as most of the first do`;
  const figure = part("distances");
  figure.hidden = false;
  const range = `from ${distances[0].distance} to ${Math.max(...distances.map((one) => one.distance))}`;
  histogram(figure.querySelector(".chart"), { distances, kind: true, name: `${whose} at distances ${range}${told}` });
  figure.querySelector("figcaption").replaceChildren(`${whose} by distance`, ...(kind === null ? ["."] : legend(kind, same, distances.length - same)));
}

function legend(kind, same, other) {
  const entry = (name, words) => {
    const whole = Object.assign(document.createElement("span"), { className: "entry" });
    whole.append(Object.assign(document.createElement("span"), { className: `key ${name}` }), ` ${words}`);
    return whole;
  };
  return [": ", entry("same", `label ${kind} (${count(same)})`), " ", entry("other", `others (${count(other)})`)];
}

function commonest(labels) {
  const counts = new Map();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return [...counts].sort((one, other) => other[1] - one[1])[0]?.[0] ?? null;
}

function complain(message) {
  part("search-problem").hidden = message === null;
  part("search-problem").textContent = message ?? "";
}

/** Number of labels suggested while the user types. */
const OFFERED = 50;

async function offerLabels() {
  const typed = part("only").value;
  const labels = await labelsLike(typed.trim(), OFFERED);
  if (part("only").value !== typed) return;
  part("labels").replaceChildren(...labels.map((label) => new Option(label, label)));
}
for (const event of ["focus", "input"]) part("only").addEventListener(event, () => offerLabels().catch(() => {}));

part("dial").addEventListener("input", () => {
  showWeights(false);
  searchAgain();
});
for (const id of ["only", "float", "rerank"]) part(id).addEventListener("change", () => searchAgain());
