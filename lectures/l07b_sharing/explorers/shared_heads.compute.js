// Who reads which keys and values, and the bytes of the cache for every way to share.

const [LAPTOP, H100] = [16e9, 80e9]; // bytes
const UNITS = [[1e15, "PB"], [1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]];

/**
 * `reads` says for each query head which key/value head it reads. `bytes` is the cache at each of
 * `counts` key/value heads, from one to one for each query head: keys and values of every layer,
 * two bytes a number. `cache` is that of the `key_value_heads` that are there: as many as asked
 * for, or the next lower number that divides the `heads`.
 */
export function compute({ key_value_heads, model, length, batch }, { models }) {
  const [heads, layers, head_width] = models[model];
  const counts = [];
  for (let n = 1; n <= heads; n += 1) if (heads % n === 0) counts.push(n);
  const groups = Math.max(...counts.filter(n => n <= key_value_heads));
  const bytes = counts.map(n => 2 * layers * n * head_width * length * batch * 2);
  return {
    reads: Array.from({ length: heads }, (_, h) => Math.floor((h * groups) / heads)),
    counts, bytes, heads, key_value_heads: groups, cache: bytes[counts.indexOf(groups)],
    layers, head_width, length, batch,
  };
}

/** Bytes in three digits, in the 1000s of a data sheet. */
export function describeBytes(size) {
  const [unit, words] = UNITS.find(([each]) => size >= each);
  return `${Number((size / unit).toPrecision(3))} ${words}`;
}

/** The state in words. */
export function caption({ heads, key_value_heads: groups, cache, bytes }) {
  const size = describeBytes(cache);
  const pairs = groups === 1 ? "key/value head" : "key/value heads";
  const who = groups === heads
    ? `[q:${heads} query heads], each with its own keys and values: [b:${size}] of cache`
    : `[q:${heads} query heads] on [b:${groups}] ${pairs}: [b:${size}], 1/${heads / groups} of ` +
      describeBytes(bytes.at(-1));
  return `${who}. ${fits(cache)}`;
}

function fits(cache) {
  if (cache <= LAPTOP) return "Without the weights, it would fit into a laptop's 16 GB.";
  if (cache <= H100) return "Too much for a laptop's 16 GB, even without the weights.";
  return "Too much even for an H100's 80 GB.";
}
