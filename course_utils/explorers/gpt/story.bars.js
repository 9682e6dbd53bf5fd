// The words that may come next, each a button with its probability; with a head off, both of them.

import { html, set } from "../kit/svg.js";
import { number } from "../kit/words.js";
import { shown } from "./story.compute.js";
import { END } from "./story.text.js";

const ROWS = 8;

/** The bars: { element, draw }. */
export function makeBars(pen) {
  const title = html("p", { class: "story-title" });
  const bars = Array.from({ length: ROWS }, () => makeBar(pen));
  const note = html("p", { class: "story-note" });
  const element = html("div", { class: "story-bars", role: "group", "aria-label": "the next word" },
    title, ...bars.map(each => each.element), note);
  return { element, draw(state) {
    const isLast = state.at === state.ids.length - 1;
    set(title, { text: isLast ? "What comes next? Press a word to choose it."
      : "What could come here? Press a word to go on with it." });
    bars.forEach((each, i) => each.draw(state, i));
    set(note, { text: state.off.length ? "thin mark: with all heads on" : "" });
  } };
}

function makeBar(pen) {
  const name = html("span", { class: "story-name" });
  const fill = html("span", { class: "story-fill" });
  const ghost = html("span", { class: "story-ghost" });
  const share = html("span", { class: "story-share" });
  const element = html("button", { type: "button", class: "story-bar" }, name,
    html("span", { class: "story-rail" }, fill, ghost), share);
  let word;
  element.addEventListener("click", () => pen.choose(word));
  return { element, draw(state, i) {
    word = state.words[state.rows[i]];
    const [now, before] = [state.after[i], state.before[i]];
    set(name, { text: shown(word) });
    fill.style.width = `${100 * now}%`;
    ghost.hidden = !state.off.length;
    ghost.style.left = `${100 * before}%`;
    set(share, { text: now === 0 && state.kept < state.words.length ? "cut" : number(now, 2) });
    element.disabled = word === END || pen.isFull;
    element.classList.toggle("story-drawn", state.rows[i] === state.drawn);
    const was = state.off.length ? `, with all heads ${number(before, 2)}` : "";
    set(element, { "aria-label": `${word === END ? "the end" : word}, ${number(now, 2)}${was}` });
  } };
}
