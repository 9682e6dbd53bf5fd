// A GPT-2 that reads one token at a time. Its parts have the names of the course's torch code.

import { gelu, layerNorm, linear, product, softmax, sum } from "./linear_algebra.js";

/** A model of what `weights.py` packs: of "blocks.0.attention.query.bias" each dot is a level. */
export function loadGPT({ config, weights }) {
  const model = { config, blocks: [] };
  for (const [name, weight] of Object.entries(weights)) {
    const path = name.split(".");
    const last = path.pop();
    let part = model;
    for (const each of path) part = part[each] ??= {};
    part[last] = weight;
  }
  return model;
}

/** Room for keys and values; no token is read yet. A smaller `length` forgets the last tokens. */
export function newCache({ config, blocks }) {
  const room = () => new Float64Array(config.max_positions * config.width);
  return { length: 0, blocks: blocks.map(() => ({ keys: room(), values: room() })) };
}

/** Read several tokens: what `step` gives for each of them. */
export const read = (model, cache, ids, replaced) =>
  Array.from(ids, id => step(model, cache, id, replaced));

/**
 * Read one more token. It attends to itself and to the tokens in the cache, which it joins.
 *
 * `logits` (V) are the scores of the token that follows. `weights[block][head]` (tokens so far) is
 * how the head spreads its weight. `hidden_states` are h_0 to h_L, the residual stream: the
 * embeddings, then each block's output.
 *
 * `replaced` has what heads give in place of their output: `{ "1.2": mean }` for the third head of
 * the second block, null for zeros. All tokens of a cache are read with the same ones.
 */
export function step(model, cache, id, replaced = {}) {
  const { vocab_size, max_positions } = model.config;
  if (!Number.isInteger(id) || id < 0 || id >= vocab_size) {
    throw new RangeError(`id must be an integer from 0 to ${vocab_size - 1}, got ${id}`);
  }
  if (cache.length >= max_positions) {
    throw new RangeError(`the model reads ${max_positions} tokens at most`);
  }
  const h = sum(row(model.tokens, id), row(model.positions, cache.length));
  return readOn(model, cache, { weights: [], hidden_states: [h] }, replaced);
}

/** Read a token on from the blocks that it has passed: one set of weights and one h for each. */
export function readOn(model, cache, passed, replaced = {}) {
  const { num_heads, eps } = model.config;
  const weights = [...passed.weights];
  const hidden_states = [...passed.hidden_states];
  let h = hidden_states.at(-1);
  for (let i = weights.length; i < model.blocks.length; i += 1) {
    const { attention, attention_norm, feedforward, feedforward_norm } = model.blocks[i];
    const heads = attend(
      attention, layerNorm(attention_norm, h, eps), num_heads, cache.blocks[i], cache.length,
    );
    replaceHeads(heads.mixed, i, num_heads, replaced);
    h = sum(h, linear(attention.output, heads.mixed));
    h = sum(h, feed(feedforward, layerNorm(feedforward_norm, h, eps)));
    weights.push(heads.weights);
    hidden_states.push(h);
  }
  cache.length += 1;
  let logits; // of most words that are read nobody asks them
  return { get logits() { return logits ??= logitsOf(model, h); }, weights, hidden_states };
}

/** LN(h) W_eᵀ, with the embeddings again. For an earlier block's h it is the logit lens. */
export const logitsOf = ({ norm, tokens, config }, h) =>
  product(tokens.weight, layerNorm(norm, h, config.eps));

/** softmax(q kᵀ / √D) v of each head, D numbers each, side by side; and the heads' weights. */
function attend({ query, key, value }, x, num_heads, { keys, values }, position) {
  const width = x.length;
  const D = width / num_heads;
  const q = linear(query, x);
  keys.set(linear(key, x), position * width);
  values.set(linear(value, x), position * width);
  const mixed = new Float64Array(width);
  const weights = [];
  for (let start = 0; start < width; start += D) {
    const scores = new Float64Array(position + 1);
    for (let s = 0; s <= position; s += 1) {
      let score = 0;
      for (let d = start; d < start + D; d += 1) score += q[d] * keys[s * width + d];
      scores[s] = score / Math.sqrt(D);
    }
    const shares = softmax(scores);
    for (let s = 0; s <= position; s += 1) {
      for (let d = start; d < start + D; d += 1) mixed[d] += shares[s] * values[s * width + d];
    }
    weights.push(shares);
  }
  return { mixed, weights };
}

function replaceHeads(mixed, block, num_heads, replaced) {
  const D = mixed.length / num_heads;
  for (let head = 0; head < num_heads; head += 1) {
    const instead = replaced[`${block}.${head}`];
    if (instead !== undefined) mixed.set(instead ?? new Float64Array(D), head * D);
  }
}

/** W₂ gelu(W₁ x + b₁) + b₂ */
const feed = ({ expand, contract }, x) => linear(contract, gelu(linear(expand, x)));

function row({ weight }, at) {
  const width = weight.shape[1];
  return weight.subarray(at * width, (at + 1) * width);
}
