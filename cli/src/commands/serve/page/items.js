// Items of the collection: fetched once, shown as cards, and a few of them at random.

import { vectorPicture } from "./charts.js";
import { get } from "./server.js";

const MOST = 600;
const FRESH = 60_000;
const kept = new Map();

/** An item; asked for again after a minute, since items can be replaced. */
export function item(id) {
  const key = String(id);
  const known = kept.get(key);
  if (known && performance.now() - known.since < FRESH) return known.item;
  const fetched = get(`items/${encodeURIComponent(key)}`);
  kept.delete(key);
  kept.set(key, { item: fetched, since: performance.now() });
  fetched.catch(() => kept.delete(key));
  if (kept.size > MOST) kept.delete(kept.keys().next().value);
  return fetched;
}

/** What pictures the vectors are: their side and largest value, or null where they are none, as some of them tell. */
export function pictureForm(vectors, dim) {
  const side = Math.round(Math.sqrt(dim));
  if (side * side !== dim || side < 4 || vectors.length === 0) return null;
  const values = vectors.flat();
  const most = values.reduce((largest, value) => Math.max(largest, value), 0);
  const whole = values.every((value) => Number.isInteger(value));
  if (values.some((value) => value < 0) || most > 255) return null;
  if (whole && most > 1) return { side, top: most > 16 ? 255 : 16 };
  // Features that are never negative are common: without whole numbers only the usual sizes are taken for pictures.
  return most <= 1 && (dim === 64 || dim === 784) ? { side, top: 1 } : null;
}

/** A picture that a payload brings along, as an address of the page's own. */
function payloadPicture(payload) {
  const candidates = [payload, payload?.thumbnail, payload?.image];
  return candidates.find((text) => typeof text === "string" && /^data:image\/(png|jpeg|gif|webp|avif);base64,/.test(text));
}

function shortened(value, most) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** The picture of an item as an element, or its payload in words, or null. */
export function portrait({ vector, payload }, form) {
  const picture = payloadPicture(payload);
  if (picture) {
    const image = document.createElement("img");
    image.src = picture;
    image.alt = "";
    return image;
  }
  if (form && vector) {
    const canvas = document.createElement("canvas");
    canvas.className = "picture";
    vectorPicture(canvas, vector, form.side, form.top);
    return canvas;
  }
  if (payload === null || payload === undefined) return null;
  const words = document.createElement("span");
  words.className = "words";
  words.textContent = shortened(payload, 80);
  return words;
}

/** An empty card of an item, which is a button; `fillCard` says what is in it. */
export function makeCard(id, pressed) {
  const entry = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  button.dataset.id = String(id);
  button.addEventListener("click", () => pressed(id));
  const [face, label, note] = ["face", "label", "note"].map((name) => {
    const part = document.createElement("span");
    part.className = name;
    button.append(part);
    return part;
  });
  entry.append(button);
  return { entry, button, face, label, note };
}

/** Writes labels and a note on a card, and puts its picture there when it has come. */
export function fillCard(card, id, { labels, note, name, form }) {
  const title = labels?.length ? labels.join(", ") : `#${id}`;
  card.label.textContent = shortened(title, 24);
  card.note.textContent = note ?? "";
  card.button.setAttribute("aria-label", name);
  card.button.title = `Item ${id}`;
  if (card.face.childElementCount && card.form === form) return;
  card.form = form;
  item(id)
    .then((found) => {
      const shown = portrait(found, form);
      card.face.replaceChildren(...(shown ? [shown] : []));
    })
    .catch(() => card.face.replaceChildren());
}

let largest = 0;

/** Some ids from anywhere in the collection. They come in order, so a few places to begin at are drawn. */
export async function someIds(count, items) {
  const page = async (after) => (await get(`items?limit=${Math.ceil(count / 4)}&after=${encodeURIComponent(after)}`)).ids;
  const { ids: first } = await get(`items?limit=${count}`);
  const place = typeof first[0] === "string" ? textPlace : () => numberPlace(items);
  const drawn = (await Promise.all(Array.from({ length: 4 }, () => page(place())))).flat();
  largest = Math.max(largest, ...drawn.filter((id) => typeof id !== "string").map(Number));
  return distinct([...drawn, ...first]).slice(0, count);
}

function numberPlace(items) {
  return Math.floor(Math.random() * Math.max(largest, items));
}

function textPlace() {
  const letter = () => String.fromCharCode(33 + Math.floor(Math.random() * 90));
  return letter() + letter();
}

function distinct(ids) {
  return [...new Map(ids.map((id) => [String(id), id])).values()];
}
