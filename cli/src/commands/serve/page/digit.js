// Conversion of drawings into pictures like those of digit data sets.
//
// A drawing is a list of strokes, a stroke a list of points [x, y], in any unit, y downwards.
// Strokes are scaled before their width is applied, so the size of the drawing does not matter.

/** Returns the side of the pictures that can be drawn for a dimension, or 0. */
export function drawnSide(dim) {
  return dim === 64 ? 8 : dim === 784 ? 28 : 0;
}

/**
 * Converts a drawing to the form of the data: `side` x `side` numbers from 0 to `top`, row by row;
 * null if the drawing is empty.
 */
export function digit(strokes, side, top) {
  const drawn = strokes.filter((stroke) => stroke.length > 0);
  if (drawn.length === 0) return null;
  const shares = side === 8 ? opticalDigit(drawn) : mnistDigit(drawn);
  const steps = Number.isInteger(top) && top > 1;
  return shares.map((share) => (steps ? Math.round(share * top) : share * top));
}

const BLOCKS = 8;
const BITMAP = 32;
/** Maximum width of a digit in its bitmap: digits of the data set are six blocks wide. */
const WIDEST = 25;
/** Width of a 1, as a share of its height. */
const NARROW = 0.22;
/** Minimum width of most other digits, as a share of their height. */
const WIDENED = 0.5;
/**
 * Number of the 1024 pixels that have ink. It is the same for all digits, so a 1 has thick strokes.
 */
const INK = 312;

/**
 * Renders a digit like the UCI optical digits: a bitmap of 32 x 32, as high as the digit, reduced
 * to the share of ink in each 4 x 4 block.
 */
function opticalDigit(drawn) {
  const strokes = widened(drawn);
  let [thin, thick] = [1, 14];
  for (let step = 0; step < 7; step++) {
    const width = (thin + thick) / 2;
    if (count(bitmap(strokes, width)) < INK) thin = width;
    else thick = width;
  }
  const ink = bitmap(strokes, thick);
  const shares = new Array(BLOCKS * BLOCKS).fill(0);
  ink.forEach((pixel, at) => {
    const row = Math.floor(at / BITMAP / 4);
    const column = Math.floor((at % BITMAP) / 4);
    shares[row * BLOCKS + column] += pixel / 16;
  });
  return shares;
}

/**
 * Widens narrow digits, like those of the data set. A digit narrower than `NARROW` is a 1, and
 * stays as it is.
 */
function widened(strokes) {
  const [width, height] = extent(strokes);
  const aspect = width / Math.max(height, 1e-9);
  const wider = Math.max(aspect, Math.min(WIDENED, NARROW + 4 * (aspect - NARROW)));
  const factor = aspect > NARROW ? wider / aspect : 1;
  return strokes.map((stroke) => stroke.map(([x, y]) => [x * factor, y]));
}

function bitmap(strokes, width) {
  const fitted = fit(strokes, WIDEST - width, BITMAP - width, BITMAP / 2, BITMAP / 2);
  return render(fitted, BITMAP, (distance) => (distance <= width / 2 ? 1 : 0));
}

function count(ink) {
  return ink.reduce((sum, pixel) => sum + pixel, 0);
}

const SIDE = 28;
const BOX = 20;
const PEN = 2.5;

/**
 * Renders a digit like the MNIST digits: in grey, fitted into 20 x 20, with the centre of mass in
 * the middle of 28 x 28.
 */
function mnistDigit(strokes) {
  const soft = (distance) => Math.min(1, Math.max(0, PEN / 2 + 0.5 - distance));
  const fitted = fit(strokes, BOX - PEN, BOX - PEN, SIDE / 2, SIDE / 2);
  const [x, y] = centreOfMass(render(fitted, SIDE, soft), SIDE);
  const moved = fitted.map((stroke) => stroke.map((point) => [point[0] + SIDE / 2 - x, point[1] + SIDE / 2 - y]));
  return render(moved, SIDE, soft);
}

function centreOfMass(ink, side) {
  let [sum, x, y] = [0, 0, 0];
  ink.forEach((pixel, at) => {
    sum += pixel;
    x += pixel * ((at % side) + 0.5);
    y += pixel * (Math.floor(at / side) + 0.5);
  });
  return [x / sum, y / sum];
}

/** Returns the width and height of a drawing, and its centre. */
function extent(strokes) {
  let [left, right, above, below] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const [x, y] of strokes.flat()) {
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [above, below] = [Math.min(above, y), Math.max(below, y)];
  }
  return [right - left, below - above, (left + right) / 2, (above + below) / 2];
}

/** Scales strokes to fit into a box around a centre, by the same factor in both directions. */
function fit(strokes, boxWidth, boxHeight, centreX, centreY) {
  const [width, height, middleX, middleY] = extent(strokes);
  const scale = Math.min(boxWidth / Math.max(width, 1e-9), boxHeight / Math.max(height, 1e-9));
  // A single dot has no extent that could be scaled.
  const factor = Math.max(width, height) < 1e-6 ? 1 : scale;
  const moved = ([x, y]) => [(x - middleX) * factor + centreX, (y - middleY) * factor + centreY];
  return strokes.map((stroke) => spaced(stroke.map(moved)));
}

/** Removes the points of a stroke that hardly differ from the previous one. */
function spaced(stroke) {
  const kept = [stroke[0]];
  for (const [at, point] of stroke.entries()) {
    const last = kept[kept.length - 1];
    if (at > 0 && (Math.hypot(point[0] - last[0], point[1] - last[1]) > 0.4 || at === stroke.length - 1)) kept.push(point);
  }
  return kept;
}

/** Renders `side` x `side` pixels, each by its distance from the nearest stroke. */
function render(strokes, side, inkAt) {
  const pixels = new Array(side * side);
  for (let at = 0; at < pixels.length; at++) {
    const x = (at % side) + 0.5;
    const y = Math.floor(at / side) + 0.5;
    let nearest = Infinity;
    for (const stroke of strokes) {
      for (let point = 0; point < stroke.length; point++) {
        nearest = Math.min(nearest, distanceSquared(x, y, stroke[Math.max(0, point - 1)], stroke[point]));
      }
    }
    pixels[at] = inkAt(Math.sqrt(nearest));
  }
  return pixels;
}

/** Returns the squared distance of a point from a segment. */
function distanceSquared(x, y, [x0, y0], [x1, y1]) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const length = dx * dx + dy * dy;
  const along = length === 0 ? 0 : Math.min(1, Math.max(0, ((x - x0) * dx + (y - y0) * dy) / length));
  const [ex, ey] = [x0 + along * dx - x, y0 + along * dy - y];
  return ex * ex + ey * ey;
}
