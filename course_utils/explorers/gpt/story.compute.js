// What a GPT makes of a story: the next word, what each head looks at, the lens, the cost.

import { number } from "../kit/words.js";
import { loadGPT, logitsOf, newCache, readOn, step } from "./gpt.js";
import { softmax } from "./linear_algebra.js";
import { draw, nextTokenProbabilities } from "./sampling.js";
import { END, readStory } from "./story.text.js";

const ROWS = 8;
const FEW = 3; // heads that are off and are named
export const BYTES = 4; // of a number in the cache

/** A head as it is written: 3.0 is the first head of the fourth block. */
export const nameOf = ([block, head]) => `${block}.${head}`;

/** A word as it is shown. */
export const shown = word => (word === END ? "↵" : word);

/**
 * The state after the word that is asked, the `at`-th of `ids` (the end of a line is the 0th).
 *
 * `rows` are the ids that are most probable, the first is the most probable one, and the one that
 * is drawn; of each `after` has the probability, `before` that with all heads on. `kept` words may
 * be drawn, `drawn` is. `whole` is the most probable word with all heads on.
 * `weights[block][head]` (at + 1) are what a head gives to each word, null where Python computes.
 * `lens`, where it is looked at, has for each word read and each hidden state the most
 * probable id and its probability. `costs` are multiplications for the next word, with the cache
 * and without, and the numbers in the cache. `moment` says which weights, where there are several.
 */
export function compute(values, given) {
  const words = given.words;
  const sent = given.moments?.[values.moment] ?? given;
  const model = modelOf(sent);
  const { text } = given.spoken ?? values;
  const { pieces, ids } = readStory(text, words, given.longest);
  const at = Math.min(values.at, ids.length - 1);
  const off = model ? switchedOff(values.heads) : [];
  const all = model ? reading(model, ids, values.cached) : spoken(given, ids);
  const now = off.length ? withoutHeads(sent, model, ids, all, off, values.cached) : all;
  const { temperature, k, p } = values;
  const dice = { temperature, k, p };
  const after = nextTokenProbabilities(now[at].logits, dice);
  const before = off.length ? nextTokenProbabilities(all[at].logits, dice) : after;
  const likeliest = largest(all[at].logits);
  const drawn = draw(after, values.seed, at);
  const rows = mostProbable(softmax(now[at].logits), softmax(all[at].logits), drawn);
  const head = model ? headOf(values.head, model.config) : null;
  return {
    text, pieces, ids, at, words, off, head, rows,
    after: rows.map(id => after[id]), before: rows.map(id => before[id]),
    kept: after.filter(share => share > 0).length,
    drawn, chance: after[drawn], best: rows[0], whose: given.whose,
    whole: { id: likeliest, share: before[likeliest] },
    weights: model && now[at].weights,
    lens: model && values.look === "lens" ? now.map(each => lensOf(model, each)) : null,
    costs: model && costsOf(model.config, at),
    moment: values.moment, look: model ? values.look : "dice", cached: values.cached, temperature, k, p,
  };
}

const models = new WeakMap();

/** The model of what Python sent, if it sent one. */
function modelOf({ gpt }) {
  if (!gpt) return null;
  if (!models.has(gpt)) models.set(gpt, loadGPT(gpt));
  return models.get(gpt);
}

/** What Python said of each word: scores alone. */
function spoken({ spoken: { logits } }, ids) {
  const count = logits.length / ids.length;
  return ids.map((_, t) => ({ logits: logits.subarray(t * count, (t + 1) * count) }));
}

const readings = new WeakMap();

/** Every step of a text, with all heads. */
const reading = (model, ids, isCached) =>
  readWith(model, "whole", "", ids, isCached, (cache, t) => step(model, cache, ids[t]));

/** Every step with some heads giving their means. Below the first of them nothing changes. */
function withoutHeads(sent, model, ids, whole, off, isCached) {
  const replaced = Object.fromEntries(off.map(each => [nameOf(each), meanOf(sent, each)]));
  const first = off[0][0];
  const passed = ({ weights, hidden_states }) =>
    ({ weights: weights.slice(0, first), hidden_states: hidden_states.slice(0, first + 1) });
  return readWith(model, "changed", Object.keys(replaced).join(), ids, isCached,
    (cache, t) => readOn(model, cache, passed(whole[t]), replaced));
}

/** With the cache, of a model named so, only words are read that were not read the last time. */
function readWith(model, kind, name, ids, isCached, read) {
  if (!readings.has(model)) readings.set(model, {});
  const known = readings.get(model);
  if (known[kind]?.name !== name || !isCached) {
    known[kind] = { name, ids: [], steps: [], cache: newCache(model) };
  }
  const last = known[kind];
  const isSame = (id, t) => id === last.ids[t];
  const same = ids.every(isSame) ? ids.length : ids.findIndex((id, t) => !isSame(id, t));
  last.cache.length = last.steps.length = Math.min(last.steps.length, same);
  while (last.steps.length < ids.length) {
    last.steps.push(read(last.cache, last.steps.length));
  }
  last.ids = ids;
  return last.steps;
}

