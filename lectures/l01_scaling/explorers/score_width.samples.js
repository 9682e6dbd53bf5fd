// Random coordinates by counting: the numbers that experiments/score_variance.py makes.

const WIDTHS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512];
const SAMPLES = 2000;
const GOLDEN = 0x9e3779b9;
const ALL = 2 ** 32;
const NORMAL = "normal";
export const COINS = "±1 (coin flips)";
export const UNIFORM = "uniform";
export const CAUCHY = "Cauchy (infinite variance)";
export const ALL_EQUAL = "normal, all equal";

/** A 32-bit number scrambled (Wellons' lowbias32). */
function mixed(x) {
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

/** What makes a pair of coordinates, into `pair`, of two random words. */
const MAKERS = {
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

const cauchy = word =>
  (1 - 2 * (word & 1)) / Math.tan((Math.PI / 2) * (((word >>> 1) + 0.5) / 2 ** 31));

/** For each width, so far as it has been asked for: sums of a, c, a² and a c, one for each row. */
class Running {
  constructor(distribution, seed, rows, ofOneQuery) {
    Object.assign(this, { distribution, rows, ofOneQuery, done: 0, known: new Map() });
    this.keys = Uint32Array.from({ length: rows }, (_, row) => mixed(seed + row + 1));
    this.total = [0, 1, 2, 3].map(() => new Float64Array(rows));
  }

  at(width) {
    for (const next of WIDTHS) {
      if (next > width) break;
      if (!this.known.has(next)) {
        for (; this.done < next; this.done += 1) this.add(this.done);
        this.known.set(next, this.total.map(each => each.slice()));
      }
    }
    return this.known.get(width);
  }

  /** One coordinate more for all rows; the keys of one query share its a. */
  add(coordinate) {
    const at = this.distribution === ALL_EQUAL ? 0 : 2 * coordinate;
    const make = MAKERS[this.distribution] ?? MAKERS[NORMAL];
    const [one, other] = [Math.imul(at, GOLDEN), Math.imul(at + 1, GOLDEN)];
    const [sumA, sumC, sumAA, sumAC] = this.total;
    const pair = [0, 0];
    let shared;
    for (let row = 0; row < this.rows; row += 1) {
      make(pair, mixed(this.keys[row] + one), mixed(this.keys[row] + other));
      shared ??= pair[0];
      const a = this.ofOneQuery ? shared : pair[0];
      sumA[row] += a;
      sumC[row] += pair[1];
      sumAA[row] += a * a;
      sumAC[row] += a * pair[1];
    }
  }
}

const kept = new Map();

function keep(name, make) {
  if (!kept.has(name)) kept.set(name, make());
  return kept.get(name);
}

/** Running sums of 2,000 pairs. */
export const runningSums = (distribution, width) =>
  keep(distribution, () => new Running(distribution, 0, SAMPLES, false)).at(width);

/** Running sums of one query with several keys. */
export const querySums = (distribution, query, keys, width) =>
  keep(`${distribution} ${query}`, () =>
    new Running(distribution, Math.imul(GOLDEN, query + 13), keys, true)).at(width);
