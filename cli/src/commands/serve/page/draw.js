// The pad that digits are drawn on: with a mouse, a finger, a pen, or the keyboard.

import { surface } from "./charts.js";

/** Number of positions of the keyboard's pen in each direction. */
const GRID = 16;
/** Width of the line on the pad, as a share of its side. */
const PEN = 0.075;

/**
 * Makes a canvas a drawing pad. Calls `changed(strokes, done)` after every change; `done` is true
 * when the pen is lifted. `say(text)` describes the state to screen readers.
 */
export function makePad(canvas, { changed, say }) {
  let strokes = [];
  let drawing = null;
  let pen = null;

  const side = () => canvas.clientWidth || 280;

  function paint() {
    const size = side();
    const ink = surface(canvas, size, size);
    // The style sheet sets the size on the page.
    canvas.style.width = canvas.style.height = "";
    const style = getComputedStyle(canvas);
    ink.strokeStyle = ink.fillStyle = style.color;
    ink.lineCap = ink.lineJoin = "round";
    ink.lineWidth = PEN * size;
    for (const stroke of strokes) {
      ink.beginPath();
      ink.moveTo(stroke[0][0] * size, stroke[0][1] * size);
      for (const [x, y] of stroke) ink.lineTo(x * size, y * size);
      ink.stroke();
    }
    if (pen && document.activeElement === canvas) {
      ink.strokeStyle = style.getPropertyValue("--accent");
      ink.lineWidth = 2;
      ink.beginPath();
      ink.arc(...place().map((share) => share * size), (PEN / 2) * size + 2, 0, 2 * Math.PI);
      if (pen.down) ink.setLineDash([]);
      else ink.setLineDash([4, 4]);
      ink.stroke();
    }
  }

  function change(done) {
    const count = strokes.length;
    canvas.setAttribute("aria-label", count ? `Drawing area, ${count} ${count === 1 ? "stroke" : "strokes"}` : "Drawing area, empty");
    paint();
    changed(strokes, done);
  }

  function point(event) {
    const box = canvas.getBoundingClientRect();
    const within = (share) => Math.min(1, Math.max(0, share));
    return [within((event.clientX - box.left) / box.width), within((event.clientY - box.top) / box.height)];
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    canvas.setPointerCapture(event.pointerId);
    pen = null;
    drawing = { pointer: event.pointerId, stroke: [point(event)] };
    strokes.push(drawing.stroke);
    change(false);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drawing?.pointer !== event.pointerId) return;
    const steps = event.getCoalescedEvents?.() ?? [];
    drawing.stroke.push(...(steps.length ? steps : [event]).map(point));
    change(false);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(end, (event) => {
      if (drawing?.pointer !== event.pointerId) return;
      drawing = null;
      change(true);
    });
  }

  const place = () => [(pen.column + 0.5) / GRID, (pen.row + 0.5) / GRID];
  const where = () => `column ${pen.column + 1}, row ${pen.row + 1}`;
  const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    pen ??= { column: GRID / 2, row: 2, down: false };
    if (MOVES[event.key]) {
      const [right, down] = MOVES[event.key];
      const inside = (at) => Math.min(GRID - 1, Math.max(0, at));
      [pen.column, pen.row] = [inside(pen.column + right), inside(pen.row + down)];
      if (pen.down) strokes[strokes.length - 1].push(place());
      say(where());
      if (pen.down) change(false);
    } else if (event.key === " ") {
      pen.down = !pen.down;
      if (pen.down) strokes.push([place()]);
      say(`Pen ${pen.down ? "down" : "up"}, ${where()}`);
      change(!pen.down);
    } else if (event.key === "Backspace" || event.key === "Delete") {
      clear();
    } else {
      return;
    }
    event.preventDefault();
    paint();
  });
  canvas.addEventListener("focus", () => {
    // A click also focuses the pad, but only keyboard users need to see the position of the pen.
    if (canvas.matches(":focus-visible")) pen ??= { column: GRID / 2, row: 2, down: false };
    paint();
  });
  canvas.addEventListener("blur", () => {
    if (pen) pen.down = false;
    paint();
  });

  function clear() {
    strokes = [];
    drawing = null;
    if (pen) pen.down = false;
    say("Cleared");
    change(true);
  }

  function undo() {
    strokes.pop();
    drawing = null;
    if (pen) pen.down = false;
    change(true);
  }

  new ResizeObserver(paint).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  return { clear, undo };
}
