// The shapes of a block's tensors for one text, and the costs of its parts.

import { number } from "../../../course_utils/explorers/kit/words.js";
import { KEYS } from "./block.parts.js";

const UNITS = [[1e12, "TFLOP"], [1e9, "GFLOP"], [1e6, "MFLOP"], [1e3, "kFLOP"], [1, "FLOP"]];

const TIE = "\u00a0"; // a space at which no line ends

/**
 * `stream` is the shape (T, C), `per_head` (H, T, D), `pairs` (H, T, T), `wide` (T, F).
 *
 * `parameters` and `flops` have an entry for each of KEYS. `equal_at` is the number of tokens at
 * which scores and mix cost as much as the feed-forward part: 4 T² C = 4 T C F. `context` is the
 * longest text of the model, `shares` whether the caption has the costs as shares of the block.
 */
export function compute({ model, tokens, part, shares }, { models }) {
  const { width, heads, hidden, context } = models[model];
  const costs = costsOf(width, hidden, tokens);
  const parameters = KEYS.map(each => (costs[each] ?? [0, 0])[0]);
  const flops = KEYS.map(each => (costs[each] ?? [0, 0])[1]);
  return {
    model, part, tokens, shares, context,
    stream: [tokens, width],
    per_head: [heads, tokens, width / heads],
    pairs: [heads, tokens, tokens],
    wide: [tokens, hidden],
    parameters,
    flops,
    all_parameters: total(parameters),
    all_flops: total(flops),
    equal_at: hidden,
  };
}

/**
 * Parameters and FLOPs of the parts that have any.
 *
 * Only matrix products count, 2 FLOPs for a multiply-add. Scores and mix count in full: the mask
 * comes after the product.
 */
function costsOf(width, hidden, tokens) {
  const norm = [2 * width, 0];
  const projection = [width * width + width, 2 * tokens * width * width];
  const product = [0, 2 * tokens * tokens * width];
  const work = 2 * tokens * width * hidden;
  return {
    "LN₁": norm, W_Q: projection, W_K: projection, W_V: projection,
    scores: product, mix: product, W_O: projection,
    "LN₂": norm, "W₁": [width * hidden + hidden, work], "W₂": [hidden * width + width, work],
  };
}

const total = all => all.reduce((sum, each) => sum + each, 0);

/** A shape as it is written in the picture. */
export const shapeOf = sizes => `(${sizes.map(each => number(each)).join(`,${TIE}`)})`;

/** A share in percent, with two digits that say something. */
export const percent = share =>
  `${number(100 * share, share >= 0.1 ? 0 : share >= 0.01 ? 1 : 2)}${TIE}%`;

/** Floating-point operations in three digits. */
export function flopsInWords(count) {
  const [unit, name] = UNITS.find(each => count >= each[0]);
  const share = count / unit;
  return `${number(share, unit === 1 || share >= 100 ? 0 : share >= 10 ? 1 : 2)}${TIE}${name}`;
}

/** The state in words. */
export const caption = state => `${deed(state)} ${price(state)}`;

/** What the chosen part does, with the shapes that it takes and gives. */
function deed(state) {
  const [stream, perHead, pairs, wide] =
    [state.stream, state.per_head, state.pairs, state.wide].map(shapeOf);
  return {
    "LN₁": `[b:LN₁] normalises each token's vector; the shape stays ${stream}.`,
    W_Q: `[q:W_Q] makes the queries: ${stream} to [q:${perHead}].`,
    W_K: `[k:W_K] makes the keys: ${stream} to [k:${perHead}].`,
    W_V: `[v:W_V] makes the values: ${stream} to [v:${perHead}].`,
    scores: `[b:Scores] compare queries with keys: ${perHead} to ${pairs}.`,
    softmax: "[b:Softmax] turns each row of scores into weights that sum to 1; " +
      `the shape stays ${pairs}.`,
    mix: `[b:Mix] averages the values: ${pairs} to ${perHead}.`,
    W_O: `[b:W_O] joins the ${state.per_head[0]} heads: ${perHead} to ${stream}.`,
    "⊕₁": `[b:⊕] adds what attention found to x, which stays ${stream}.`,
    "LN₂": `[b:LN₂] normalises each token's vector again; the shape stays ${stream}.`,
    "W₁": `[b:W₁] widens each token: ${stream} to ${wide}.`,
    GELU: "[b:GELU] damps negative numbers and lets positive ones pass; " +
      `the shape stays ${wide}.`,
    "W₂": `[b:W₂] narrows each token: ${wide} to ${stream}.`,
    "⊕₂": `[b:⊕] adds what the feed-forward part found to x, which stays ${stream}.`,
  }[state.part];
}

/** What the chosen part costs; as shares only once they are shown. */
function price(state) {
  const at = KEYS.indexOf(state.part);
  const [parameters, flops] = [state.parameters[at], state.flops[at]];
  if (!parameters && !flops) return "No parameters, no matrix product.";
  const learned = `[b:${number(parameters)}] parameters`;
  const worked = flops ? `[b:${flopsInWords(flops)}]` : "no matrix product";
  if (!state.shares) return `${parameters ? learned : "No parameters"}, ${worked}.`;
  const share = `${percent(parameters / state.all_parameters)} of the block`;
  if (!flops) return `${learned}, ${share}; no matrix product.`;
  const ofWork = percent(flops / state.all_flops);
  if (parameters) return `${learned}, ${share}; ${worked}, ${ofWork}.`;
  const other = state.part === "scores" ? "mix" : "scores";
  return `${worked}, ${ofWork}; with ${other}, more than feed-forward beyond ` +
    `${number(state.equal_at)} tokens.`;
}
