// Items of the collection: fetched once, shown as cards, and sampled at random.

import { vectorPicture } from "./charts.js";
import { get } from "./server.js";

const MOST = 600;
const FRESH = 60_000;
/** Number of characters of a payload shown at once. */
const SHORT = 80;
const kept = new Map();

/** Returns an item; fetches it again after a minute, since items can be replaced. */
export function item(id) {
  const key = String(id);
  const known = kept.get(key);
  if (known && performance.now() - known.since < FRESH) return known.item;
  const fetched = get(`items/${encodeURIComponent(key)}`);
  keep(key, fetched);
  fetched.catch(() => kept.delete(key));
  return fetched;
}

function keep(key, promised) {
  kept.delete(key);
  kept.set(key, { item: promised, since: performance.now() });
  if (kept.size > MOST) kept.delete(kept.keys().next().value);
}

/**
 * Guesses from some vectors whether they are pictures. Returns their side and largest value, or
 * null.
 */
export function pictureForm(vectors, dim) {
  const side = Math.round(Math.sqrt(dim));
  if (side * side !== dim || side < 4 || vectors.length === 0) return null;
  const values = vectors.flat();
  const most = values.reduce((largest, value) => Math.max(largest, value), 0);
  const whole = values.every((value) => Number.isInteger(value));
  if (values.some((value) => value < 0) || most > 255) return null;
  if (whole && most > 1) return { side, top: most > 16 ? 255 : 16 };
  // Non-negative features are common, so non-integer vectors count as pictures only at the usual
  // sizes.
  return most <= 1 && (dim === 64 || dim === 784) ? { side, top: 1 } : null;
}

const isPicture = (value) => typeof value === "string" && /^data:image\/(png|jpeg|gif|webp|avif);base64,/.test(value);

function shortened(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/**
 * Returns the picture of an item as an element, from its payload or its vector; null if it has
 * none.
 */
export function portrait({ vector, payload, error }, form) {
  const picture = [payload, payload?.thumbnail, payload?.image].find(isPicture);
  if (picture) return Object.assign(document.createElement("img"), { src: picture, alt: "" });
  if (!form || !vector || error) return null;
  const canvas = document.createElement("canvas");
  canvas.className = "picture";
  vectorPicture(canvas, vector, form.side, form.top);
  return canvas;
}

/**
 * Returns the payload of an item as text, `{short, full}`, without pictures; null if it has none. A
 * damaged item shows its error.
 */
export function inWords({ payload, error }) {
  if (error) return { short: shortened(error, SHORT), full: error };
  if (payload === null || payload === undefined || isPicture(payload)) return null;
  if (typeof payload !== "object") return { short: shortened(String(payload), SHORT), full: String(payload) };
  const full = JSON.stringify(payload, (key, value) => (isPicture(value) ? undefined : value), 1);
  if (full === "{}" || full === "[]") return null;
  const title = [payload.title, payload.name, payload.text].find((value) => typeof value === "string" && value !== "");
  return { short: shortened(title ?? full.replace(/\n\s*/g, " "), SHORT), full };
}

/**
 * Creates an empty card of an item: a button that searches with it, and its payload. `fillCard`
 * fills it.
 */
export function makeCard(id, pressed) {
  const entry = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  button.dataset.id = String(id);
  button.addEventListener("click", () => pressed(id));
  const [face, label, note, number] = ["face", "label", "note", "id"].map((name) => {
    const part = document.createElement("span");
    part.className = name;
    button.append(part);
    return part;
  });
  number.textContent = `#${id}`;
  const words = document.createElement("div");
  words.className = "words";
  entry.append(button, words);
  return { entry, button, face, label, note, words };
}

/** Writes labels and a note on a card, and adds the item's picture and payload when they arrive. */
export function fillCard(card, id, { labels, note, name, form }) {
  card.label.textContent = labels?.length ? shortened(labels.join(", "), 40) : "no label";
  card.note.textContent = note ?? "";
  card.button.setAttribute("aria-label", name);
  card.button.title = `Item ${id}${labels?.length ? `: ${labels.join(", ")}` : ""}`;
  item(id)
    .then((found) => {
      if (card.found === found && card.form === form) return;
      [card.found, card.form] = [found, form];
      const picture = portrait(found, form);
      card.face.replaceChildren(...(picture ? [picture] : []));
      showWords(card.words, inWords(found));
    })
    .catch(() => card.face.replaceChildren());
}

/** Creates a short text that expands to the full one. */
function showWords(place, words) {
  if (!words) return place.replaceChildren();
  const make = (tag, textContent) => Object.assign(document.createElement(tag), { textContent });
  place.title = shortened(words.full, 1000);
  if (words.short === words.full) return place.replaceChildren(make("p", words.short));
  const details = document.createElement("details");
  details.open = place.querySelector("details")?.open ?? false;
  details.append(make("summary", words.short), make("pre", words.full));
  place.replaceChildren(details);
}

let largest = 0;

/**
 * Returns a sample of items. Pages are in order of ids, so the sample consists of pages that begin
 * at random ids.
 */
export async function someItems(count, size) {
  const page = async (query) => (await get(`items?full=true&${query}`)).items;
  const first = await page(`limit=${count}`);
  const place = typeof first[0]?.id === "string" ? textPlace : () => numberPlace(size);
  const each = Math.ceil(count / 4);
  const pages = Array.from({ length: 4 }, () => page(`limit=${each}&after=${encodeURIComponent(place())}`));
  const drawn = (await Promise.all(pages)).flat();
  largest = Math.max(largest, ...drawn.map(({ id }) => (typeof id === "string" ? 0 : Number(id))));
  const distinct = new Map([...drawn, ...first].map((found) => [String(found.id), found]));
  const some = [...distinct.values()].slice(0, count);
  for (const found of some) keep(String(found.id), Promise.resolve(found));
  return some;
}

function numberPlace(size) {
  return Math.floor(Math.random() * Math.max(largest, size));
}

function textPlace() {
  const letter = () => String.fromCharCode(33 + Math.floor(Math.random() * 90));
  return letter() + letter();
}
