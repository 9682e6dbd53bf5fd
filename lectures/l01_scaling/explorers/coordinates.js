// Random coordinates of queries and keys by counting: a number always has the same place.

const GOLDEN = 0x9e3779b9; // 2³² divided by the golden ratio: far-apart words from 0, 1, 2, …
const ALL = 2 ** 32;
export const NORMAL = "normal";
export const COINS = "±1 (coin flips)";
export const UNIFORM = "uniform";
export const CAUCHY = "Cauchy (infinite variance)";
/** One normal number for all coordinates of q, another for those of k: not independent. */
export const ALL_EQUAL = "normal, all equal";

/** A 32-bit number scrambled; neighbours come out unrelated (Wellons' lowbias32). */
function mixed(x) {
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

/** What makes a pair of coordinates, into `pair`, of two random words. */
const MAKERS = {
  // Box and Muller
  [NORMAL](pair, first, second) {
    const radius = Math.sqrt(-2 * Math.log((first + 0.5) / ALL));
    const angle = 2 * Math.PI * ((second + 0.5) / ALL);
    pair[0] = radius * Math.cos(angle);
    pair[1] = radius * Math.sin(angle);
  },
  [COINS](pair, first, second) {
    pair[0] = 1 - 2 * (first >>> 31);
    pair[1] = 1 - 2 * (second >>> 31);
  },
  [UNIFORM](pair, first, second) {
    pair[0] = Math.sqrt(3) * ((2 * (first + 0.5)) / ALL - 1);
    pair[1] = Math.sqrt(3) * ((2 * (second + 0.5)) / ALL - 1);
  },
  [CAUCHY](pair, first, second) {
    pair[0] = cauchy(first);
    pair[1] = cauchy(second);
  },
};

/** The last bit is the sign, so that the tangent is never taken next to its pole. */
const cauchy = word =>
  (1 - 2 * (word & 1)) / Math.tan((Math.PI / 2) * (((word >>> 1) + 0.5) / 2 ** 31));

/** A word for each row, from which its coordinates are made; from 1, for 0 stays 0 when mixed. */
export const rowWords = (seed, rows) =>
  Uint32Array.from({ length: rows }, (_, row) => mixed(seed + row + 1));

/** Far from the seed 0, and from that of any other query. */
export const seedOf = query => Math.imul(GOLDEN, query + 13);

/** Makes coordinate number `at` of a row: a for its query and c for its key, into `pair`. */
export function maker(distribution) {
  const make = MAKERS[distribution] ?? MAKERS[NORMAL];
  return (pair, word, at) => {
    const place = distribution === ALL_EQUAL ? 0 : 2 * at;
    make(pair, mixed(word + Math.imul(place, GOLDEN)), mixed(word + Math.imul(place + 1, GOLDEN)));
  };
}
