// Attention with one query and three keys in the plane, and what a picture draws of it.

import { number } from "../../../course_utils/explorers/kit/words.js";

export const WORDS = ["cat", "milk", "it"];
const SAME = 1e-9; // scores that differ by less count as equal
const CLOSE = 5e-3; // what is written to two decimals is then the same, or nearly
const RUNS = "This runs on your `attend`: Python calls it at each move.";

/** Each row x as x W. */
const times = (rows, [one, other]) =>
  rows.map(([x, y]) => [x * one[0] + y * other[0], x * one[1] + y * other[1]]);
const sum = values => values.reduce((one, other) => one + other, 0);

/**
 * One query q (2,), keys k and values v (3, 2): dragged, or made from `tokens` by three matrices.
 * `feet` (3, 2) are the keys' projections on the query's line, `scores` (3,) are q·k / √2,
 * `weights` (3,) their softmax. `steps` (4, 2) lays the weighted values head to tail, from the
 * origin to the output `out` (2,). `asks` is the word that the query was made from, if any.
 *
 * Given `yours`, the answer of the reader's function, weights and output are its own: `says` who
 * computed, `trails` whether the answer is to a question of before, and `formula` has the weights
 * and the output of the formula where they are others.
 */
export function compute({ query, keys, values, tokens, asks = "", w_q, w_k, w_v }, { yours } = {}) {
  const q = tokens ? times(tokens, w_q)[WORDS.indexOf(asks)] : query;
  const k = tokens ? times(tokens, w_k) : keys;
  const v = tokens ? times(tokens, w_v) : values;
  const products = k.map(([x, y]) => x * q[0] + y * q[1]);
  const square = q[0] * q[0] + q[1] * q[1];
  const scores = products.map(each => each / Math.sqrt(2));
  const weights = yours?.weights ?? softmax(scores);
  const steps = [[0, 0]];
  weights.forEach((w, i) => steps.push(v[i].map((each, axis) => steps[i][axis] + w * each)));
  const feet = products.map(each => q.map(axis => (square ? (each / square) * axis : 0)));
  const out = yours?.out ?? steps.at(-1);
  const state = { q, k, v, feet, scores, weights, steps, out, asks };
  if (!yours) return state;
  if (yours.problem) return { ...state, says: `The page computes: ${yours.problem}.` };
  const trails = JSON.stringify(yours.of) !== JSON.stringify({ query, keys, values });
  return { ...state, isYours: true, trails, ...compared(yours) };
}

function softmax(scores) {
  const most = Math.max(...scores);
  const grown = scores.map(each => Math.exp(each - most));
  return grown.map(each => each / sum(grown));
}

/** The reader's answer beside the formula's, to the same question. */
function compared({ of, weights, out }) {
  const formula = compute(of);
  const gaps = weights.map((each, i) => Math.abs(each - formula.weights[i]));
  const most = Math.max(...gaps);
  if (most > CLOSE) {
    const [word, mine, right] = [WORDS, weights, formula.weights].map(each => each[gaps.indexOf(most)]);
    const gets = `“${word}” gets ${number(mine, 2)}; by the formula, ${number(right, 2)}`;
    return { formula, says: `${RUNS} ${gets} (lines and ring).` };
  }
  const isOff = out.some((each, axis) => Math.abs(each - formula.out[axis]) > CLOSE);
  if (!isOff) return { says: RUNS };
  return { formula, says: `${RUNS} The output is ${at(out)}; by the formula, ${at(formula.out)} (ring).` };
}

const at = ([x, y]) => `(${number(x, 1)}, ${number(y, 1)})`;

/** The state in words. */
export function caption({ scores, weights, out, asks, isYours }) {
  if (isYours) {
    const most = Math.max(...weights);
    return `Your attend gives [k:${WORDS[weights.indexOf(most)]}] the largest weight, ` +
      `[b:${number(most, 2)}], and as output [v:${at(out)}].`;
  }
  const most = Math.max(...scores);
  const best = scores.indexOf(most);
  const [score, share] = [number(most, 2), number(weights[best], 2)];
  if (most - Math.min(...scores) < SAME) {
    return `All three scores are [k:${score}], so each weight is [b:${share}]: the output ` +
      `[v:${at(out)}] is the average of the values.`;
  }
  return asks
    ? `[q:${asks}] attends most to [k:${WORDS[best]}], with the score [k:${score}] and the ` +
      `weight [b:${share}]. It receives [v:${at(out)}].`
    : `[k:${WORDS[best]}] has the highest score, [k:${score}], and gets the weight ` +
      `[b:${share}]. The mixture of the values is [v:${at(out)}].`;
}
