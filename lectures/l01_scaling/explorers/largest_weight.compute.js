// The weights of 64 random keys for one of 12 random queries, and the largest of each query.

import { number } from "../../../course_utils/explorers/kit/words.js";
import { NORMAL } from "./coordinates.js";
import { KEYS, querySums } from "./running_sums.js";
import { softmax } from "./softmax.js";

export const QUERIES = 12;
const NUMBERS = Array.from({ length: QUERIES }, (_, i) => i + 1);

const mean = values => values.reduce((sum, each) => sum + each, 0) / values.length;

/** A query's weights; a score of normal coordinates is the sum of their products. */
function weightsOf(query, width) {
  const [, , , products] = querySums(NORMAL, query, width);
  return softmax(products);
}

/**
 * `weights` (64,) of the chosen query, whose key `best` has the most, and the `largest` (12,) of
 * each of the queries with their `mean`.
 */
export function compute({ width, query }) {
  const rows = NUMBERS.map(each => weightsOf(each, width));
  const weights = rows[query - 1];
  const largest = rows.map(row => Math.max(...row));
  const best = weights.indexOf(largest[query - 1]);
  return { weights, largest, mean: mean(largest), best, query, width };
}

/** The state in words. */
export const caption = ({ width, query, best, largest, mean: average }) =>
  `With d = ${width}, [q:query ${query}] gives key ${best} a weight of ` +
  `[b:${number(largest[query - 1], 2)}]. On average over ${QUERIES} queries, the largest of ` +
  `${KEYS} weights is [b:${number(average, 2)}].`;
