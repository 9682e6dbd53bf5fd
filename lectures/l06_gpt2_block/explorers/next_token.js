// The next token: bars with a knob for temperature, a line for top-k, a strip for top-p and a draw.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import style from "./next_token.css";
import { makeBars } from "./next_token.bars.js";
import { caption, compute, textOf } from "./next_token.compute.js";
import { makeStrip } from "./next_token.strip.js";
import { write } from "./reading.js";

const LONGEST = 60; // letters of a text that are shown
const BYTES = /\\x/; // in the name of a token that is no whole letter

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const sentence = makeSentence(hand);
  const drawing = svg("svg", { role: "group", "aria-label": "the next token's probabilities" });
  const bars = makeBars(drawing, hand);
  const strip = makeStrip(drawing, hand);
  stage.append(html("div", { class: "next" }, sentence.element, drawing));
  let { prompt } = hand.values;
  return (state, values) => {
    // Choosing a prepared text lays one's own aside.
    if (values.prompt !== prompt && values.own_text) {
      queueMicrotask(() => hand.change({ own_text: "" }));
    }
    ({ prompt } = values);
    const { scores } = textOf(values, hand.given);
    const nameOf = place => hand.given.names[scores.ids[place]];
    sentence.draw(state, values);
    const top = bars.draw(state, nameOf, hand.width);
    const height = strip.draw(state, nameOf, hand.width, top);
    set(drawing, { width: hand.width, height });
  };
}

/** The text with the drawn token, a button to draw, and one to keep what was drawn. */
function makeSentence(hand) {
  const text = html("span", { class: "next-text", dir: "auto" });
  const token = html("span", { class: "next-token" });
  const draw = html("button", { type: "button", class: "next-draw" }, "draw a token");
  const keep = html("button", { type: "button", hidden: hand.alone }, "keep it, go on");
  const chance = () => Math.floor(Math.random() * 1000) / 1000;
  let grown = "";
  draw.addEventListener("click", () => hand.change({ chance: chance() }));
  keep.addEventListener("click", () => hand.change({ own_text: grown, chance: chance() }));
  const element = html("div", { class: "next-sentence" },
    html("p", {}, text, token), html("div", {}, draw, keep));
  return { element, draw(state, values) {
    const now = values.own_text || values.prompt;
    const shown = now.replace(/\s/g, each => (each === " " ? " " : "↵"));
    set(text, { text: shown.length > LONGEST ? `…${shown.slice(-LONGEST)}` : shown });
    write(token, state.token);
    const letters = state.token.replace(/␣/g, " ").replace(/↵/g, "\n").replace(/⇥/g, "\t");
    grown = (now + letters).slice(-200);
    keep.disabled = BYTES.test(state.token);
  } };
}
