// The parts of the page of `hashbrook serve` that need no browser: drawings, vectors, and sentences.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { digit, drawnSide } from "../../src/commands/serve/page/digit.js";
import { precisionOf, renewalsOf, stateOf } from "../../src/commands/serve/page/state.js";
import { rowsOfNpy, rowsOfText } from "../../src/commands/serve/page/vector.js";
import { DIGITS } from "./strokes.mjs";

const project = new URL("../../../", import.meta.url);

/** The digits that the program carries, as [vector, label]. */
function opticalDigits() {
  const text = gunzipSync(readFileSync(new URL("src/dataset/digits.csv.gz", project))).toString();
  return text.trim().split("\n").map((line) => {
    const numbers = line.split(",").map(Number);
    return [numbers.slice(0, 64), numbers[64]];
  });
}

/** The test digits of MNIST, if they are there. */
function mnistDigits() {
  const directories = [process.env.HASHBROOK_DATA, new URL("../shared/data", project).pathname, new URL("data", project).pathname];
  const directory = directories.find((directory) => directory && existsSync(`${directory}/mnist`));
  if (!directory) return null;
  const read = (name) => gunzipSync(readFileSync(`${directory}/mnist/${name}-ubyte.gz`));
  const [pictures, labels] = [read("t10k-images-idx3"), read("t10k-labels-idx1")];
  return Array.from(labels.subarray(8, 3008), (label, at) => [pictures.subarray(16 + 784 * at, 800 + 784 * at), label]);
}

/** The labels of the ten nearest by cosine. */
function nearest(vector, data) {
  const length = (of) => Math.sqrt(of.reduce((sum, value) => sum + value * value, 0));
  const cosine = (of) => of.reduce((sum, value, at) => sum + value * vector[at], 0) / length(of);
  const ranked = data.map(([of, label]) => [cosine(of), label]).sort((one, other) => other[0] - one[0]);
  return ranked.slice(0, 10).map(([, label]) => label);
}

test("drawn digits look like those of the data", (t) => {
  for (const [name, data, side, top] of [["UCI", opticalDigits(), 8, 16], ["MNIST", mnistDigits(), 28, 255]]) {
    if (!data) {
      t.diagnostic(`left out: ${name}`);
      continue;
    }
    for (const [label, strokes] of Object.entries(DIGITS)) {
      // Small, narrow, or in a corner: it is the shape that counts.
      for (const [scale, squeeze, shift] of [[1, 1, 0], [0.3, 1, 0.6], [0.8, 0.75, 0.1]]) {
        const drawn = strokes.map((stroke) => stroke.map(([x, y]) => [x * scale * squeeze + shift, y * scale + shift]));
        const vector = digit(drawn, side, top);
        assert.equal(vector.length, side * side);
        assert.ok(vector.every((value) => Number.isInteger(value) && value >= 0 && value <= top));
        const labels = nearest(vector, data);
        const right = labels.filter((other) => other === Number(label)).length;
        assert.ok(right >= 6, `${name}: a ${label} (${scale}, ${squeeze}) is taken for ${labels}`);
      }
    }
  }
});

test("drawings of nothing and of a dot", () => {
  assert.deepEqual([drawnSide(64), drawnSide(784), drawnSide(100)], [8, 28, 0]);
  assert.equal(digit([], 8, 16), null);
  assert.equal(digit([[]], 28, 255), null);
  for (const [side, top] of [[8, 16], [28, 255], [28, 1]]) {
    const dot = digit([[[0.1, 0.9]]], side, top);
    assert.ok(dot.every((value) => value >= 0 && value <= top));
    assert.ok(Math.max(...dot) > top / 2);
  }
});

test("MNIST's centre of mass is in the middle", () => {
  const seven = digit(DIGITS[7], 28, 255);
  let [sum, x, y] = [0, 0, 0];
  seven.forEach((value, at) => {
    sum += value;
    x += value * ((at % 28) + 0.5);
    y += value * (Math.floor(at / 28) + 0.5);
  });
  assert.ok(Math.abs(x / sum - 14) < 0.2 && Math.abs(y / sum - 14) < 0.2, `${x / sum}, ${y / sum}`);
});

