// From scores to a token: the conventions of `course_utils.sampling`, and a draw.

import { softmax, total } from "./linear_algebra.js";

const ROUNDING = 1e-6; // a sum reaches p if it falls short of it by less than this part

/**
 * Temperature, then top-k, then top-p, each of what the step before kept: probabilities that sum
 * to 1. Temperature 0 takes the largest score, the first of equal ones; null keeps every token.
 */
export function nextTokenProbabilities(logits, { temperature = 1, k = null, p = null } = {}) {
  must(temperature >= 0 && temperature < Infinity, "temperature must be 0 or more", temperature);
  must(k === null || (Number.isInteger(k) && k >= 1), "k must be an integer from 1 on", k);
  must(p === null || (p > 0 && p <= 1), "p must be above 0 and at most 1", p);
  let probabilities = withTemperature(Float64Array.from(logits), temperature);
  if (k !== null) probabilities = only(probabilities, largestFirst(logits).slice(0, k));
  if (p !== null && p < 1) probabilities = only(probabilities, nucleus(probabilities, p));
  return probabilities;
}

/** The same token for the same seed and position, whatever was drawn before. */
export function draw(probabilities, seed, position) {
  const share = chance(seed, position);
  let sum = 0;
  let last = 0;
  for (let id = 0; id < probabilities.length; id += 1) {
    sum += probabilities[id];
    if (sum > share) return id;
    if (probabilities[id] > 0) last = id;
  }
  return last; // rounding may leave the sum below 1
}

/** A number from 0 up to 1 for an integer seed and position. */
export const chance = (seed, position) =>
  scrambled(scrambled(seed + 1) ^ Math.imul(position + 1, 0x9e3779b9)) / 2 ** 32;

/** A 32-bit number whose neighbours come out unrelated (Wellons' lowbias32). */
function scrambled(x) {
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

function withTemperature(logits, temperature) {
  const largest = logits.reduce((one, other) => Math.max(one, other), -Infinity);
  must(Number.isFinite(largest), "logits must have a finite maximum", largest);
  if (temperature > 0) return softmax(logits.map(each => (each - largest) / temperature));
  const first = logits.indexOf(largest);
  return logits.map((_, id) => (id === first ? 1 : 0));
}

/** The fewest ids, the most probable first, whose probabilities together reach p. */
function nucleus(probabilities, p) {
  const ids = largestFirst(probabilities);
  let sum = 0;
  let count = 0;
  for (; sum < p * (1 - ROUNDING); count += 1) sum += probabilities[ids[count]];
  return ids.slice(0, count);
}

/** Of equal values the one with the lower id comes first. */
const largestFirst = values => [...values.keys()].sort((a, b) => values[b] - values[a] || a - b);

/** Nothing but the ids that are kept, which again sum to 1. */
function only(probabilities, ids) {
  const sum = total(ids.map(id => probabilities[id]));
  const out = new Float64Array(probabilities.length);
  for (const id of ids) out[id] = probabilities[id] / sum;
  return out;
}

function must(holds, rule, got) {
  if (!holds) throw new RangeError(`${rule}, got ${got}`);
}
