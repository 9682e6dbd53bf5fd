// A key of two pairs at every position: its angles, and what each pair adds to its score.

import { number } from "../../../course_utils/explorers/kit/words.js";

export const KEYS = 64;

/**
 * A query at m and a key at every position, of two pairs, length 1, one direction at first.
 *
 * The rotation keeps the length of each pair, and the score is Σ |qᵢ| |kᵢ| cos(angle of pair i).
 * `fast` and `slow` (64,) are what each pair adds to the score of each position, `scores` (64,)
 * their sum. `fast_angles` and `slow_angles` (64,) are how far the position has turned a pair, in
 * radians. `tube` is the length of the fast pair, from 0 to 1.
 */
export function compute({ m, n, slow, base }) {
  const share = slow / 100;
  const speed = base ** -0.5;
  const each = [...Array(KEYS).keys()];
  const fastPart = each.map(at => (1 - share) * Math.cos(at - m));
  const slowPart = each.map(at => share * Math.cos((at - m) * speed));
  return {
    fast_angles: each,
    slow_angles: each.map(at => at * speed),
    fast: fastPart,
    slow: slowPart,
    scores: each.map(at => fastPart[at] + slowPart[at]),
    tube: Math.sqrt(1 - share),
    m, n,
  };
}

/** The state in words. */
export const caption = ({ m, n, fast, slow, scores }) =>
  `With the query at [q:${number(m)}] and the key at [k:${number(n)}], the fast pair adds ` +
  `${number(fast[n], 2)} and the slow pair ${number(slow[n], 2)}: the score is ` +
  `[b:${number(scores[n], 2)}].`;
