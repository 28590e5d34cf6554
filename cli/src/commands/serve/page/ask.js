// The three kinds of query: a drawing, an item, a vector.

import { vectorPicture } from "./charts.js";
import { digit, drawnSide } from "./digit.js";
import { makePad } from "./draw.js";
import { fillCard, item, makeCard, pictureForm, someItems } from "./items.js";
import { searchWith } from "./search.js";
import { rowsOfFile, rowsOfText } from "./vector.js";

const part = (id) => document.getElementById(id);
const PANELS = ["draw", "pick", "vector"];
const SHELF = 12;
const RECENT = 6;

let dim = 0;
let items = 0;
let form = null;
let shelf = [];
let chosen = null;
const recent = [];

/** Shows a panel, which then provides the query. */
function choose(name) {
  for (const panel of PANELS) part(panel).hidden = panel !== name;
  document.querySelector(`input[name=with][value=${name}]`).checked = true;
}

for (const radio of document.querySelectorAll("input[name=with]")) {
  radio.addEventListener("change", () => {
    chosen = radio.value;
    choose(radio.value);
    if (chosen === "draw") drawingChanged(drawing, true);
  });
}
choose("pick");

/**
 * Takes the dimension of the collection and its number of items. Checks on some items whether
 * vectors are pictures. Resolves to their form, or null.
 */
export async function getToKnow(description, size) {
  dim = description.dim;
  items = size;
  part("numbers-help").textContent = `${dim} of them: a JSON array or a line of CSV`;
  if (items > 0 && shelf.length < SHELF) await fillShelf();
  return form;
}

async function fillShelf() {
  shelf = await someItems(SHELF, items);
  // Damaged items have no vector.
  form = pictureForm(shelf.map(({ vector }) => vector).filter(Boolean), dim);
  showItems(part("shelf"), shelf.map(({ id }) => id));
  if (form && drawnSide(dim) && part("with-draw").hidden) {
    part("with-draw").hidden = false;
    if (chosen === null) choose("draw");
  }
}

function showItems(list, ids) {
  list.classList.toggle("pictures", form !== null);
  list.replaceChildren(...ids.map((id) => {
    const card = makeCard(id, pick);
    item(id).then(({ labels, error }) => {
      const words = error ? "damaged" : labels.length ? `label ${labels.join(", ")}` : "no label";
      fillCard(card, id, { labels, form, name: `Item ${id}, ${words}. Search with it.` });
    }).catch(() => card.entry.remove());
    return card.entry;
  }));
}

/** Searches with an item. */
export function pick(id) {
  chosen = "pick";
  choose("pick");
  part("id").value = String(id);
  const known = recent.findIndex((other) => String(other) === String(id));
  if (known >= 0) recent.splice(known, 1);
  recent.unshift(id);
  recent.length = Math.min(recent.length, RECENT);
  part("recent-part").hidden = false;
  showItems(part("recent"), recent);
  return searchWith({ body: { id }, id, name: `Item ${id}` });
}

part("results").addEventListener("chosen", (event) => pick(event.detail));
part("others").addEventListener("click", () => fillShelf().catch(() => {}));

part("by-id").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = part("id").value.trim();
  const problem = part("id-problem");
  problem.hidden = true;
  try {
    // The answer reports whether the item's id is a number or a string.
    await pick((await item(text)).id);
  } catch (error) {
    problem.textContent = error.status === 404 ? `There is no item ${text}.` : error.message;
    problem.hidden = false;
  }
});

let drawing = [];
let drawn;
/** Milliseconds between searches while a line is drawn. */
const PACE = 200;

function drawingChanged(strokes, done) {
  drawing = strokes;
  part("pad-hint").hidden = strokes.length > 0;
  if (drawn && !done) return;
  clearTimeout(drawn);
  drawn = setTimeout(() => {
    drawn = undefined;
    if (chosen !== "draw" && chosen !== null) return;
    chosen = "draw";
    const side = drawnSide(dim);
    const vector = form && digit(drawing, side, form.top);
    part("seen").parentElement.classList.toggle("empty", !vector);
    vectorPicture(part("seen"), vector ?? [], side, form?.top ?? 1);
    searchWith(vector && { body: { vector }, name: "The drawing" }, { quiet: !done });
  }, done ? 0 : PACE);
}

const pad = makePad(part("pad"), { changed: drawingChanged, say: (text) => (part("pad-state").textContent = text) });
part("pad-clear").addEventListener("click", () => pad.clear());
part("pad-undo").addEventListener("click", () => pad.undo());

let rows = null;

part("file").addEventListener("change", async () => {
  const [file] = part("file").files;
  if (!file) return;
  await attempt(async () => {
    rows = await rowsOfFile(file);
    part("numbers").value = "";
    offerRows();
    await searchRow(`Row of ${file.name}`);
  });
});
part("numbers").addEventListener("input", () => {
  rows = null;
  part("file").value = "";
  part("row-part").hidden = true;
});
part("row").addEventListener("change", () => rows && attempt(() => searchRow("Row")));
part("vector").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    if (!rows) {
      rows = rowsOfText(part("numbers").value);
      offerRows();
    }
    await searchRow("Row");
  });
});

function offerRows() {
  part("row-part").hidden = rows.length === 1;
  part("row").max = rows.length;
  part("row").value = 1;
  part("row-count").textContent = `of ${rows.length}`;
}

async function searchRow(name) {
  const at = Number(part("row").value);
  const vector = rows[at - 1];
  if (!vector) throw new Error(`There is no row ${at}: there are ${rows.length}.`);
  if (vector.length !== dim) throw new Error(`The vectors here have ${dim} numbers; this one has ${vector.length}.`);
  chosen = "vector";
  await searchWith({ body: { vector }, name: rows.length === 1 ? "The vector" : `${name} ${at}` });
}

async function attempt(work) {
  const problem = part("vector-problem");
  problem.hidden = true;
  try {
    await work();
  } catch (error) {
    problem.textContent = error.message;
    problem.hidden = false;
  }
}
