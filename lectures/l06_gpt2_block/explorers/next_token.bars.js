// The bars of the most probable tokens, the others as a silhouette; temperature and top-k by hand.

import { linear } from "../../../course_utils/explorers/kit/scale.js";
import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import { softmax, textOf, total } from "./next_token.compute.js";
import { makeGrip } from "./next_token.grip.js";

const ROWS = 8;
const HIGH = 20; // of a row
const TAIL = 42; // pixels for all other tokens
const TOP = 24;
const TICKS = [0, 0.25, 0.5, 0.75, 1];
const LONGEST = 10;
const END = TOP + ROWS * HIGH;

/** The bars: { draw }, which returns the y below them. */
export function makeBars(drawing, hand) {
  const axis = svg("g");
  const rows = Array.from({ length: ROWS }, makeRow);
  const off = svg("path", { class: "next-off" });
  const on = svg("path", { class: "next-on" });
  const others = svg("text", { class: "next-others" });
  const ghost = svg("text");
  drawing.append(axis, off, on, ...rows.map(each => each.group), others, ghost);
  let xAt;
  const count = hand.inputs.k.max;
  const cut = makeGrip(drawing, hand, "k", place => placeOf(place.y, count),
    () => Math.max(1, Math.round(hand.values.k / 20)), true);
  const heat = makeGrip(drawing, hand, "temperature", place =>
    temperatureOf(xAt.inverse(place.x), textOf(hand.values, hand.given).scores.logits), () => 0.05);
  let shown;
  rows.forEach((row, i) => row.group.addEventListener("click", () => { // draws its token
    if (i >= shown.kept) return;
    const chance = total(shown.after.subarray(0, i)) + shown.after[i] / 2;
    hand.change({ chance: Number(hand.clamp("chance", chance).toFixed(3)) });
  }));
  let laidOut;
  return { draw(state, nameOf, width) {
    shown = state;
    const narrow = width < 520;
    const left = narrow ? 84 : 100;
    const right = width - (narrow ? 52 : 92);
    xAt = linear([0, 1], [left, right]);
    if (laidOut !== width) {
      laidOut = width;
      axis.replaceChildren(...TICKS.flatMap(each => drawTick(each, xAt(each))),
        svg("text", { class: "ce-axis", x: right + 8, y: TOP - 10 }, narrow ? "" : "probability"));
    }
    rows.forEach((row, i) => row.draw(state, i, nameOf(i), xAt));
    drawTail({ off, on }, state, xAt);
    const rest = total(state.warm.subarray(ROWS));
    set(others, { x: left + 34, y: END + TAIL / 2 + 4 });
    set(others, { text: `${number(count - ROWS)} more tokens, together ${number(rest, 2)}` });
    drawGhost(ghost, state, xAt);
    const y = heightOf(state.k, count);
    const low = state.k === 1 ? 13 : 0; // under its line, where temperature has the row above
    cut.draw({ text: state.k === count ? "top-k all" : `top-k ${number(state.k)}`, sign: "↕",
      x: width - 52, y: y + low, width: 102, d: `M0 ${y}H${width - (low ? 1 : 103)}`,
      place: { x: 0, y }, value: state.k });
    drawHeat(heat, state, xAt, width);
    return END + TAIL + 16;
  } };
}

const drawTick = (value, x) => [
  svg("path", { class: "ce-grid", d: `M${x} ${TOP - 4}V${END}` }),
  svg("text", { x, y: TOP - 10, "text-anchor": "middle" }, String(value)),
];

