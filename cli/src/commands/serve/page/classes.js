// The classes and their codes: a list of any length, of which only visible rows are fetched and
// drawn.

import { codeColours, codeStrip } from "./charts.js";
import { get } from "./server.js";
import { count } from "./words.js";

const part = (id) => document.getElementById(id);

/** Height of a row in pixels, as set in the style sheet. */
const ROW = 24;
/** Number of rows drawn above and below the visible ones. */
const MORE = 10;
/** Number of rows fetched together. */
const CHUNK = 100;
/** Milliseconds after the last key press until the filter is applied. */
const CALM = 150;

let filter = "";
/** Incremented when the fetched rows are out of date; old rows are shown until new ones arrive. */
let generation = 0;
let known = { version: null, items: null };
let chunks = new Map();
let fetching = new Map();
/** Last answer: number of labels, bits, version. */
let last = null;
/** Codes by label, of the current and of the previous version. */
let codes = new Map();
let before = new Map();

/**
 * Fetches the visible classes again if items or codes have changed. Resolves to the number of label
 * bits.
 */
export async function refreshClasses({ version, items, description }) {
  if (known.version !== version || known.items !== items) {
    known = { version, items };
    generation += 1;
    await Promise.all(draw()).catch(forget);
  }
  return last?.label_bits ?? description.bits;
}

/** Makes the next update of the stats fetch the rows again. */
function forget(error) {
  known = { version: null, items: null };
  throw error;
}

/** Draws the visible rows. Returns promises of the chunks that are missing or out of date. */
function draw() {
  const scroll = part("class-scroll");
  const total = last?.total ?? 0;
  part("classes").hidden = total === 0 && filter === "";
  const first = Math.max(0, Math.floor(scroll.scrollTop / ROW) - MORE);
  const end = Math.min(total, Math.ceil((scroll.scrollTop + scroll.clientHeight) / ROW) + MORE);
  const needed = new Set([Math.floor(first / CHUNK), Math.floor(Math.max(first, end - 1) / CHUNK)]);
  show(first, end, total);
  return [...needed].map(fetchChunk);
}

function fetchChunk(number) {
  if (chunks.get(number)?.generation === generation) return Promise.resolve();
  const key = `${generation} ${number}`;
  if (!fetching.has(key)) {
    fetching.set(key, load(number, generation, filter).finally(() => fetching.delete(key)));
  }
  return fetching.get(key);
}

async function load(number, asked, contains) {
  const answer = await get(`classes?contains=${encodeURIComponent(contains)}&offset=${CHUNK * number}&limit=${CHUNK}`);
  // The rows are obsolete if the filter changed meanwhile.
  if (contains !== filter) return;
  if (last && last.version !== answer.version) {
    before = codes;
    codes = new Map();
  }
  for (const { label, code } of answer.classes) codes.set(label, code);
  last = answer;
  chunks.set(number, { generation: asked, classes: answer.classes });
  schedule();
}

let scheduled = false;

/** Schedules one redraw before the next frame, however often it is called. */
function schedule() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    Promise.all(draw()).catch(forget).catch(() => {});
  });
}

function show(first, end, total) {
  if (!last) return;
  const { bits, label_bits: labelBits, version, sample } = last;
  part("detail-entry").hidden = labelBits === bits;
  part("version").textContent = `version ${version}`;
  const labels = `${count(total)} ${total === 1 ? "label" : "labels"}`;
  const text = filter === "" ? labels : `${labels} with “${filter}”`;
  if (part("class-count").textContent !== text) part("class-count").textContent = text;
  part("class-sample").textContent = sample < known.items ? `Items are counted in a sample of ${count(sample)}.` : "";
  const table = part("class-table");
  table.setAttribute("aria-rowcount", String(total + 1));
  // 16 pixels are reserved for the gap between label bits and detail bits, and for the padding.
  const cell = Math.max(2, Math.min(12, (table.querySelector("th:last-child").clientWidth - 16) / bits));
  const strip = { bits, labelBits, cell, height: ROW - 8, colours: codeColours(table) };
  const rows = [];
  for (let at = first; at < end; at++) rows.push(row(at, chunks.get(Math.floor(at / CHUNK))?.classes[at % CHUNK], strip));
  part("class-rows").replaceChildren(space(first), ...rows, space(total - end));
}

/** Returns a spacer in place of rows that are not drawn. */
function space(rows) {
  const empty = document.createElement("tr");
  empty.className = "space";
  empty.setAttribute("aria-hidden", "true");
  empty.style.height = `${ROW * Math.max(0, rows)}px`;
  return empty;
}

function row(at, found, strip) {
  const element = document.createElement("tr");
  element.setAttribute("aria-rowindex", String(at + 2));
  const label = found?.label ?? "…";
  const head = Object.assign(document.createElement("th"), { scope: "row", textContent: label, title: label });
  const items = Object.assign(document.createElement("td"), { textContent: found ? count(found.items) : "" });
  const code = document.createElement("td");
  if (found?.code) {
    const canvas = document.createElement("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `code ${found.code}`);
    canvas.title = found.code;
    codeStrip(canvas, { ...strip, code: found.code, before: before.get(label) });
    code.append(canvas);
  } else if (found) {
    code.textContent = "not in the sample";
  }
  element.append(head, items, code);
  return element;
}

/** Redraws the rows after their size or colours changed. */
export function redrawClasses() {
  schedule();
}

part("class-scroll").addEventListener("scroll", schedule, { passive: true });

let calm;
part("class-filter").addEventListener("input", () => {
  clearTimeout(calm);
  calm = setTimeout(() => {
    filter = part("class-filter").value.trim();
    generation += 1;
    chunks = new Map();
    fetching = new Map();
    part("class-scroll").scrollTop = 0;
    schedule();
  }, CALM);
});

/** Returns some of the labels that contain a string. */
export async function labelsLike(text, most) {
  const answer = await get(`classes?contains=${encodeURIComponent(text)}&limit=${most}`);
  return answer.classes.map(({ label }) => label);
}
