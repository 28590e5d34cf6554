// Charts: lines over time, bars, the bits of codes, and vectors that are pictures.

import { ago, percent, span } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";

function node(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Returns the size of a chart in pixels, so that its letters are as large as those of the page. */
function frame(place, height) {
  return { width: Math.max(200, place.clientWidth), height, left: 42, right: 8, top: 8, bottom: 20 };
}

/**
 * Draws a line over time. `samples` are [seconds, value or null], `marks` the seconds at which
 * something changed. `top` is the largest possible value, or null to take the largest value of the
 * samples.
 */
export function timeLine(place, { samples, marks = [], top = null, name, height = 130 }) {
  const { width, left, right, top: above, bottom } = frame(place, height);
  const known = samples.filter(([, value]) => value !== null && value !== undefined);
  const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
  const ceiling = top ?? niceCeiling(Math.max(0.01, ...known.map(([, value]) => value)));
  const end = samples.length ? samples[samples.length - 1][0] : 0;
  const begin = samples.length ? Math.min(samples[0][0], end - 30) : -30;
  const x = (time) => left + ((time - begin) / (end - begin)) * (width - left - right);
  const y = (value) => height - bottom - (value / ceiling) * (height - above - bottom);
  for (const share of [0, 0.5, 1]) {
    const at = y(share * ceiling);
    svg.append(node("line", { class: "rule", x1: left, x2: width - right, y1: at, y2: at }));
    svg.append(node("text", { x: left - 6, y: at + 4, "text-anchor": "end" }, axisNumber(share * ceiling, top !== null)));
  }
  for (const mark of marks.filter((time) => time > begin)) {
    svg.append(node("line", { class: "mark", x1: x(mark), x2: x(mark), y1: above, y2: height - bottom }));
  }
  svg.append(node("text", { x: left, y: height - 5 }, ago(end - begin)));
  svg.append(node("text", { x: width - right, y: height - 5, "text-anchor": "end" }, "now"));
  for (const part of runs(samples)) {
    const points = thin(part, width).map(([time, value]) => `${x(time).toFixed(1)},${y(value).toFixed(1)}`);
    if (points.length === 1) points.push(points[0]);
    svg.append(node("polyline", { points: points.join(" ") }));
  }
  if (known.length) {
    const [time, value] = known[known.length - 1];
    svg.append(node("circle", { cx: x(time), cy: y(value), r: 3.5 }));
    svg.setAttribute("aria-label", `${name} over the last ${span(end - begin)}: from ${percent(known[0][1])} to ${percent(value)}`);
  } else {
    svg.setAttribute("aria-label", `${name}: nothing was measured yet`);
  }
  place.replaceChildren(svg);
}

function axisNumber(value, whole) {
  return whole ? value.toFixed(1) : `${Number((100 * value).toPrecision(2))} %`;
}

/** Rounds up to 1, 2 or 5 times a power of ten. */
function niceCeiling(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 5, 10].find((step) => step * power >= value * 0.999) ?? 10);
}

/** Splits a line at its gaps. */
function runs(samples) {
  const parts = [[]];
  for (const [time, value] of samples) {
    if (value === null || value === undefined) parts.push([]);
    else parts[parts.length - 1].push([time, value]);
  }
  return parts.filter((part) => part.length);
}

/** Averages neighbouring points if there are more than the pixels can show. */
function thin(part, width) {
  const each = Math.ceil(part.length / (width / 2));
  if (each <= 1) return part;
  const means = [];
  for (let at = 0; at < part.length; at += each) {
    const group = part.slice(at, at + each);
    const mean = (index) => group.reduce((sum, sample) => sum + sample[index], 0) / group.length;
    means.push([mean(0), mean(1)]);
  }
  return means;
}

/**
 * Draws the number of items at each distance, as stacked bars of items of the same kind and others.
 */
export function histogram(place, { distances, kind, name, height = 130 }) {
  const { width, left, right, top: above, bottom } = frame(place, height);
  const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": name });
  const low = Math.min(...distances.map(({ distance }) => distance));
  const high = Math.max(...distances.map(({ distance }) => distance), low + 1);
  const step = Math.ceil((high - low + 1) / Math.min(high - low + 1, Math.floor((width - left - right) / 7)));
  const bins = Array.from({ length: Math.ceil((high - low + 1) / step) }, () => [0, 0]);
  for (const { distance, same } of distances) bins[Math.floor((distance - low) / step)][same ? 0 : 1] += 1;
  const most = Math.max(...bins.map(([same, other]) => same + other));
  const each = (width - left - right) / bins.length;
  const tall = (count) => (count / most) * (height - above - bottom);
  bins.forEach(([same, other], at) => {
    const box = { x: left + at * each + 0.5, width: Math.max(1, each - 1) };
    const ground = height - bottom;
    if (same) svg.append(node("rect", { ...box, class: "same", y: ground - tall(same), height: tall(same) }));
    if (other) svg.append(node("rect", { ...box, class: "other", y: ground - tall(same + other), height: tall(other) }));
  });
  svg.append(node("line", { class: "rule", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
  svg.append(node("text", { x: left - 6, y: above + 9, "text-anchor": "end" }, String(most)));
  svg.append(node("text", { x: left, y: height - 5 }, String(low)));
  svg.append(node("text", { x: width - right, y: height - 5, "text-anchor": "end" }, String(high)));
  if (kind) svg.append(node("text", { x: width / 2, y: height - 5, "text-anchor": "middle" }, "distance"));
  place.replaceChildren(svg);
}

/** Decodes the bits of a hexadecimal code: bytes in order, the lowest bit of each first. */
function bitsOf(hex, count) {
  return Array.from({ length: count }, (_, bit) => (parseInt(hex.substr(2 * (bit >> 3), 2), 16) >> (bit & 7)) & 1);
}

/** Returns the colours of codes that the style sheet sets for an element. */
export function codeColours(element) {
  const style = getComputedStyle(element);
  const names = ["label-0", "label-1", "detail-0", "detail-1", "new"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/**
 * Draws a code as a row of cells, one per bit. `before` is the code of the previous version, if
 * known.
 */
export function codeStrip(canvas, { code, before, bits, labelBits, cell, height, colours }) {
  const gap = labelBits < bits ? 6 : 0;
  const ink = surface(canvas, gap + cell * bits, height);
  const old = before ? bitsOf(before, bits) : null;
  const wide = cell - (cell > 5 ? 1 : 0.5);
  bitsOf(code, bits).forEach((bit, at) => {
    const detail = at >= labelBits;
    const x = at * cell + (detail ? gap : 0);
    ink.fillStyle = colours[`${detail ? "detail" : "label"}-${bit}`];
    ink.fillRect(x, 0, wide, height);
    if (old && old[at] !== bit) {
      ink.fillStyle = colours.new;
      ink.fillRect(x, height - 3, wide, 3);
    }
  });
}

/**
 * Returns a drawing context for a canvas of this size on the page, at the resolution of the screen.
 */
export function surface(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return context;
}

/** Draws a vector as a square picture, one pixel per value. */
export function vectorPicture(canvas, vector, side, top) {
  canvas.width = side;
  canvas.height = side;
  const context = canvas.getContext("2d");
  const image = context.createImageData(side, side);
  vector.forEach((value, at) => {
    const ink = 255 * Math.min(1, Math.max(0, value / top));
    image.data.set([0, 0, 0, ink], 4 * at);
  });
  context.putImageData(image, 0, 0);
}
