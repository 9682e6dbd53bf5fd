// What a small GPT makes of a row and its copy, without the heads that are off.

import { loadGPT, newCache, read } from "../../../course_utils/explorers/gpt/gpt.js";
import { softmax } from "../../../course_utils/explorers/gpt/linear_algebra.js";
import { number } from "../../../course_utils/explorers/kit/words.js";

const HALF = 8;
const LENGTH = 2 * HALF;
export const HEADS = [[0, 0], [0, 1], [1, 0], [1, 1]];
export const nameOf = ([layer, head]) => `layer${layer}_head${head}`;

/**
 * `tokens` are the row and its copy (16). The token at `position` was before at `earlier`, and the
 * one that followed it there is at `target`: both -1 in the first half. `truth` is the token that
 * comes next, -1 after the last.
 *
 * `heads` are the pairs [layer, head] that the model has, `off` those that are off. `weights`
 * (heads, 16) says how each head spreads its weight for the token that asks, `expected` (16) how
 * probable each token is to be the next, `right` (15) how probable the one that comes is, at each
 * position. `loss` is that of the copy, in nats, `whole_loss` the same with all heads on.
 */
export function compute(values, given) {
  const { model, position, start } = values;
  const gpt = given.models[model];
  const tokens = rowOf(values, given);
  const heads = HEADS.filter(([layer]) => layer < gpt.config.num_layers);
  const off = heads.filter(each => !values[nameOf(each)]);
  const key = [model, values.row, start].join();
  const whole = remembered(given, key, () => run(gpt, tokens, []));
  const { weights, shares } = off.length
    ? remembered(given, `${key},${off.join()}`, () => run(gpt, tokens, off)) : whole;
  const isInside = position >= HALF;
  const earlier = (start + position) % HALF;
  return {
    model, tokens, position, heads, off,
    earlier: isInside ? earlier : -1,
    target: isInside ? (earlier + 1) % HALF : -1,
    truth: tokens[position + 1] ?? -1,
    weights: weights[position],
    expected: shares[position],
    right: rightOf(shares, tokens),
    loss: lossOf(shares, tokens),
    whole_loss: lossOf(whole.shares, tokens),
  };
}

/** The weights of one head of a state. */
export const weightsOf = ({ weights }, i) => weights.subarray(i * LENGTH, (i + 1) * LENGTH);

/** What a model makes of each token: the weights of its heads, and how probable each is next. */
function run(gpt, tokens, off) {
  const model = loadGPT(gpt);
  const silent = Object.fromEntries(off.map(each => [each.join("."), null]));
  const steps = read(model, newCache(model), tokens, silent);
  return {
    weights: steps.map(step => sideBySide(step.weights.flat())),
    shares: steps.map(step => softmax(step.logits)),
  };
}

/** The heads' weights one after another, 0 for the tokens that come later. */
function sideBySide(heads) {
  const all = new Float64Array(heads.length * LENGTH);
  heads.forEach((weights, i) => all.set(weights, i * LENGTH));
  return all;
}

/** The row and its copy, which may start anywhere and runs around the row's end. */
function rowOf({ row, start }, { rows }) {
  const first = [...rows.subarray((row - 1) * HALF, row * HALF)];
  return [...first, ...first.slice(start), ...first.slice(0, start)];
}

const rightOf = (shares, tokens) => tokens.slice(1).map((token, i) => shares[i][token]);

/** The mean of −ln of what can be known: from the second token of the copy on. */
function lossOf(shares, tokens) {
  const known = rightOf(shares, tokens).slice(HALF);
  return known.reduce((sum, each) => sum - Math.log(each), 0) / known.length;
}

const runs = new WeakMap();

/** Only rows and switches ask for another run; a few of the last are kept. */
function remembered(given, key, make) {
  if (!runs.has(given)) runs.set(given, new Map());
  const known = runs.get(given);
  if (!known.has(key)) {
    if (known.size > 40) known.clear();
    known.set(key, make());
  }
  return known.get(key);
}

/** The state in words. */
export function caption(state) {
  const { expected, tokens, position, earlier, off, loss } = state;
  const best = expected.indexOf(Math.max(...expected));
  const which = earlier < 0 ? "first" : "second";
  const after = `fter the ${which} [q:${tokens[position]}] the model expects`;
  const start = off.length ? `Without ${named(state)}, a${after}` : `A${after}`;
  return `${start} [b:${best}], ${number(expected[best], 2)}${judged(state, best)}. ` +
    `Loss of the copy: [b:${number(loss, 2)}] nats.`;
}

/** The heads that are off, in at most five words. */
function named({ off, heads }) {
  const [layer, head] = off[0];
  if (off.length === 1) return `layer ${layer}'s head ${head}`;
  if (off.length === heads.length) return "any head";
  return off.length === 2 && off[1][0] === layer ? `both heads of layer ${layer}`
    : `${off.length} of its 4 heads`;
}

/** Whether what is expected comes next. */
function judged({ truth, earlier }, best) {
  if (truth < 0) return "; the row ends here";
  if (earlier < 0) return "; nobody can know";
  return best === truth ? ": right" : `; [k:${truth}] would be right`;
}
