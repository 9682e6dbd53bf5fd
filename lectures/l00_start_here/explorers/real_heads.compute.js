// One head's weights over a text, and the two words that the chosen word attends to most.

import { number } from "../../../course_utils/explorers/kit/words.js";

export const HEADS = 12;
const MAX_TOKENS = 22;
const LITTLE = 0.05; // a weight that a caption does not name

/** The tokens and all weights of what is read: one's own text, or a prepared sentence. */
export const readingOf = ({ sentence }, { own, sentences, readings }) =>
  own ?? readings[sentences.indexOf(sentence)];

/** One head's weights, row after row. */
export function weightsOf({ tokens, attentions }, layer, head) {
  const size = tokens.length ** 2;
  const at = (layer * HEADS + head) * size;
  return attentions.subarray(at, at + size);
}

/**
 * One head's `weights` (T, T) over T tokens, flat; `row` is the word that `asks`. `most` is the
 * token with the largest weight of that row, `next` the one with the second largest. `cut` says
 * that the text was too long, `real` that MiniLM read it, not random weights.
 */
export function compute(values, given) {
  const reading = readingOf(values, given);
  const { tokens, cut } = reading;
  const { layer, head } = values;
  const weights = weightsOf(reading, layer, head);
  const row = Math.min(values.word, tokens.length - 1);
  const shares = weights.subarray(row * tokens.length, (row + 1) * tokens.length);
  const [most, after] = [...tokens.keys()].sort((one, other) => shares[other] - shares[one]);
  return {
    weights, layer, head, row, cut,
    asks: tokens[row],
    most: tokens[most],
    most_weight: shares[most],
    next: tokens[after],
    next_weight: shares[after],
    real: given.real,
  };
}

/** The state in words. */
export function caption(state) {
  let where = `layer ${state.layer}, head ${state.head}`;
  if (state.cut) where = `only the first ${MAX_TOKENS} tokens, ${where}`;
  if (!state.real) where = `random weights (run make setup), ${where}`;
  const then = state.next_weight < LITTLE
    ? `; no other word gets ${LITTLE}`
    : `, then to ${quoted("k", state.next)}, [b:${number(state.next_weight, 2)}]`;
  return `${where[0].toUpperCase()}${where.slice(1)}: ${quoted("q", state.asks)} attends most ` +
    `to ${quoted("k", state.most)}, [b:${number(state.most_weight, 2)}]${then}.`;
}

/** A token in its colour, unless it is a single bracket, which would end the colour's own. */
function quoted(kind, token) {
  const isSingle = token.includes("[") !== token.includes("]");
  return isSingle ? `“${token}”` : `[${kind}:“${token}”]`;
}
