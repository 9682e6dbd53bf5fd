// Lecture 01: the histogram of scores with its spread in the hand; the weights of one query below.

import { chart } from "../../../course_utils/explorers/kit/chart.js";
import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { draggable, handle, placeIn, pointing, stepped } from "../../../course_utils/explorers/kit/hand.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import style from "./score_width.css";
import { caption, compute, lawOf } from "./score_width.compute.js";
import { COINS } from "./coordinates.js";

const EDGE = { left: 34, right: 12 };
const RUG = 9; // pixels of a stroke for one key's score
const CLOSE = 14; // pixels from a stroke at which it counts as pointed at
const SAME = 1e-9;
const RISE = 14; // pixels by which the band rises above the bars
const TICKS = [-0.8, -0.4, 0, 0.4, 0.8]; // of half the axis

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const box = html("div", { class: "width" });
  stage.append(box);
  const scores = chart(box, { label: "histogram of scores", height: 228, edge: { ...EDGE, top: 46, bottom: 34 },
    x: { label: "", domain: [-50, 50], ticks: [] }, y: { label: "", domain: [0, 1.28], ticks: [] } });
  const weights = chart(box, { label: "key", height: 176, edge: { ...EDGE, top: 26, bottom: 26 },
    x: { label: "", domain: [-0.8, 63.8], ticks: [[31.5, "weights of one query on its 64 keys: choose a key"]] },
    y: { label: "", domain: [0, 1], ticks: [[0, "0"], [0.5, "½"], [1, "1"]] } });
  set(scores.svg, { role: "group" });
  const band = makeBand(scores, hand);
  const keys = makeKeys(box, scores, weights);
  return (state, values) => {
    scores.fit(hand.width, axesOf(state));
    weights.fit(hand.width);
    drawHistogram(scores, state, values);
    band(state, values);
    keys(state);
  };
}

function axesOf({ view, divided }) {
  const ticks = TICKS.map(each => [each * view, number(each * view)]);
  const label = `scores q·k${divided ? " / √d_k" : ""} of 2,000 random pairs`;
  return { x: { label: "", domain: [-view, view], ticks }, y: { label, domain: [0, 1.28], ticks: [] } };
}

/** The bars, and the density that the proof predicts. */
function drawHistogram(scores, state, { coordinates }) {
  const { start, step, heights, view, law_mean, law_spread, peak } = state;
  const [zero, per] = [scores.atY(0), scores.atX(step) - scores.atX(0)];
  // Of the few values that coin flips have, each has a bar of its own.
  const isApart = coordinates === COINS && step > law_spread / 3;
  const wide = Math.max(isApart ? per * 0.3 : per - 0.5, 1);
  let d = "";
  heights.forEach((height, i) => {
    if (!height) return;
    const left = scores.atX(start + (i + 0.5) * step) - wide / 2;
    d += `M${left} ${zero}V${scores.atY(height)}h${wide}V${zero}Z`;
  });
  scores.mark("bars", "path", { class: "width-bars", d });
  const xs = Array.from({ length: 241 }, (_, i) => law_mean + (i / 30 - 4) * law_spread);
  const near = peak ? xs.filter(x => Math.abs(x) <= view) : [];
  const density = x => peak * Math.exp(-0.5 * ((x - law_mean) / law_spread) ** 2);
  scores.line("density", near, near.map(x => Math.min(1.2, density(x))));
  const flank = law_mean + 1.5 * law_spread;
  scores.mark("curve", "text", { class: "width-curve", x: Math.min(scores.atX(flank) + 8, scores.inner.right - 48),
    y: scores.atY(peak ? density(flank) : 0) - 4, text: peak ? "normal" : "" });
}

/** The band of one spread on each side of the mean; its edges are dragged to another width. */
function makeBand(scores, hand) {
  const area = svg("rect", { class: "width-band" });
  scores.svg.insertBefore(area, scores.frame);
  const name = svg("text", { class: "width-spread" });
  const left = svg("g", { class: "width-edge" }, ...edge());
  const right = svg("g", { class: "width-edge" }, ...edge(), grip());
  scores.svg.append(left, right, name);
  const { values: widths } = hand.inputs.width;
  const edgeAt = width => {
    const law = lawOf(hand.values, width);
    return law.mean + law.spread;
  };
  let moves = false;
  let toValue;
  const taken = side => ({
    start: ({ x }) => {
      const [scale, law] = [scores.xAt, lawOf(hand.values, hand.values.width)];
      const off = scale(law.mean + side * law.spread) - x;
      toValue = place => {
        const at = scale.inverse(place.x + off);
        return side > 0 ? at : 2 * law.mean - at; // the left edge mirrors the right one
      };
    },
    from: place => nearest(widths, edgeAt, toValue(place)),
  });
  const go = width => moves && hand.change({ width });
  const hear = handle(right, scores.svg, hand, "width", { label: "head width, by the spread", ...taken(1), go });
  const { start, from } = taken(-1);
  draggable(left, scores.svg, { start, move: place => go(from(place)) });

  return (state, values) => {
    const { law_mean: mean, law_spread: spread, view } = state;
    const exists = mean !== null;
    moves = exists && Math.abs(edgeAt(widths.at(-1)) - edgeAt(widths[0])) > 1;
    for (const each of [area, left, right]) each.classList.toggle("width-gone", !exists);
    for (const each of [left, right]) set(each, { "data-grab": moves && "shared" });
    set(right, { tabindex: moves && 0, "aria-disabled": !moves && "true" });
    hear(`${values.width}, spread ${number(spread ?? state.spread, 2)}`);
    const { top, bottom } = scores.inner;
    const [from, to] = [-1, 1].map(side => scores.atX(clamp((mean ?? 0) + side * (spread ?? 0), -view, view)));
    set(area, { x: from, y: top - RISE, width: Math.max(to - from, 1), height: bottom - top + RISE });
    set(left, { transform: `translate(${from} ${top - RISE})` });
    set(right, { transform: `translate(${to} ${top - RISE})` });
    set(name, { text: spreadInWords(state) });
    set(name, beside(name.textContent, scores.inner, from, exists ? to + (moves ? 14 : 0) : from));
  };
}

