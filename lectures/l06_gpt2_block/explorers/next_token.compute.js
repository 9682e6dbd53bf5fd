// Temperature, top-k and top-p over sorted logits, and a draw.

import { number } from "../../../course_utils/explorers/kit/words.js";

const ROUNDING = 1e-6; // a sum reaches p when it falls short of it by less than this part
const READ = 128;

/** The logits that belong to the values: one's own text, or a prepared one. */
export function textOf(values, given) {
  const text = values.own_text ? -1 : given.prompts.indexOf(values.prompt);
  return { text, scores: text < 0 ? given.own : given.texts[text] };
}

/** softmax(logits / temperature); at 0 all on the first, which is the largest. */
export function softmax(logits, temperature) {
  if (temperature === 0) return Float64Array.from(logits, (_, i) => (i === 0 ? 1 : 0));
  const powers = Float64Array.from(logits, each => Math.exp((each - logits[0]) / temperature));
  const sum = total(powers);
  return powers.map(each => each / sum);
}

const owned = new WeakMap();

/** The model's own probabilities; only another text changes them. */
function ownOf(logits) {
  if (!owned.has(logits)) owned.set(logits, softmax(logits, 1));
  return owned.get(logits);
}

/**
 * Probabilities of all tokens, the most probable first: `own` are the model's, `warm` those at the
 * temperature, `after` what top-k and top-p make of them.
 *
 * `text` counts the prepared texts, -1 for one's own; `cut` says that only its end was read. `kept`
 * tokens are left, which had `own_share` of the model's own probability; top-k and the temperature
 * leave them `reached` of 1, of which top-p is a share. `drawn` is the place of the drawn token,
 * `token` its name, `share` its probability.
 */
export function compute(values, given) {
  const { temperature, k, p, chance } = values;
  const { text, scores } = textOf(values, given);
  const own = ownOf(scores.logits);
  const warm = softmax(scores.logits, temperature);
  const left = total(warm.subarray(0, k));
  const kept = nucleus(warm.subarray(0, k), p, left);
  const sum = total(warm.subarray(0, kept));
  const after = warm.map((each, i) => (i < kept ? each / sum : 0));
  const drawn = drawnAt(after.subarray(0, kept), chance);
  return {
    text, own, warm, after, kept, own_share: total(own.subarray(0, kept)), reached: sum / left,
    temperature, k, p, chance, drawn, token: given.names[scores.ids[drawn]], share: after[drawn],
    cut: scores.cut,
  };
}

/** How many tokens top-p keeps: those whose sum before them has not reached p. */
function nucleus(warm, p, sum) {
  let before = 0;
  let kept = 0;
  while (kept < warm.length && warm[kept] > 0 && (p === 1 || before < p * (1 - ROUNDING))) {
    before += warm[kept] / sum;
    kept += 1;
  }
  return kept;
}

/** The first token, in order, whose sum passes a share of all. */
function drawnAt(shares, chance) {
  let sum = 0;
  for (let i = 0; i < shares.length; i += 1) {
    sum += shares[i];
    if (sum > chance) return i;
  }
  return shares.length - 1;
}

/** The state in words. */
export function caption(state) {
  const are = state.kept === 1 ? "is" : "are";
  const own = state.cut ? ` (only the last ${READ} tokens are read)`
    : `; the model itself gives them probability [b:${number(state.own_share, 2)}]`;
  return (
    `At temperature [b:${number(state.temperature, 2)}], [b:${number(state.kept)}] of ` +
    `${number(state.warm.length)} tokens ${are} kept${own}. ` +
    `Draw ${number(state.chance, 3)} gives “${state.token}”, [b:${number(state.share, 2)}].`
  );
}

/** The sum of a typed array. */
export function total(values) {
  let sum = 0;
  for (const each of values) sum += each;
  return sum;
}
