// The words that may come next, each a button with its probability; with a head off, both of them.

import { focusOn } from "../kit/hand.js";
import { clamp } from "../kit/scale.js";
import { html, set } from "../kit/svg.js";
import { number } from "../kit/words.js";
import { shown } from "./story.compute.js";
import { END } from "./story.text.js";

const ROWS = 8;
const ALONG = { ArrowDown: 1, ArrowUp: -1, Home: -ROWS, End: ROWS };
const LEAST = 0.005; // what two decimals cannot show

/** The bars: { element, draw }. */
export function makeBars(pen) {
  const title = html("p", { class: "story-title" });
  const bars = Array.from({ length: ROWS }, () => makeBar(word => {
    pen.choose(word);
    if (document.activeElement?.closest(".story-bars") === element) move(0);
  }));
  const move = at => {
    bars.forEach((each, i) => set(each.element, { tabindex: i === at ? 0 : -1 }));
    focusOn(bars[at].element);
  };
  bars.forEach((each, i) => set(each.element, { tabindex: i ? -1 : 0 }));
  const note = html("p", { class: "story-note" });
  const element = html("div", { class: "story-bars", role: "group", "aria-label": "the next word; arrow keys go along" },
    title, ...bars.map(each => each.element), note);
  element.addEventListener("keydown", event => {
    const by = ALONG[event.key];
    const at = bars.findIndex(each => each.element === event.target);
    if (!by || at < 0) return;
    event.preventDefault();
    move(clamp(at + by, 0, ROWS - 1));
  });
  return { element, draw(state) {
    const isLast = state.at === state.ids.length - 1;
    set(title, { text: isLast ? "What comes next? Press a word to choose it."
      : "What could come here? Press a word to go on from here." });
    bars.forEach((each, i) => each.draw(state, i));
    set(note, { text: state.off.length ? "thin mark: with all heads on" : "" });
  } };
}

function makeBar(choose) {
  const name = html("span", { class: "story-name" });
  const fill = html("span", { class: "story-fill" });
  const ghost = html("span", { class: "story-ghost" });
  const share = html("span", { class: "story-share" });
  const element = html("button", { type: "button", class: "story-bar" }, name,
    html("span", { class: "story-rail" }, fill, ghost), share);
  let word;
  element.addEventListener("click", () => element.getAttribute("aria-disabled") || choose(word));
  return { element, draw(state, i) {
    word = state.words[state.rows[i]];
    const [now, before] = [state.after[i], state.before[i]];
    set(name, { text: shown(word) });
    fill.style.width = `${100 * now}%`;
    ghost.hidden = !state.off.length;
    ghost.style.left = `${100 * before}%`;
    const isCut = now === 0 && state.temperature > 0;
    const said = isCut ? "cut" : now > 0 && now < LEAST ? "< 0.01" : number(now, 2);
    set(share, { text: said });
    const isDrawn = state.rows[i] === state.drawn;
    element.classList.toggle("story-drawn", isDrawn);
    const was = state.off.length ? `, with all heads ${number(before, 2)}` : "";
    set(element, { "aria-disabled": word === END && "true", "aria-label": `${word === END ? "the end" : word}, ` +
      `${said.replace("<", "less than")}${was}${isDrawn ? ", the dice's choice" : ""}` });
  } };
}