/** Where words fit: right of the band or line, left of it, or over it. */
function beside(words, { left, right, top }, from, to) {
  const wide = words.length * 7.8;
  if (to + 10 + wide <= right) return { x: to + 10, y: top - 6, "text-anchor": "start" };
  if (from - 10 - wide >= left) return { x: from - 10, y: top - 6, "text-anchor": "end" };
  const x = clamp((from + to) / 2, left + wide / 2, right - wide / 2);
  return { x, y: top + 12, "text-anchor": "middle" };
}

const edge = () => [
  svg("rect", { class: "width-reach", x: -13, y: -13, width: 26, height: 170 }),
  svg("path", { class: "width-line", d: "M0 0V160" }),
];
const grip = () => svg("g", { class: "width-grip" }, svg("circle", { r: 12 }),
  svg("path", { d: "M-7 0H7M-4 -3.5L-7.5 0L-4 3.5M4 -3.5L7.5 0L4 3.5" }));

function spreadInWords({ law_spread: spread, width, divided }) {
  if (spread === null) return "no spread: a few huge products decide";
  const taught = divided ? 1 : Math.sqrt(width);
  const told = value => number(value, value < 99.95 ? 1 : 0);
  if (Math.abs(spread - taught) > SAME) return `spread ${told(spread)}, where the proof says ${told(taught)}`;
  return divided ? `spread √${width} / √${width} = 1` : `spread √${width} = ${told(spread)}`;
}

/** The width whose edge is nearest to a value. */
function nearest(widths, edgeAt, value) {
  const off = widths.map(width => Math.abs(edgeAt(width) - value));
  return widths[off.indexOf(Math.min(...off))];
}

/** One query: a stroke for each score, a bar for each weight, and a line from one to the other. */
function makeKeys(box, scores, weights) {
  const rug = svg("path", { class: "width-rug" });
  const lit = svg("path", { class: "width-lit" });
  const dot = svg("circle", { class: "width-dot", r: 4 });
  const share = svg("text", { class: "width-share" });
  const overlay = svg("svg", { class: "width-over", "aria-hidden": "true" }, lit);
  scores.svg.append(rug);
  weights.svg.append(dot, share);
  box.prepend(overlay);
  set(weights.svg, { role: "slider", tabindex: 0, "aria-valuemin": 0, "aria-valuemax": 63 });
  let [pointed, shown] = [undefined, undefined];
  const xOf = key => scores.atX(clamp(shown.scores[key], -shown.view, shown.view));

  const light = () => {
    const key = pointed ?? shown.best;
    const [score, weight] = [shown.scores[key], shown.weights[key]];
    const from = [xOf(key), scores.inner.bottom];
    const top = weights.atY(weight);
    const to = [weights.atX(key), scores.height + top];
    const low = scores.height - 6;
    set(lit, { d: `M${from}v${RUG + 3}L${from[0]} ${from[1] + 22}L${to[0]} ${low}V${to[1]}` });
    const strokes = Array.from(shown.scores, (_, each) => `M${xOf(each).toFixed(1)} ${from[1] + 1}v${RUG}`);
    set(rug, { d: strokes.join("") });
    const words = `key ${key}: score ${number(score, 1)}, weight ${number(weight, 2)}`;
    set(share, { ...beside(words, weights.inner, to[0], to[0]), y: top - 9 });
    set(share, { text: words });
    set(dot, { cx: to[0], cy: top });
    set(weights.svg, { "aria-valuenow": key, "aria-valuetext": words });
  };
  const point = key => {
    pointed = key;
    if (shown) light();
  };
  pointing(weights.svg, event => {
    const { x } = placeIn(weights.svg, event);
    point(clamp(Math.round(weights.xAt.inverse(x)), 0, 63));
  }, () => point());
  pointing(scores.svg, event => {
    const { x, y } = placeIn(scores.svg, event);
    if (event.buttons || y < scores.inner.bottom - 30) return;
    const off = Array.from(shown.scores, (_, key) => Math.abs(xOf(key) - x));
    const least = Math.min(...off);
    point(least < CLOSE ? off.indexOf(least) : undefined);
  }, () => point());
  weights.svg.addEventListener("blur", () => point());
  stepped(weights.svg, by => point(clamp((pointed ?? shown.best) + by, 0, 63)),
    key => point(key === "Home" ? 0 : 63));

  return state => {
    shown = state;
    set(overlay, { width: weights.inner.right + EDGE.right, height: scores.height + weights.height });
    weights.bars("bars", state.weights);
    weights.line("equal", [-0.8, 63.8], [1 / 64, 1 / 64], { class: "width-equal" });
    light();
  };
}
