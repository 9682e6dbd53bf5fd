// What each word depends on through the layers of a painted mask, and which answers leak.

import { number } from "../../../course_utils/explorers/kit/words.js";

export const PAD = "pad";
/** Each sentence has one word more than is read: the last is the answer of the last position. */
export const TEXTS = {
  "one sentence": ["Leo", "fed", "the", "cat", "and", "then", "it", "slept", "."],
  "two documents": ["The", "cat", "slept", ".", "We", "drink", "tea", "now", "."],
  "a sentence and padding": ["Leo", "fed", "the", "cat", ".", PAD, PAD, PAD, PAD],
};

const range = count => [...Array(count).keys()];

/**
 * What the positions know, as 0 and 1; t asks, s is asked, l = 0 are the words themselves.
 *
 * After l layers with residual connections, position t depends on word s if there is a path of l
 * steps, each along a cell of the mask or straight up: the l-th power of (mask or identity), as a
 * matrix of truth values.
 *
 * `mask` (T, T) is whether t may attend to s. `knows` (L+1, T, T) is whether position t depends on
 * word s after l layers, `feeds` (L+1, T) whether the chosen output depends on position t after
 * layer l, `ahead` (L+1, T) whether position t knows a later word, `carries` (L+1, T) whether it
 * knows a word later than the chosen one. `answered` (T,) says which outputs know the word that
 * they are to predict, `empty` (T,) which words may attend to nothing. All are flattened. `sees`,
 * `depends` and `later` count words for the chosen one, `cheats` the outputs that are `answered`.
 */
export function compute({ mask, word, layers, text }) {
  const T = mask.length;
  const all = range(T);
  const words = TEXTS[text];
  const may = all.map(t => all.map(s => Number(mask[t][s] === "#")));
  const reach = [all.map(t => all.map(s => Number(s === t)))];
  for (let depth = 1; depth <= layers; depth += 1) {
    const below = reach[depth - 1];
    const step = (t, s) => below[t][s] || all.some(u => may[t][u] && below[u][s]);
    reach.push(all.map(t => all.map(s => Number(step(t, s)))));
  }
  const last = reach[layers];
  const knowsAfter = first => reach.map(each =>
    each.map((row, t) => Number(row.some((known, s) => known && s > first(t)))));
  const answered = all.map(t =>
    Number(t + 1 < T && words[t + 1] !== PAD && last[t][t + 1]));
  return {
    mask: may.flat(),
    knows: reach.flat(2),
    feeds: range(layers + 1).flatMap(depth => reach[layers - depth][word]),
    ahead: knowsAfter(t => t).flat(),
    carries: knowsAfter(() => word).flat(),
    answered,
    empty: may.map(row => Number(!row.includes(1))),
    sees: sum(may[word]),
    depends: sum(last[word]),
    later: sum(last[word].slice(word + 1)),
    cheats: sum(answered),
    layers, word, name: words[word],
  };
}

const sum = values => values.reduce((one, other) => one + other, 0);

/** The state in words. */
export function caption({ name, mask, sees, depends, later, cheats, layers }) {
  if (!sees) {
    return `[q:${name}] may attend to nothing. Softmax divides 0 by 0 and gives “NaN”; the ` +
      `course's attend gives zeros, and [q:${name}] keeps its own vector.`;
  }
  const ahead = later ? `[b:${number(later)}] of them` : "and on [b:nothing]";
  const [who, whose] = cheats < 2 ? ["position", "its"] : ["positions", "their"];
  return `[q:${name}] attends to [k:${number(sees)}] of ${Math.sqrt(mask.length)} words; ` +
    `through [b:${number(layers)}] ${layers === 1 ? "layer" : "layers"} it depends on ` +
    `[k:${number(depends)}], ${ahead} later. [b:${cheats ? number(cheats) : "No"}] ${who} can ` +
    `read ${whose} own answer.`;
}
