// Running sums of coordinates: what the scores of random queries and keys are made of. With
// q = m + s a and k = m + s b, b = r a + √(1 − r²) c, where a and c are independent,
//
//   q·k = d m² + m s Σ(a + b) + s² Σ a b
//
// and all sums over the first d coordinates are linear in those of a, c, a² and a c.

import { maker, rowWords, seedOf } from "./coordinates.js";

const WIDTHS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512];
const SAMPLES = 2000;
export const KEYS = 64;

/** For each width, so far as it has been asked for: sums of a, c, a² and a c, one for each row. */
class Running {
  constructor(distribution, seed, rows, ofOneQuery) {
    Object.assign(this, { make: maker(distribution), rows, ofOneQuery, done: 0, known: new Map() });
    this.words = rowWords(seed, rows);
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
    const [sumA, sumC, sumAA, sumAC] = this.total;
    const pair = [0, 0];
    let shared;
    for (let row = 0; row < this.rows; row += 1) {
      this.make(pair, this.words[row], coordinate);
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

/** Running sums of one query with its keys. */
export const querySums = (distribution, query, width) =>
  keep(`${distribution} ${query}`, () =>
    new Running(distribution, seedOf(query), KEYS, true)).at(width);
