// What Python sends: arrays as bytes, and tables of states.

const KINDS = {
  f8: Float64Array,
  f4: Float32Array,
  f2: Uint16Array,
  i4: Int32Array,
  u1: Uint8Array,
  u2: Uint16Array,
  weights: Uint16Array,
};
const LEVELS = 65535;
const READ = { weights: shares, f2: halves };

/** A value with each array that Python sent as a typed array that has a `shape`. */
export function decode(value) {
  if (Array.isArray(value)) return value.map(decode);
  if (value === null || typeof value !== "object") return value;
  if ("array" in value) return asArray(value);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, decode(each)]));
}

function asArray({ array, shape, data }) {
  // A message's buffers may start at any byte, and a typed array may not: so copy.
  const numbers = new KINDS[array](bytesOf(data).slice().buffer);
  const values = READ[array]?.(numbers) ?? numbers;
  values.shape = shape;
  return values;
}

function shares(levels) {
  const values = new Float32Array(levels);
  for (let i = 0; i < values.length; i += 1) values[i] /= LEVELS;
  return values;
}

/** float16 has a sign, 5 bits of exponent and 10 of fraction; float32 has 8 and 23. */
function halves(numbers) {
  const values = new Float32Array(numbers.length);
  const bits = new Uint32Array(values.buffer);
  for (let i = 0; i < numbers.length; i += 1) {
    const rest = numbers[i] & 0x7fff;
    bits[i] = ((numbers[i] & 0x8000) << 16) | (rest << 13);
    if (rest < 0x7c00) values[i] *= 2 ** 112; // what the exponents count from: 15, and 127
    else bits[i] |= 0x7f800000; // infinity, or no number
  }
  return values;
}

function bytesOf(data) {
  if (typeof data === "string") {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(data);
    const text = atob(data);
    const bytes = new Uint8Array(text.length);
    // Uint8Array.from is ten times slower, and a page that opens waits for it.
    for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
    return bytes;
  }
  return new Uint8Array(data.buffer ?? data, data.byteOffset ?? 0, data.byteLength);
}

/** The state and the caption of a table at these values. */
export function lookUp({ order, positions, columns, phrases, captions }, values) {
  let index = 0;
  for (const name of order) { // of `positions` a saved notebook keeps no order
    const known = positions[name];
    index = index * known.length + nearest(known, values[name]);
  }
  const state = {};
  for (const [name, column] of Object.entries(columns)) state[name] = row(column, index);
  const [phrase, ...numbers] = captions[index].split(" ");
  return { state, caption: phrases[phrase].replace(/#/g, () => numbers.shift()) };
}

function nearest(known, value) {
  const exact = known.indexOf(value);
  if (exact >= 0 || typeof value !== "number") return Math.max(exact, 0);
  const gaps = known.map(each => Math.abs(each - value));
  return gaps.indexOf(Math.min(...gaps));
}

function row(column, index) {
  if (!column.shape) return column[index];
  const shape = column.shape.slice(1);
  const size = shape.reduce((one, other) => one * other, 1);
  const values = column.subarray(index * size, (index + 1) * size);
  values.shape = shape;
  return values;
}
