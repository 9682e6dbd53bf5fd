// The story GPT: it writes, answers, and shows what it looks at; each of its heads has a switch.

import { explorer } from "../kit/explorer.js";
import { html, set } from "../kit/svg.js";
import style from "./story.css";
import { makeBars } from "./story.bars.js";
import { makeCache } from "./story.cache.js";
import { caption, compute } from "./story.compute.js";
import { makeHeads } from "./story.heads.js";
import { makeHeard } from "./story.heard.js";
import { makePlayer } from "./story.player.js";
import { makeWords } from "./story.words.js";
import { writing } from "./story.writing.js";

const WHOSE = {
  ours: "",
  yours: "These are your GPT's weights: your class gives the same scores as this page.",
  spoken: "Your GPT is no plain GPT-2, so Python writes, and its heads are not shown.",
};
const LOOKS = {
  dice: "its dice", heads: "its heads", lens: "block by block", cache: "what it keeps",
};

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state, part by part. */
function mount(stage, hand) {
  const body = stage.parentElement;
  body.classList.add("story-body");
  const pen = writing(hand);
  const light = { word: -1, head: -1 }; // what the pointer is over
  const whose = html("p", { class: "story-whose" });
  const words = makeWords(hand, pen, light, () => relight());
  const player = makePlayer(hand, pen);
  const bars = makeBars(pen);
  const looks = makeLooks(hand);
  const heads = makeHeads(hand, light, () => relight());
  const cache = makeCache(hand);
  const heard = makeHeard(hand, pen);
  const dice = html("div", { class: "story-dice" }, html("p", { class: "story-note" },
    "Dice choose the next word: the longer its bar, the more often. The same dice, the same story. " +
    "It is a small model, and can be wrong."),
  body.querySelector(".ce-controls"));
  const lens = html("p", { class: "story-note" }, "Under each word: what the model would say next " +
    "if it ended there, after the embedding and after each block. Framed: what the last block says.");
  stage.append(heard.story, whose, words.element, player.element, html("div", { class: "story-panels" },
    bars.element, html("div", {}, looks.element, dice, heads.element, lens, cache.element)), heard.looks, heard.news);
  let last;
  const relight = () => {
    if (!last) return;
    words.light(...last);
    heads.light(...last);
  };
  return (state, _, theme) => {
    last = [state, theme];
    pen.drawn(state);
    set(whose, { text: WHOSE[state.whose] });
    whose.hidden = !WHOSE[state.whose];
    light.word = Math.min(light.word, state.at);
    const isHeads = state.look === "heads";
    looks.element.hidden = state.weights === null;
    dice.hidden = state.look !== "dice";
    heads.element.hidden = !isHeads;
    lens.hidden = state.look !== "lens";
    cache.element.hidden = state.look !== "cache";
    heard.draw(state);
    words.draw(state, theme);
    player.draw(state);
    bars.draw(state);
    looks.draw(state);
    if (isHeads) heads.draw(state, theme);
    if (state.look === "cache") cache.draw(state);
    words.light(state, theme);
  };
}

/** What is looked at: one of four. */
function makeLooks(hand) {
  const buttons = Object.entries(LOOKS).map(([look, label]) => {
    const button = html("button", { type: "button" }, label);
    button.addEventListener("click", () => hand.change({ look }));
    return { look, button };
  });
  const element = html("div", { class: "story-looks", role: "group", "aria-label": "what to look at" },
    ...buttons.map(each => each.button));
  return { element, draw: state => buttons.forEach(({ look, button }) =>
    set(button, { "aria-pressed": String(look === state.look) })) };
}