test("vectors as people write them", () => {
  const expected = [[1, -2.5, 300]];
  for (const text of ["[1, -2.5, 3e2]", "1,-2.5,300", "1; -2.5; 300;", " 1 -2.5\t300\n", '{"id": 7, "vector": [1, -2.5, 300]}', "[[1, -2.5, 300]]"]) {
    assert.deepEqual(rowsOfText(text), expected, text);
  }
  assert.deepEqual(rowsOfText("1,2\r\n3,4\n"), [[1, 2], [3, 4]]);
  const wrong = { "": /nothing/, "[1, 2": /JSON/, "[1, null]": /Number 2 of row 1 is null/, "1,,2": /Number 2 of line 1/, "1,x": /"x"/, "{}": /array/, "[1, [2]]": /Number 2/, "1e999": /finite/ };
  for (const [text, message] of Object.entries(wrong)) assert.throws(() => rowsOfText(text), message, text);
});

/** An npy file. */
function npy(type, shape, data, order = "False") {
  const header = `{'descr': '${type}', 'fortran_order': ${order}, 'shape': (${shape.join(", ")},), }\n`;
  const head = Buffer.concat([Buffer.from("\x93NUMPY\x01\x00", "latin1"), Buffer.alloc(2)]);
  head.writeUInt16LE(header.length, 8);
  const bytes = Buffer.concat([head, Buffer.from(header), Buffer.from(data.buffer)]);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
}

test("npy files of every usual type, whole and damaged", () => {
  const rows = [[1, 2, 3], [4, 5, 6]];
  const types = { "<f4": Float32Array, "<f8": Float64Array, "|u1": Uint8Array, "<i2": Int16Array, "<i4": Int32Array };
  for (const [type, Of] of Object.entries(types)) {
    assert.deepEqual(rowsOfNpy(npy(type, [2, 3], Of.from([1, 2, 3, 4, 5, 6]))), rows, type);
    assert.deepEqual(rowsOfNpy(npy(type, [2, 3], Of.from([1, 4, 2, 5, 3, 6]), "True")), rows, type);
    assert.deepEqual(rowsOfNpy(npy(type, [3], Of.from([1, 2, 3]))), [[1, 2, 3]], type);
  }
  assert.deepEqual(rowsOfNpy(npy("<i8", [2], BigInt64Array.from([1n, -2n]))), [[1, -2]]);
  assert.deepEqual(rowsOfNpy(npy("<f2", [4], Uint16Array.from([0x3c00, 0xc000, 0x3555, 0x0001]))), [[1, -2, 1365 / 4096, 2 ** -24]]);
  assert.deepEqual(rowsOfNpy(npy(">f4", [1], Uint8Array.from([0x3f, 0x80, 0, 0]))), [[1]]);
  assert.throws(() => rowsOfNpy(npy("<f4", [3], Float32Array.from([1, 2]))), /12 bytes should follow its header, 8 do/);
  assert.throws(() => rowsOfNpy(npy("<f4", [1, 1, 1], Float32Array.from([1]))), /but it has 3/);
  assert.throws(() => rowsOfNpy(npy("<f4", [0], Float32Array.from([]))), /empty/);
  assert.throws(() => rowsOfNpy(npy("<U5", [1], Float32Array.from([1]))), /npy file of numbers/);
  assert.throws(() => rowsOfNpy(npy("<f4", [2], Float32Array.from([1, NaN]))), /Number 2 of row 1/);
  const whole = npy("<f4", [3], Float32Array.from([1, 2, 3]));
  for (let length = 0; length < whole.byteLength; length++) assert.throws(() => rowsOfNpy(whole.slice(0, length)), Error);
});

