// What torus.py computes, in the browser; a test compares the two.

import { number } from "../../../course_utils/explorers/kit/words.js";

export const KEYS = 64;

/** The state of these values. */
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