/** A token's row: its name, its bar, what it gains from the cut ones, and its probability. */
function makeRow() {
  const name = svg("text", { "text-anchor": "end" });
  const bar = svg("rect", { height: HIGH - 6, rx: 2 });
  const gain = svg("rect", { class: "next-gain", height: HIGH - 6, rx: 2 });
  const own = svg("path", { class: "next-own" });
  const share = svg("text");
  const group = svg("g", {}, gain, bar, own, name, share);
  return { group, draw(state, i, token, xAt) {
    const [y, zero] = [TOP + i * HIGH, xAt(0)];
    const isKept = i < state.kept;
    set(group, { class: `next-row${isKept ? " next-kept" : ""}${i === state.drawn ? " next-drawn" : ""}` });
    set(name, { x: zero - 8, y: y + 15 });
    set(name, { text: token.length > LONGEST ? `${token.slice(0, LONGEST - 1)}…` : token });
    set(bar, { x: zero, y: y + 3, width: xAt(state.warm[i]) - zero });
    const end = Math.max(state.warm[i], state.after[i]);
    set(gain, { x: zero, y: y + 3, width: xAt(end) - zero });
    const moved = Math.abs(state.own[i] - state.warm[i]) > 0.004;
    set(own, { d: moved ? `M${xAt(state.own[i])} ${y + 1}v${HIGH - 3}` : "" });
    const knob = i === 0 ? 12 : 0;
    const far = Math.max(end, moved ? state.own[i] : 0);
    set(share, { x: xAt(far) + 6 + knob, y: y + 15 });
    set(share, { text: isKept || state.temperature === 0 ? number(state.after[i], 2) : "cut" });
  } };
}

/** The other tokens, further apart the more probable they are. */
function drawTail({ off, on }, state, xAt) {
  const count = state.warm.length;
  const shape = until => {
    let d = `M${xAt(0)} ${END}`;
    for (let y = 0; y <= until; y += 1) {
      const place = Math.min(Math.round(placeOf(END + y, count)), count - 1);
      d += `L${xAt(state.warm[place]).toFixed(1)} ${END + y}`;
    }
    return `${d}H${xAt(0)}Z`;
  };
  const kept = heightOf(state.kept, count) - END;
  set(off, { d: shape(TAIL) });
  set(on, { d: kept > 0 ? shape(kept) : "" });
}

/** Says once what a thin mark is, if there are any. */
function drawGhost(ghost, state, xAt) {
  const isFar = Math.abs(state.own[1] - state.warm[1]) > 0.004;
  const end = Math.max(state.own[1], state.warm[1], state.after[1]);
  set(ghost, { x: xAt(end) + 46, y: TOP + HIGH + 15 });
  set(ghost, { text: isFar && state.k > 3 ? "thin mark: at temperature 1" : "" });
}

function drawHeat(heat, state, xAt, width) {
  const [x, y] = [xAt(state.warm[0]), TOP + HIGH / 2];
  const text = `temperature ${number(state.temperature, 2)}`;
  const end = xAt(Math.max(state.own[0], state.warm[0], state.after[0]));
  // Where there is no room behind the bar: in it, or between its end and the thin mark.
  const beside = end + 58 + 138 < width ? end + 58 + 69
    : x - xAt(0) > 138 ? x - 80 : end - x > 160 ? end - 78 : width - 69;
  heat.draw({ text, x: beside, y, width: 138, d: `M${x} ${y - 10}v20`, place: { x, y },
    value: state.temperature });
}

/** Where the line under the k-th token is, and which k a height stands for. */
function heightOf(k, count) {
  if (k <= ROWS) return TOP + k * HIGH;
  return END + (TAIL * Math.log(k / ROWS)) / Math.log(count / ROWS);
}

function placeOf(y, count) {
  if (y <= END) return Math.round((y - TOP) / HIGH);
  return Math.round(ROWS * (count / ROWS) ** ((y - END) / TAIL));
}

/** The temperature at which the first token has a probability: it falls as temperature rises. */
function temperatureOf(share, logits) {
  let [low, high] = [0, 2];
  for (let i = 0; i < 20; i += 1) {
    const middle = (low + high) / 2;
    if (softmax(logits, middle)[0] > share) low = middle;
    else high = middle;
  }
  return Math.round(high / 0.05) * 0.05;
}
