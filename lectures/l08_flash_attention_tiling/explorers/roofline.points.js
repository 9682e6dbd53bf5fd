// Points on the roof, each dragged to change the size that moves it.

import { handle } from "../../../course_utils/explorers/kit/hand.js";
import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import { LIMITS, compute, teraflops } from "./roofline.compute.js";

const LETTER = 7.4; // pixels, about
const LINE = 16;
const GAP = 6;
const DOT = 10;
const ROOF_NAME = 190; // what the name of the roof takes at its right end
export const CHIP = { wide: 312, high: 212 }; // the corner that the SM takes
const POINTS = [
  { control: "width", name: "naive", says: v => `heads ${v} wide`, short: v => `D = ${v}` },
  { control: "block_m", name: "tiled", says: v => `${v} queries a tile`, short: v => `${v} queries` },
  { control: "length", name: "tiled, k and v in L2", brief: "k, v in L2",
    says: v => `${number(v)} tokens`, short: v => number(v) },
  { control: "group", name: "decoding", says: v => (v === 1 ? "no shared keys" : `${v} heads share keys`),
    short: v => `${v} ${v === 1 ? "query" : "queries"}` },
];

/** The points with their labels, from the farthest back; `draw` puts them where they are. */
export function makePoints(plot, hand) {
  const stops = svg("path", { class: "roof-stops" });
  const link = svg("path", { class: "roof-link" });
  plot.svg.append(stops, link);
  const points = POINTS.map((each, way) => makePoint(plot, hand, each, way, showStops));
  let lit = null;

  /** Where the point under the hand can go. */
  function showStops(way = lit) {
    lit = way;
    const places = way === null ? [] : placesOf(plot, hand, way);
    set(stops, { d: places.map(([x, y]) => `M${x - 3} ${y}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0`).join("") });
  }

  return { draw(state, values, isNarrow) {
    const at = state.intensity.map((x, way) => [plot.atX(x), plot.atY(state.rate[way])]);
    set(link, { d: `M${at[0]}L${at[1]}L${at[2]}` });
    const taken = at.map(([x, y]) => ({ left: x - DOT, right: x + DOT, top: y - DOT, bottom: y + DOT }));
    // The label of the highest point first; the others make room.
    for (const way of [2, 1, 3, 0]) points[way].draw(at[way], state, values, { isNarrow, taken });
    showStops();
  } };
}

/** The places of a point for each value of its control. */
function placesOf(plot, hand, way) {
  const { control } = POINTS[way];
  return hand.inputs[control].values.map(value => {
    const state = compute({ ...hand.values, [control]: value }, hand.given);
    return [plot.atX(state.intensity[way]), plot.atY(state.rate[way])];
  });
}

function makePoint(plot, hand, { control, name, brief, says, short }, way, light) {
  const { label, values: all } = hand.inputs[control];
  const shape = svg("g", { class: `roof-point roof-way-${way} ce-eased` },
  svg("circle", { class: "roof-reach", r: 22 }), svg("circle", { class: "roof-dot", r: 9 }),
  svg("path", { class: "roof-grip", d: "M-14 -4l-4 4l4 4M14 -4l4 4l-4 4" }));
  const lines = [svg("text", { class: "roof-label" }), svg("text", {})];
  const words = svg("g", { class: `roof-words roof-way-${way}`, "aria-hidden": "true" }, ...lines);
  plot.svg.append(words, shape);
  const hear = handle(shape, plot.svg, hand, control, { label: `${name}: ${label}`, grab: true,
    from: ({ x, y }) => all[nearest(placesOf(plot, hand, way), x, y)] });
  for (const on of ["pointerenter", "focus"]) shape.addEventListener(on, () => light(way));
  for (const off of ["pointerleave", "blur"]) {
    shape.addEventListener(off, () => shape.matches(":focus, :active") || light(null));
  }
  return { draw([x, y], state, values, { isNarrow, taken }) {
    const hidden = way === 3 && !state.decoding;
    set(shape, { hidden, display: hidden && "none" });
    hear(`${says(values[control])}: ${number(state.intensity[way], 1)} FLOPs a byte, at best ` +
      `${teraflops(state.rate[way])} TFLOP/s, ${milliseconds(state.seconds[way])}, limited by ${LIMITS[state.limit[way]]}`);
    set(words, { display: hidden && "none" });
    shape.style.transform = `translate(${x}px, ${y}px)`;
    if (hidden) return;
    const first = isNarrow ? `${brief ?? name}, ${short(values[control])}` : `${name}: ${says(values[control])}`;
    const flops = number(state.intensity[way], state.intensity[way] < 10 ? 1 : 0);
    const second = isNarrow ? "" : `${flops} FLOPs a byte, ${teraflops(state.rate[way])} TFLOP/s`;
    [first, second].forEach((text, i) => set(lines[i], { text }));
    place(lines, plot, { x, y, way, taken, isNarrow, wide: LETTER * Math.max(first.length, second.length) });
  } };
}

const milliseconds = seconds => `${number(seconds * 1e3, seconds < 0.1 ? 2 : 0)} ms`;

/** Naive's label is above and left of the slope; the others are under the roof, or over it if the SM is there. */
function place(lines, plot, { x, y, way, taken, isNarrow, wide }) {
  const high = lines[1].textContent ? 2 * LINE : LINE;
  const { right } = plot.inner;
  const isBehindChip = () =>
    !isNarrow && top + high > plot.height - CHIP.high && left + wide > right - CHIP.wide;
  const hits = box => left < box.right && left + wide > box.left && top < box.bottom && top + high > box.top;
  let left = way === 0 ? x - 20 - wide : way === 2 ? x - (isNarrow ? 0 : wide / 2) : x + 16;
  left = Math.min(Math.max(left, plot.inner.left + 2), right - wide);
  let top = way === 0 ? y - 8 - high : y + 12;
  const isAbove = way === 0 || (way === 2 && isBehindChip());
  if (isAbove && way === 2) [left, top] = [Math.min(left, right - ROOF_NAME - wide), y - 14 - high];
  else if (isBehindChip()) left = right - CHIP.wide - wide;
  while (taken.some(hits)) {
    top += isAbove ? -GAP : GAP;
    if (isBehindChip()) left = right - CHIP.wide - wide;
  }
  taken.push({ left, right: left + wide, top, bottom: top + high });
  const end = way === 0 && left > plot.inner.left + 2;
  lines.forEach((line, i) => set(line, { x: end ? left + wide : left, y: top + 12 + i * LINE,
    "text-anchor": end ? "end" : "start" }));
}

function nearest(places, x, y) {
  const far = places.map(([atX, atY]) => Math.hypot(atX - x, atY - y));
  return far.indexOf(Math.min(...far));
}