test("items in words: the title, all of the payload, or the error of a damaged item", async () => {
  const { inWords } = await import("../../src/commands/serve/page/items.js");
  assert.deepEqual(inWords({ error: "journal: is damaged" }), { short: "journal: is damaged", full: "journal: is damaged" });
  assert.deepEqual(inWords({ payload: { title: "seven" } }), { short: "seven", full: '{\n "title": "seven"\n}' });
  assert.deepEqual(inWords({ payload: { a: 1, b: [2] } }), { short: '{ "a": 1, "b": [ 2 ] }', full: '{\n "a": 1,\n "b": [\n  2\n ]\n}' });
  assert.deepEqual(inWords({ payload: 7 }), { short: "7", full: "7" });
  const { short, full } = inWords({ payload: "x".repeat(200) });
  assert.ok(short.length === 80 && short.endsWith("…") && full.length === 200);
  const picture = "data:image/png;base64,AAAA";
  for (const payload of [null, undefined, {}, [], picture, { image: picture }]) assert.equal(inWords({ payload }), null);
});

test("one sentence says what goes on and why", () => {
  const learning = { enabled: true, rows: 20000, behind_rows: 0, warm: true, warmup_rows: 3000 };
  const renewal = { progress: null, problem: null, lag_rows: 20000, policy: "gain:0.02", catch_up_seconds: 60 };
  const told = (of, changes = {}) => stateOf({ items: 20000, learning, renewal, [of]: { ...{ learning, renewal }[of], ...changes } }).text;
  assert.equal(told("renewal"), "20,000 rows learned since the last renewal; codes follow within 60 s of idle time, or earlier if that gains 2.0 %");
  assert.equal(told("renewal", { policy: "every:5000" }), "20,000 rows learned since the last renewal; codes follow after 5,000 rows, or within 60 s of idle time");
  assert.equal(told("renewal", { policy: "never", lag_rows: 1 }), "1 row learned since the last renewal; codes follow when you renew them");
  assert.equal(told("renewal", { policy: "always" }), "20,000 rows learned since the last renewal; codes follow at once");
  assert.equal(told("renewal", { progress: 0.438 }), "Re-encoding: 43 %");
  assert.equal(told("renewal", { problem: "disk full" }), "Re-encoding failed and is tried again; searches use the codes of before");
  assert.equal(told("renewal", { lag_rows: 0 }), "All codes are up to date");
  assert.equal(told("learning", { behind_rows: 3000 }), "Learning: about 3,000 rows behind");
  assert.equal(told("learning", { rows: 1200, warm: false }), "Warming up: 1,200 of the 3,000 rows that learning starts with; codes follow when no more rows arrive, or when you renew them");
  const cold = stateOf({ items: 9, learning: { ...learning, rows: 9, warm: false }, renewal: { ...renewal, lag_rows: 0 } });
  assert.equal(cold.text, "Warming up: 9 of the 3,000 rows that learning starts with; all codes are up to date");
  assert.equal(told("learning", { rows: 0, warm: false }), "Nothing is learned yet: the service learns from items with labels");
  assert.equal(told("learning", { enabled: false }), "Learning is off (--no-learn): items keep their codes until you renew them");
  assert.equal(stateOf({ items: 0, learning, renewal }).text, "There are no items yet");
});

test("the precision has its age, or the reason why it is not known", () => {
  const quality = { precision_at_10: 0.5861, precision_at_10_per_class: 0.4, queries: 500, measured_on: "held_out", measured_at: 1000, unmeasured: null };
  assert.equal(precisionOf({ quality, time: 1012.2 }), ".586 (.400 as the mean over the classes), measured 12 s ago on 500 held-out items");
  const few = { ...quality, measured_on: "learned", precision_at_10_per_class: null };
  assert.equal(precisionOf({ quality: few, time: 999 }), ".586, measured 0 s ago on 500 learned items");
  assert.equal(precisionOf({ quality: { ...few, precision_at_10: 1, queries: 1 }, time: 1300 }), "1.000, measured 5 min ago on 1 learned item");
  const none = { precision_at_10: null, precision_at_10_per_class: null, queries: 0, measured_on: null, measured_at: null, unmeasured: "it needs labelled items" };
  assert.equal(precisionOf({ quality: none, time: 1000 }), "is not known: it needs labelled items");
  assert.equal(renewalsOf({ done: 0, flipped: null, seconds: null }), "No renewal since the server started.");
  assert.equal(renewalsOf({ done: 2, flipped: 0.5, seconds: 0.25 }), "2 renewals since the server started. The last one changed 50 % of the bits in 250 ms.");
});
