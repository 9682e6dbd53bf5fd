// Attention with one query and three keys in the plane, and what a picture draws of it.

import { number } from "../../../course_utils/explorers/kit/words.js";

export const WORDS = ["cat", "milk", "it"];
const SAME = 1e-9; // scores that differ by less count as equal

/** Each row x as x W. */
const times = (rows, [one, other]) =>
  rows.map(([x, y]) => [x * one[0] + y * other[0], x * one[1] + y * other[1]]);
const sum = values => values.reduce((one, other) => one + other, 0);

/**
 * One query q (2,), keys k and values v (3, 2): dragged, or made from `tokens` by three matrices.
 * `feet` (3, 2) are the keys' projections on the query's line, `scores` (3,) are q·k / √2,
 * `weights` (3,) their softmax. `steps` (4, 2) lays the weighted values head to tail, from the
 * origin to the output `out` (2,). `asks` is the word that the query was made from, if any.
 */
export function compute({ query, keys, values, tokens, asks = "", w_q, w_k, w_v }) {
  const q = tokens ? times(tokens, w_q)[WORDS.indexOf(asks)] : query;
  const k = tokens ? times(tokens, w_k) : keys;
  const v = tokens ? times(tokens, w_v) : values;
  const products = k.map(([x, y]) => x * q[0] + y * q[1]);
  const square = q[0] * q[0] + q[1] * q[1];
  const scores = products.map(each => each / Math.sqrt(2));
  const most = Math.max(...scores);
  const grown = scores.map(each => Math.exp(each - most));
  const weights = grown.map(each => each / sum(grown));
  const steps = [[0, 0]];
  weights.forEach((w, i) => steps.push(v[i].map((each, axis) => steps[i][axis] + w * each)));
  const feet = products.map(each => q.map(axis => (square ? (each / square) * axis : 0)));
  return { q, k, v, feet, scores, weights, steps, out: steps.at(-1), asks };
}

/** The state in words. */
export function caption({ scores, weights, out, asks }) {
  const most = Math.max(...scores);
  const best = scores.indexOf(most);
  const [score, share] = [number(most, 2), number(weights[best], 2)];
  const at = out.map(each => number(each, 1)).join(", ");
  if (most - Math.min(...scores) < SAME) {
    return `All three scores are [k:${score}], so each weight is [b:${share}]: the output ` +
      `[v:(${at})] is the average of the values.`;
  }
  return asks
    ? `[q:${asks}] attends most to [k:${WORDS[best]}], with the score [k:${score}] and the ` +
      `weight [b:${share}]. It receives [v:(${at})].`
    : `[k:${WORDS[best]}] has the highest score, [k:${score}], and gets the weight ` +
      `[b:${share}]. The mixture of the values is [v:(${at})].`;
}
