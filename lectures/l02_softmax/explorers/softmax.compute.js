// The weights of one query's scores, their Jacobian, and its norm at every temperature.

import { number } from "../../../course_utils/explorers/kit/words.js";

const POINTS = 121;

/** The factors by which the curve multiplies the scores: one over temperatures from 16 to 0.1. */
export const SHARPNESS = Array.from(
  { length: POINTS }, (_, i) => 160 ** (i / (POINTS - 1)) / 16,
);

function softmax(scores, sharpness) {
  const most = Math.max(...scores);
  const grown = scores.map(each => Math.exp((each - most) * sharpness));
  const sum = grown.reduce((one, other) => one + other, 0);
  return grown.map(each => each / sum);
}

/**
 * The Frobenius norm of diag(p) − p pᵀ. What the others sum up to is added from both sides, and
 * nothing is subtracted, so that small norms are not lost.
 */
function normOf(weights) {
  const count = weights.length;
  const [others, squares] = [new Float64Array(count), new Float64Array(count)];
  for (const step of [1, -1]) {
    let [sum, square] = [0, 0];
    for (let i = step > 0 ? 0 : count - 1; i >= 0 && i < count; i += step) {
      others[i] += sum;
      squares[i] += square;
      sum += weights[i];
      square += weights[i] * weights[i];
    }
  }
  const parts = weights.map((p, i) => p * p * (others[i] * others[i] + squares[i]));
  return Math.sqrt(parts.reduce((one, other) => one + other, 0));
}

/**
 * One query's `scores` (S,), `weights` (S,), and the `jacobian` (S, S), flat, of the weights by the
 * scores before the division, hence over the temperature; with its Frobenius `norm`. `path` holds
 * largest weight and norm, (2, N), flat, as the same scores are multiplied by SHARPNESS.
 * `effective` is the number of tokens that share the weight.
 */
export function compute({ scores, temperature }) {
  const weights = softmax(scores, 1 / temperature);
  const rows = SHARPNESS.map(each => softmax(scores, each));
  const entropy = weights.reduce((sum, p) => sum - (p ? p * Math.log(p) : 0), 0);
  return {
    scores, weights,
    jacobian: weights.flatMap((p, i) =>
      weights.map((q, j) => ((i === j ? p : 0) - p * q) / temperature)),
    path: [...rows.map(row => Math.max(...row)), ...rows.map((row, i) => SHARPNESS[i] * normOf(row))],
    largest: Math.max(...weights), norm: normOf(weights) / temperature,
    effective: Math.exp(entropy),
  };
}

/** The state in words. */
export function caption({ largest, norm, effective, weights }) {
  const told = norm < 0.0005 ? "below 0.001" : number(norm, 3);
  return (
    `The largest weight is [b:${number(largest, 2)}]; the query attends to about ` +
    `[k:${number(effective, 1)}] of ${weights.length} keys. The weights ` +
    `react with strength [b:${told}].`
  );
}
