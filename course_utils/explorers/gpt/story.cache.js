// Keys and values of each block, a column for each word; and what the next word costs.

import { html, set, svg } from "../kit/svg.js";
import { number } from "../kit/words.js";
import { BYTES } from "./story.compute.js";

const LEFT = 62;
const CELL = 15; // pixels at most
const HIGH = 10;
const BLOCK = 2 * HIGH + 8;

/** The cache: { element, draw }. */
export function makeCache(hand) {
  const drawing = svg("svg", { class: "story-store", role: "img", "aria-label":
    "keys and values of each block, a column for each word" });
  const blocks = hand.values.heads.map((_, i) => makeBlock(drawing, i));
  const use = html("input", { type: "checkbox" });
  use.addEventListener("change", () => hand.change({ cached: use.checked }));
  const costs = ["with the cache", "without it"].map(makeCost);
  const note = html("p", { class: "story-note" });
  const element = html("div", { class: "story-cache" },
    html("label", {}, use, "use the cache"), drawing,
    html("p", { class: "story-title" }, "multiplications for the next word"),
    ...costs.map(each => each.element), note);
  return { element, draw(state) {
    use.checked = state.cached;
    const width = element.clientWidth;
    const count = state.at + 1;
    const cell = Math.min(CELL, (width - LEFT) / count);
    set(drawing, { width, height: blocks.length * BLOCK });
    blocks.forEach((each, i) => each.draw(i * BLOCK, count, cell, state.cached));
    const most = state.costs.anew;
    costs[0].draw(state.costs.cached, most, state.cached);
    costs[1].draw(most, most, !state.cached);
    set(note, { text: state.cached
      ? `Kept: ${number(state.costs.kept)} numbers, ${number((state.costs.kept * BYTES) / 1000)} kB ` +
        `at ${BYTES} bytes each. Orange keys, purple values.`
      : "Nothing is kept: each new word computes all keys and values again." });
  } };
}

/** A block's keys and values. */
function makeBlock(drawing, block) {
  const name = svg("text", { x: 0 }, `block ${block}`);
  const strips = ["key", "value"].map(kind => ({
    kept: svg("path", { class: `story-kept story-${kind}` }),
    made: svg("path", { class: `story-made story-${kind}` }),
  }));
  drawing.append(name, ...strips.flatMap(({ kept, made }) => [kept, made]));
  return { draw(y, count, cell, isCached) {
    set(name, { y: y + HIGH + 5 });
    strips.forEach(({ kept, made }, i) => {
      const top = y + i * (HIGH + 2);
      const first = isCached ? count - 1 : 0;
      set(kept, { d: cells(0, first, cell, top) });
      set(made, { d: cells(first, count, cell, top) });
    });
  } };
}

/** Boxes of columns, with a gap where there is room for one. */
function cells(from, to, cell, top) {
  const gap = cell > 4 ? 1 : 0;
  let d = "";
  for (let i = from; i < to; i += 1) {
    d += `M${(LEFT + i * cell).toFixed(1)} ${top}h${(cell - gap).toFixed(1)}v${HIGH}h${(gap - cell).toFixed(1)}z`;
  }
  return d;
}

function makeCost(label) {
  const fill = html("span", { class: "story-fill" });
  const share = html("span", { class: "story-share" });
  const element = html("div", { class: "story-cost" }, html("span", {}, label),
    html("span", { class: "story-rail" }, fill), share);
  return { element, draw(value, most, isUsed) {
    fill.style.width = `${(100 * value) / most}%`;
    set(share, { text: `${number(value, 1)} million` });
    element.classList.toggle("story-used", isUsed);
  } };
}
