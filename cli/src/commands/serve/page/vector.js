// Vectors that users paste or upload: a JSON array, a line of CSV, or an npy file.

/**
 * Parses the rows of a text: a JSON array of numbers or of such arrays, or lines of numbers. Throws
 * an error whose message is a sentence.
 */
export function rowsOfText(text) {
  const trimmed = text.trim();
  if (trimmed === "") throw new Error("There is nothing to read: paste numbers first.");
  if (trimmed.startsWith("[") || trimmed.startsWith("{")) return rowsOfJson(trimmed);
  return trimmed.split(/\r?\n/).filter((line) => line.trim() !== "").map((line, at) => {
    const fields = line.trim().replace(/[,;]$/, "").split(/\s*[,;]\s*|\s+/);
    return numbers(fields.map((field) => (field === "" ? NaN : Number(field))), `line ${at + 1}`, fields);
  });
}

function rowsOfJson(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`This begins like JSON, but is none: ${error.message}.`);
  }
  // An item as the service returns it stands for its vector.
  if (value !== null && !Array.isArray(value)) value = value.vector;
  if (!Array.isArray(value)) throw new Error('Expected an array of numbers, or an object with a "vector".');
  const rows = Array.isArray(value[0]) ? value : [value];
  return rows.map((row, at) => {
    if (!Array.isArray(row)) throw new Error(`Row ${at + 1} is no array.`);
    return numbers(row.map((field) => (typeof field === "number" ? field : NaN)), `row ${at + 1}`, row);
  });
}

function numbers(values, where, fields) {
  const wrong = values.findIndex((value) => !Number.isFinite(value));
  if (wrong >= 0) {
    throw new Error(`Number ${wrong + 1} of ${where} is ${JSON.stringify(fields[wrong])}, which is no finite number.`);
  }
  return values;
}

/** Reads a file, whose format is detected from its first bytes. */
export async function rowsOfFile(file) {
  const most = 64 * 1024 * 1024;
  if (file.size > most) throw new Error(`The file has ${file.size} bytes; at most ${most} are read here.`);
  const bytes = await file.arrayBuffer();
  const magic = new Uint8Array(bytes.slice(0, 6));
  if (magic[0] === 0x93 && String.fromCharCode(...magic.slice(1)) === "NUMPY") return rowsOfNpy(bytes);
  return rowsOfText(new TextDecoder().decode(bytes));
}

/**
 * Readers of the number types of npy files: the size in bytes, and a function of a view and an
 * offset.
 */
const TYPES = {
  f2: [2, (view, at, little) => half(view.getUint16(at, little))],
  f4: [4, (view, at, little) => view.getFloat32(at, little)],
  f8: [8, (view, at, little) => view.getFloat64(at, little)],
  i1: [1, (view, at) => view.getInt8(at)],
  i2: [2, (view, at, little) => view.getInt16(at, little)],
  i4: [4, (view, at, little) => view.getInt32(at, little)],
  i8: [8, (view, at, little) => Number(view.getBigInt64(at, little))],
  u1: [1, (view, at) => view.getUint8(at)],
  u2: [2, (view, at, little) => view.getUint16(at, little)],
  u4: [4, (view, at, little) => view.getUint32(at, little)],
  u8: [8, (view, at, little) => Number(view.getBigUint64(at, little))],
  b1: [1, (view, at) => view.getUint8(at)],
};

/** Parses the rows of an npy file of one or two dimensions. */
export function rowsOfNpy(bytes) {
  const damaged = (what) => new Error(`This npy file is damaged: ${what}.`);
  if (bytes.byteLength < 12) throw damaged(`it has only ${bytes.byteLength} bytes`);
  const view = new DataView(bytes);
  const long = view.getUint8(6) > 1;
  const begin = long ? 12 : 10;
  const end = begin + (long ? view.getUint32(8, true) : view.getUint16(8, true));
  if (end > bytes.byteLength) throw damaged("its header is cut off");
  const header = new TextDecoder("latin1").decode(bytes.slice(begin, end));
  const type = header.match(/'descr':\s*'([<>|=])(\w\d)'/);
  const shape = header.match(/'shape':\s*\(([\d,\s]*)\)/)?.[1].split(",").filter((size) => size.trim() !== "").map(Number);
  if (!type || !TYPES[type[2]] || !shape) throw new Error(`Expected an npy file of numbers; its header is ${header.trim()}.`);
  if (shape.length === 0 || shape.length > 2) {
    throw new Error(`Expected an array of one or two dimensions, but it has ${shape.length}.`);
  }
  const [rows, columns] = shape.length === 1 ? [1, shape[0]] : shape;
  if (rows === 0 || columns === 0) throw new Error(`This array is empty: ${rows} x ${columns}.`);
  const [size, read] = TYPES[type[2]];
  const expected = rows * columns * size;
  if (bytes.byteLength - end < expected) throw damaged(`${expected} bytes should follow its header, ${bytes.byteLength - end} do`);
  const byColumn = /'fortran_order':\s*True/.test(header);
  const row = (at) => Array.from({ length: columns }, (_, column) =>
    read(view, end + size * (byColumn ? column * rows + at : at * columns + column), type[1] !== ">"));
  return Array.from({ length: rows }, (_, at) => numbers(row(at), `row ${at + 1}`, row(at)));
}

/** Reads a number in half precision. */
function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
}
