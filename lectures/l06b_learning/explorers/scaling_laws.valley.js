// The loss along the budget's line: a point that is dragged along it, and what each law advises.

import { chart } from "../../../course_utils/explorers/kit/chart.js";
import { draggable, stepped } from "../../../course_utils/explorers/kit/hand.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import { CURVE_SIZES, describe, short } from "./scaling_laws.compute.js";
import { LAWS, NAMES, SIZES } from "./scaling_laws.plane.js";

const ROOM = 0.8; // nats that the axis shows
const BELOW = 0.22; // of them below the best loss, for what the laws say
const STEP = 0.2; // by which it moves
const ROUND = 20;
const HIGH = 48; // pixels above the valley's floor
const WIDE = 130; // pixels between its arms, for the point and its name
const ORDER = [0, 2, 1]; // of what the laws say, from below

/** The valley: { draw }. */
export function makeValley(stage, hand) {
  const valley = chart(stage, { label: "loss along the budget", x: SIZES,
    y: { label: "loss at this budget (nats per token)", domain: [2, 2.5], ticks: [] }, height: 400 });
  set(valley.svg, { role: "group" });
  const clip = svg("clipPath", { id: `laws-${Math.random().toString(36).slice(2)}` });
  const room = svg("rect");
  clip.append(room);
  valley.svg.append(clip);
  const inside = { "clip-path": `url(#${clip.id})` };
  const bar = valley.mark("gap", "path", { class: "laws-gap" });
  LAWS.forEach(law => valley.mark(law, "path"));
  LAWS.forEach(law => valley.mark(`${law} dot`, "circle"));
  const point = makePoint(valley, hand);
  return { draw(state, values, width) {
    const lowest = STEP * Math.floor((Math.min(...state.best_losses.slice(1)) - BELOW) / STEP);
    const ticks = [0, 1, 2, 3, 4].map(i => [lowest + STEP * i, number(lowest + STEP * i, 1)]);
    valley.fit(width, { y: { ...valley.y, domain: [lowest, lowest + ROOM], ticks } });
    const { left, right, top, bottom } = valley.inner;
    set(room, { x: left, y: top, width: right - left, height: bottom - top });
    valley.line("again", CURVE_SIZES, state.losses_again, { class: "ce-line laws-again", ...inside });
    valley.line("first", CURVE_SIZES, state.losses, { class: "ce-line laws-first", ...inside });
    drawAdvice(valley, state);
    const loss = Math.min(state.loss, lowest + ROOM);
    const x = clamp(valley.atX(state.parameters), left, right);
    set(bar, { d: `M${x} ${valley.atY(loss)}V${valley.atY(state.best_losses[1])}` });
    point(state, values, x, valley.atY(loss), state.loss > loss);
  } };
}

/** The dots of the laws, and what they say in numbers. */
function drawAdvice(valley, state) {
  state.best_sizes.forEach((N, i) => {
    valley.dot(`${LAWS[i]} dot`, N, state.best_losses[i], { class: `laws-dot laws-${LAWS[i]}` });
    const ratio = state.best_tokens[i] / N;
    const words = `${NAMES[i]}: ${short(N)}, ${number(ratio, ratio < 10 ? 1 : 0)}`;
    const place = { x: valley.inner.left + 10, y: valley.inner.bottom - 10 - 20 * ORDER[i] };
    valley.mark(`${LAWS[i]} says`, "text", { ...place, class: `laws-${LAWS[i]}`, text: words });
  });
  valley.mark("says", "text", { x: valley.inner.left + 10, y: valley.inner.bottom - 70,
    class: "laws-note", text: "best parameters, tokens for each parameter" });
}

/** The reader's point on the curve. */
function makePoint(valley, hand) {
  const words = svg("text", { class: "laws-mine" });
  const point = valley.mark("point", "g", { class: "laws-point", role: "slider", tabindex: 0,
    "data-grab": "shared", "aria-label": hand.inputs.ratio.label,
    "aria-valuemin": hand.inputs.ratio.min, "aria-valuemax": hand.inputs.ratio.max });
  point.append(svg("circle", { r: 22, class: "laws-reach" }), svg("circle", { class: "laws-ring", r: 10 }), words);
  const go = ratio => hand.change({ ratio: hand.clamp("ratio", Math.round(ratio * ROUND) / ROUND) });
  draggable(point, valley.svg, { move: ({ x }) => {
    const N = valley.xAt.inverse(x);
    go(hand.values.compute - Math.log10(6) - 2 * N);
  } });
  stepped(point, by => go(hand.values.ratio - by / ROUND), key =>
    go(key === "Home" ? hand.inputs.ratio.max : hand.inputs.ratio.min));
  return (state, values, x, y, isAbove) => {
    point.style.transform = `translate(${x}px, ${y}px)`;
    const ratio = 10 ** values.ratio;
    set(words, { text: `you: ${number(state.loss, 3)}${isAbove ? " ↑" : ""}` });
    // Under both curves, or between their arms where the point is high and there is room.
    const above = valley.atY(Math.min(...state.best_losses.slice(1))) - y;
    const side = state.parameters > state.best_sizes[1] ? -1 : 1;
    const between = CURVE_SIZES.filter((_, i) =>
      Math.max(state.losses[i], state.losses_again[i]) <= state.loss).map(N => valley.atX(N));
    const room = between.at(-1) - between[0];
    set(words, above > HIGH && room > WIDE
      ? { x: 18 * side, y: 5, "text-anchor": side > 0 ? "start" : "end" }
      : { x: clamp(0, valley.inner.left + 44 - x, valley.inner.right - 44 - x), y: above + 30, "text-anchor": "middle" });
    set(point, { "aria-valuenow": values.ratio,
      "aria-valuetext": `${number(ratio, ratio < 10 ? 1 : 0)} tokens for each of ${describe(state.parameters)} parameters` });
  };
}
