// Lecture 01's first picture: bars of one query's weights; next to them the largest of each query.

import { chart } from "../../../course_utils/explorers/kit/chart.js";
import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { placeIn, pointing, stepped } from "../../../course_utils/explorers/kit/hand.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { html, set } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import style from "./largest_weight.css";
import { QUERIES, caption, compute } from "./largest_weight.compute.js";
import { KEYS } from "./running_sums.js";

const HEIGHT = 270;
const TALLEST = 1.06;
const LETTER = 3.7; // half the width of one, in pixels
const MARGIN = 8; // right of the queries

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const box = html("div", { class: "largest" });
  stage.append(box);
  const y = { domain: [0, TALLEST], ticks: [[0, "0"], [0.5, "½"], [1, "1"]] };
  const bars = chart(box, {
    label: "weights of 64 keys", height: HEIGHT, edge: { left: 30, right: 4, top: 34, bottom: 30 },
    x: { label: "", domain: [-0.8, KEYS - 0.2], ticks: [0, 16, 32, 48, 63].map(key => [key, String(key)]) },
    y: { ...y, label: "" },
  });
  const tops = chart(box, {
    label: "query", height: HEIGHT, edge: { left: 10, right: MARGIN, top: 34, bottom: 30 },
    x: { label: "", domain: [0.3, QUERIES + 0.7], ticks: [] },
    y: { ...y, ticks: [[0, ""], [0.5, ""], [1, ""]], label: "" },
  });
  const point = makePointer(bars);
  makeChoice(tops, hand);
  return state => {
    const side = clamp(Math.round(hand.width * 0.3), 118, 230);
    const isNarrow = side < 180;
    bars.fit(hand.width - side, { y: { ...bars.y, label: isNarrow ? "weights of 64 keys" : "weights of one query on its 64 keys" } });
    tops.fit(side, { y: { ...tops.y, label: isNarrow ? "12 queries" : "the largest, for 12 queries" } });
    bars.bars("bars", state.weights);
    bars.line("equal", [-0.8, KEYS - 0.2], [1 / KEYS, 1 / KEYS], { class: "largest-equal" });
    point(state);
    drawTops(tops, state);
  };
}

/** Where the middle of some words is: at a place, as far as they fit between two others. */
function middleOf(words, x, [left, right]) {
  const half = words.length * LETTER;
  return clamp(x, left + half, right - half);
}

/** The largest weight of each query as a dot on a stem; the chosen one is blue. */
function drawTops(tops, { largest, mean, query }) {
  const zero = tops.atY(0);
  const stems = largest.map((top, i) => `M${tops.atX(i + 1)} ${zero}V${tops.atY(top)}`);
  tops.mark("stems", "path", { class: "largest-stem", d: stems.join("") });
  tops.line("mean", [0.3, QUERIES + 0.7], [mean, mean], { class: "largest-mean" });
  largest.forEach((top, i) => {
    const own = i + 1 === query;
    tops.dot(`top ${i}`, i + 1, top, { r: own ? 6 : 4, class: own ? "largest-own" : "largest-top" });
  });
  tops.text("said", 0.5, 0, `mean ${number(mean, 2)}`, { dy: 19, class: "largest-said" });
  const words = `query ${query}`;
  tops.text("chosen", 0, TALLEST, words, { dy: -2, class: "largest-chosen", "text-anchor": "middle" });
  tops.mark("chosen", "text", { x: middleOf(words, tops.atX(query), [0, tops.inner.right + MARGIN]) });
  set(tops.svg, { "aria-valuenow": query, "aria-valuetext": `query ${query}, largest weight ${number(largest[query - 1], 2)}` });
}

/** Which query is shown: by a click, or by arrow keys. */
function makeChoice(tops, hand) {
  set(tops.svg, { role: "slider", tabindex: 0, "aria-valuemin": 1, "aria-valuemax": QUERIES });
  const choose = query => hand.change({ query: clamp(Math.round(query), 1, QUERIES) });
  tops.svg.addEventListener("click", event => choose(tops.xAt.inverse(placeIn(tops.svg, event).x)));
  stepped(tops.svg, by => choose(hand.values.query + by),
    key => choose(key === "Home" ? 1 : QUERIES));
}

/** The weight of the key that is pointed at, or of the tallest bar. */
function makePointer(bars) {
  let [pointed, shown] = [undefined, undefined];
  const say = () => {
    const key = pointed ?? shown.best;
    const weight = shown.weights[key];
    const words = `key ${key}: ${number(weight, 2)}`;
    const { left, right } = bars.inner;
    bars.text("said", 0, weight, words, { class: "largest-key", "text-anchor": "middle", dy: -8 });
    bars.mark("said", "text", { x: middleOf(words, bars.atX(key), [left, right]) });
  };
  const point = key => {
    pointed = key;
    if (shown) say();
  };
  pointing(bars.svg, event => {
    point(clamp(Math.round(bars.xAt.inverse(placeIn(bars.svg, event).x)), 0, KEYS - 1));
  }, () => point());
  return state => {
    shown = state;
    say();
  };
}
