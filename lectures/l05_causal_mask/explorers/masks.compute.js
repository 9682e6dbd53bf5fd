// What masks.py computes, in the browser; a test compares the two.

import { number } from "../../../course_utils/explorers/kit/words.js";

const range = count => [...Array(count).keys()];

/** The state of these values; (L+1, T, T) and (L+1, T) are flattened, 0 and 1. */
export function compute({ mask, word, layers, text }, { texts, pad }) {
  const T = mask.length;
  const all = range(T);
  const words = texts[text];
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
    Number(t + 1 < T && words[t + 1] !== pad && last[t][t + 1]));
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
