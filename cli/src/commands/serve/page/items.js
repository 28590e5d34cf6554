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
  keep(key, fetched);
  fetched.catch(() => kept.delete(key));
  return fetched;
}

function keep(key, promised) {
  kept.delete(key);
  kept.set(key, { item: promised, since: performance.now() });
  if (kept.size > MOST) kept.delete(kept.keys().next().value);
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

/** The picture of an item as an element, or its payload in words, or null. A damaged item shows its error. */
export function portrait({ vector, payload, error }, form) {
  if (error) return inWords(shortened(error, 80));
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
  return inWords(shortened(payload.title ?? payload.name ?? payload.text ?? payload, 80));
}

function inWords(text) {
  const words = document.createElement("span");
  words.className = "words";
  words.textContent = text;
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

/** Some items from anywhere in the collection. They come in order of ids, so a few places to begin at are drawn. */
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
