// All heads as a wall: what each looks at from the word that asks, and a switch for it.

import { focusOn } from "../kit/hand.js";
import { clamp } from "../kit/scale.js";
import { html, set, svg } from "../kit/svg.js";
import { number } from "../kit/words.js";
import { nameOf, shown } from "./story.compute.js";

const HIGH = 34; // pixels of a skyline
const SEEN = 0.01; // a weight from which it has a line
const POINT = matchMedia("(hover: hover)").matches ? " Point at a word to read the numbers." : "";
const ALONG = {
  ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0],
};

/** The wall: { element, draw, light }. */
export function makeHeads(hand, light, relight) {
  const [rows, columns] = [hand.values.heads.length, hand.values.heads[0].length];
  const tiles = Array.from({ length: rows * columns }, (_, i) => makeTile(hand, i, columns));
  const grid = html("div", { class: "story-wall", role: "group", "aria-label": "heads; arrow keys go along" },
    ...tiles.map(each => each.element));
  grid.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
  const note = html("p", { class: "story-note" });
  const on = html("button", { type: "button", class: "story-on" }, "all on");
  on.addEventListener("click", () => {
    hand.change({ heads: tiles[0].allOn() });
    focusOn(tiles[hand.values.head].choose); // the button goes
  });
  const element = html("div", { class: "story-heads" }, grid,
    html("div", { class: "story-under" }, note, on));
  tiles.forEach(({ element: tile }, i) => {
    tile.addEventListener("pointerenter", event => {
      if (event.pointerType === "touch") return;
      light.head = i;
      relight();
    });
    tile.addEventListener("pointerleave", () => {
      light.head = -1;
      relight();
    });
  });
  grid.addEventListener("keydown", event => {
    const by = ALONG[event.key];
    if (!by || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const [row, column] = [Math.floor(hand.values.head / columns), hand.values.head % columns];
    const head = clamp(row + by[0], 0, rows - 1) * columns + clamp(column + by[1], 0, columns - 1);
    hand.change({ head });
    focusOn(tiles[head].choose);
  });
  const noteOf = state => (light.word >= 0
    ? `How much each head looks at “${shown(state.words[state.ids[light.word]])}”.`
    : `A line for each word before: how much the head looks at it.${POINT}`);
  return {
    element,
    draw(state, theme) {
      on.hidden = !state.off.length;
      tiles.forEach(each => each.draw(state, theme));
      this.light(state);
    },
    light(state) {
      if (!state.weights) return;
      set(note, { text: noteOf(state) });
      tiles.forEach(each => each.light(state, light));
    },
  };
}

function makeTile(hand, index, columns) {
  const [block, head] = [Math.floor(index / columns), index % columns];
  const label = html("span", { class: "story-head-name" }, nameOf([block, head]));
  const share = html("span", { class: "story-head-share" });
  const lines = svg("path", { class: "story-lines" });
  const mark = svg("path", { class: "story-mark" });
  const drawing = svg("svg", { viewBox: `0 0 100 ${HIGH}`, preserveAspectRatio: "none",
    "aria-hidden": "true" }, lines, mark);
  const choose = html("button", { type: "button", class: "story-choose" },
    html("span", { class: "story-head" }, label, share), drawing);
  const knob = html("button", { type: "button", class: "story-switch", role: "switch" }, html("i"));
  const element = html("div", { class: "story-tile" }, choose, knob);
  choose.addEventListener("click", () => hand.change({ head: index }));
  knob.addEventListener("click", () => {
    const flip = (mark, at) => (at === head ? { "#": ".", ".": "#" }[mark] : mark);
    hand.change({ head: index, heads: hand.values.heads.map((row, at) =>
      (at === block ? [...row].map(flip).join("") : row)) });
  });
  return {
    element, choose,
    allOn: () => hand.values.heads.map(row => "#".repeat(row.length)),
    draw(state) {
      const weights = state.weights[block][head];
      const isOn = hand.values.heads[block][head] === "#";
      const isChosen = index === hand.values.head;
      set(lines, { d: skyline(weights), "stroke-width": Math.min(8, Math.max(0.9, 80 / weights.length)) });
      set(element, { class: `story-tile${isOn ? "" : " story-off"}${isChosen ? " story-chosen" : ""}` });
      set(knob, { "aria-checked": String(isOn), tabindex: isChosen ? 0 : -1, "aria-label": `head ${nameOf([block, head])} is on` });
      const top = weights.indexOf(Math.max(...weights));
      set(choose, { "aria-pressed": String(isChosen), tabindex: isChosen ? 0 : -1, "aria-label":
        `head ${nameOf([block, head])}${isOn ? "" : ", off"}: ${number(weights[top], 2)} on ` +
        `word ${top}, ${shown(state.words[state.ids[top]])}` });
    },
    light(state, { word }) {
      const weights = state.weights[block][head];
      const isLit = word >= 0 && word < weights.length;
      set(share, { text: isLit ? number(weights[word], 2) : "" });
      const x = (100 * (word + 0.5)) / weights.length;
      set(mark, { d: isLit ? `M${x.toFixed(1)} 0V${HIGH}` : "" });
    },
  };
}

/** A line for each weight that can be seen, as high as the weight is large. */
function skyline(weights) {
  let d = "";
  weights.forEach((weight, i) => {
    if (weight < SEEN) return;
    const x = (100 * (i + 0.5)) / weights.length;
    d += `M${x.toFixed(1)} ${HIGH}V${(HIGH * (1 - weight)).toFixed(1)}`;
  });
  return d;
}