/** The heads that are off, where a row has # for each that is on: [block, head]. */
const switchedOff = heads => heads.flatMap((row, block) =>
  [...row].flatMap((mark, head) => (mark === "#" ? [] : [[block, head]])));

function meanOf({ means }, [block, head]) {
  const [, heads, width] = means.shape;
  return means.subarray((block * heads + head) * width, (block * heads + head + 1) * width);
}

const headOf = (index, { num_heads }) => [Math.floor(index / num_heads), index % num_heads];

const largest = values => values.indexOf(values.reduce((one, other) => Math.max(one, other)));

/** The words that are most probable at temperature 1, with and without the heads, and the drawn one. */
function mostProbable(now, whole, drawn) {
  const most = id => Math.max(now[id], whole[id]);
  const best = largest(now);
  const ids = [...now.keys()].filter(id => id !== best).sort((a, b) => most(b) - most(a) || a - b);
  const rows = [best, ...ids.slice(0, ROWS - 1)];
  return rows.includes(drawn) ? rows : [...rows.slice(0, ROWS - 1), drawn];
}

const lenses = new WeakMap();

/** The most probable word, and how probable it is, if the model ended at each hidden state. */
function lensOf(model, step) {
  if (!lenses.has(step)) {
    lenses.set(step, step.hidden_states.map(h => {
      const shares = softmax(logitsOf(model, h));
      const share = shares.reduce((one, other) => Math.max(one, other));
      return { id: shares.indexOf(share), share };
    }));
  }
  return lenses.get(step);
}

/** Multiplications of the matrices and of attention, in millions, and the numbers of a cache. */
function costsOf({ num_layers, width, vocab_size }, at) {
  const reads = t => num_layers * (12 * width * width + 2 * width * (t + 1));
  let anew = 0;
  for (let t = 0; t <= at; t += 1) anew += reads(t);
  const scores = vocab_size * width;
  return {
    cached: (reads(at) + scores) / 1e6,
    anew: (anew + scores) / 1e6,
    kept: 2 * num_layers * width * (at + 1),
  };
}

/** The state in words. */
export function caption(state) {
  const words = `${number(state.at)} word${state.at === 1 ? "" : "s"}`;
  const after = state.moment ? `${state.moment} steps, ${words}:` : state.at ? `After ${words}` : "At the start";
  if (state.look === "lens") return lensInWords(state, after);
  if (state.look === "cache") return cacheInWords(state);
  const named = id => `“${shown(state.words[id])}”`;
  const isSame = !state.off.length || state.whole.id === state.best; // else there is more to say
  const among = isSame && state.kept > 1 && state.kept < state.words.length ? `, among ${number(state.kept)},` : "";
  const first = state.moment ? "leads" : "is likeliest";
  return `${after} ${named(state.best)} ${first}, [b:${number(state.after[0], 2)}]` +
    `${beforeInWords(state, named)}; the dice${among} say ${named(state.drawn)}.${headInWords(state)}`;
}

/** What it was with all heads on, of the same word or of another. */
function beforeInWords({ off, best, after, whole: { id, share } }, named) {
  if (!off.length) return "";
  const was = number(share, 2);
  if (id !== best) return `, with all heads on ${named(id)}, ${was}`;
  return was === number(after[0], 2) ? " (as with all heads on)" : ` (${was} with all heads on)`;
}

function headInWords({ weights, head, off, words, ids }) {
  if (!weights) return " Python computes it, with your GPT.";
  if (isOff(off, head)) {
    const many = off.length > FEW ? `${number(off.length)} heads` : `Heads ${off.map(nameOf).join(", ")}`;
    return off.length > 1 ? ` ${many} are off.` : ` Head ${nameOf(head)} is off.`;
  }
  const shares = weights[head[0]][head[1]];
  const top = shares.indexOf(Math.max(...shares));
  return ` Head ${nameOf(head)} looks most at [k:“${shown(words[ids[top]])}”], ` +
    `[k:${number(shares[top], 2)}].`;
}

/** Whether a head is among those that are off. */
export const isOff = (off, head) => off.some(each => nameOf(each) === nameOf(head));

function lensInWords({ lens, at, words }, after) {
  const [embedding, ...blocks] = lens[at].map(({ id }) => `“${shown(words[id])}”`);
  const last = blocks.pop();
  const through = blocks.map((word, i) => `block ${i} ${word}`).join(", ");
  return `${after} the embedding alone would say ${embedding}, ${through}; the last block says ` +
    `[b:${last}], [b:${number(lens[at].at(-1).share, 2)}].`;
}

function cacheInWords({ costs, cached, at }) {
  const [small, large] = [costs.cached, costs.anew].map(each => number(each, 1));
  const kept = cached ? `It keeps [b:${number((costs.kept * BYTES) / 1000)}] kB.`
    : `It keeps nothing: all ${number(at + 1)} are read again.`;
  return `Word ${number(at + 1)} costs [b:${small}] million multiplications with the cache, ` +
    `[b:${large}] without. ${kept}`;
}
