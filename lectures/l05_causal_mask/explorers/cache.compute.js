// Bytes of keys, values and weights, and the length of text at which each memory is full.

import { number } from "../../../course_utils/explorers/kit/words.js";

export const FULL = 128;
export const WINDOW = 4096;
/** Bytes that each memory holds. */
export const MEMORIES = { "laptop, 16 GB": 16e9, "H100, 80 GB": 80e9, "8 H100s, 640 GB": 640e9 };
const UNITS = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]];
const [LAPTOP, CARD] = Object.values(MEMORIES);

/**
 * Bytes of `keys`, `values`, `weights` and all in `total`, with `kept` of `length` tokens a text.
 *
 * `token` are the bytes of one token of one text, `unshared` those of the cache if every query head
 * had keys and values of its own. `full_at` (3,) is the length in tokens from which each memory is
 * too small; 0 where the weights by themselves are too large, −1 where it never happens.
 */
export function compute({ model, filled, texts, sharing, bits, window }, { models }) {
  const { layers, heads, head_width: width, context, parameters } = models[model];
  const length = Math.floor((context * filled) / FULL);
  const longest = window ? WINDOW : context;
  const kept = Math.min(length, longest);
  const bytesOf = (count, tokens, many = texts) =>
    (2 * layers * count * width * tokens * many * bits) / 8;
  const kv_heads = heads / sharing;
  const [cache, weights] = [bytesOf(kv_heads, kept), 2 * parameters];
  const most = Math.min(context, longest);
  const perToken = bytesOf(kv_heads, 1);
  return {
    keys: cache / 2,
    values: cache / 2,
    weights,
    total: weights + cache,
    unshared: bytesOf(heads, kept),
    token: bytesOf(kv_heads, 1, 1),
    full_at: Object.values(MEMORIES).map(size => fullAt(size - weights, perToken, most)),
    length, kept, context, layers, heads, kv_heads, width, texts, bits,
  };
}

/** Tokens until this room is full: 0 if there is none, -1 if `most` tokens fit. */
function fullAt(room, token, most) {
  if (room <= 0) return 0;
  return room / token >= most ? -1 : room / token;
}

/** Bytes in three digits, in the 1000s of a data sheet. */
export function sizeOf(count) {
  const [unit, name] = UNITS.find(each => count >= each[0]) ?? [1, "bytes"];
  const share = count / unit;
  return `${number(share, share >= 100 ? 0 : share >= 10 ? 1 : 2)} ${name}`;
}

/** What has room for so many bytes, as a sentence. */
function holderOf(total) {
  if (total <= LAPTOP) return `A laptop's [b:${number(LAPTOP / 1e9)} GB] hold them.`;
  const cards = Math.ceil(total / CARD);
  return cards === 1 ? "One H100 holds them." : `It takes [b:${number(cards)}] H100s.`;
}

/** The state in words. */
export const caption = ({ texts, length, keys, values, weights, total }) =>
  `${texts === 1 ? "1 text" : `${texts} texts`} of ${number(length)} tokens` +
  `${texts === 1 ? "" : " each"}: keys ` +
  `[k:${sizeOf(keys)}], values [v:${sizeOf(values)}], weights ${sizeOf(weights)}, in all ` +
  `[b:${sizeOf(total)}]. ${holderOf(total)}`;
