// Bytes against the length of a text, with a line at one length that is dragged.

import { chart } from "../../../course_utils/explorers/kit/chart.js";
import { handle } from "../../../course_utils/explorers/kit/hand.js";
import { around, boxOf, freePlace, meet } from "../../../course_utils/explorers/kit/labels.js";
import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { short, sizeOf } from "./two_models.compute.js";

const SIDES = ["left", "right"];
const BYTES = [1e7, 1e14];
const TICKS = [[1e7, "10 MB"], [1e8, "100 MB"], [1e9, "1 GB"], [1e10, "10 GB"], [1e11, "100 GB"],
  [1e12, "1 TB"], [1e13, "10 TB"], [1e14, "100 TB"]];
const [FIRST, LAST] = [9, 20]; // lengths as powers of two
const [HIGH, LOW] = [322, 276]; // pixels; on a phone
const NARROW = 480;
const LETTER = 7.5; // pixels of a letter of a label
const DOT = 11;
const [NEAR, FAR] = [6, 15]; // places for a dot's words above or below it: with its name, and without
const CLOSE = 8; // pixels between two places of a curve that a label keeps clear of

/** The curves in a box; what is returned draws a state so wide. */
export function makeCurves(box, hand) {
  const drawn = chart(box, {
    label: "bytes kept over the length of a text",
    height: HIGH,
    edge: { left: 54, right: 14, top: 28 },
    x: { label: "length of a text, tokens (1k = 1,024)", domain: [FIRST, LAST], scale: Math.log2, ticks: [] },
    y: { label: "", domain: BYTES.map(Math.log10), scale: Math.log10, ticks: TICKS },
  });
  set(drawn.svg, { role: "group" });
  const length = makeHandle(drawn, hand);
  return (state, width) => {
    const isNarrow = width < NARROW;
    const ticks = state.lengths.filter((_, i) => !isNarrow || i % 2 === 0);
    drawn.fit(width, {
      height: isNarrow ? LOW : HIGH,
      x: { ...drawn.x, ticks: ticks.map(each => [each, short(each)]) },
      y: { ...drawn.y, label: `bytes kept of all texts${isNarrow ? "; dashed: the weights" : ""}` },
    });
    const dots = state.kept.map(each => around([drawn.atX(state.length), drawn.atY(each)], DOT));
    const taken = [...drawCurves(drawn, state), ...nearCurves(drawn, state), ...dots];
    taken.push(boxOf(drawn.inner.left, 12, drawn.y.label));
    taken.push(...drawWeights(drawn, state, taken, isNarrow));
    // Over the lines; put there again, it would lose the pointer and the focus.
    if (drawn.layer.lastChild !== length.layer) drawn.layer.append(length.layer);
    length.draw(state, taken, isNarrow);
  };
}

/** The curves and the level lines of the weights; returns where the latter are. */
function drawCurves(drawn, { lengths, curves, weights }) {
  const ends = [lengths[0], lengths.at(-1)];
  return SIDES.map((side, i) => {
    drawn.line(`weights ${side}`, ends, [weights[i], weights[i]],
      { class: `ce-line models-weights models-${side}` });
    drawn.line(`curve ${side}`, lengths, curves[i], { class: `ce-line models-curve models-${side}` });
    const [{ left, right }, y] = [drawn.inner, drawn.atY(weights[i])];
    return [left, y - 1, right, y + 1];
  });
}

/** Boxes along both curves, of which labels keep clear. */
function nearCurves(drawn, { lengths, curves }) {
  return curves.flatMap(curve => lengths.slice(1).flatMap((to, i) => {
    const [from, until] = [lengths[i], to].map((each, end) => [drawn.atX(each), drawn.atY(curve[i + end])]);
    const count = Math.ceil((until[0] - from[0]) / CLOSE);
    return Array.from({ length: count + 1 }, (_, step) =>
      around(from.map((start, axis) => start + ((until[axis] - start) * step) / count), CLOSE / 2, 2));
  }));
}

/** Which of two numbers is drawn higher up; the other one. */
const fromAbove = numbers => (numbers[0] >= numbers[1] ? [0, 1] : [1, 0]);

/** The weights' names, the higher one above its line; returns their boxes. */
function drawWeights(drawn, { weights, names }, taken, isNarrow) {
  const { left, right } = drawn.inner;
  const own = [];
  fromAbove(weights).forEach((side, rank) => {
    const isTwice = rank === 1 && names[0] === names[1];
    const words = isTwice ? "" : `${isNarrow ? "" : "weights "}${sizeOf(weights[side])}`;
    const y = drawn.atY(weights[side]);
    const heights = rank === 0 ? [y - 6, y + 15] : [y + 15, y - 6];
    const between = [2, 3, 4, 5, 6].map(part => [left + (part * (right - left)) / 8, "middle"]);
    const places = [[left + 6, "start"], [right - 6, "end"], ...between].flatMap(([x, anchor]) =>
      heights.map(each => [x, each, anchor]));
    const [x, at, anchor] = freePlace(places, words, [...taken, ...own], LETTER);
    drawn.mark(`name ${SIDES[side]}`, "text", { x, y: at, "text-anchor": anchor, text: words,
      class: `models-label models-light models-label-${SIDES[side]}` });
    if (words) own.push(boxOf(x, at, words, anchor, LETTER));
  });
  return own;
}

/** The line at the chosen length, with a dot on each curve, and what is kept. */
function makeHandle(drawn, hand) {
  const layer = svg("g", { class: "models-handle ce-eased" });
  const reach = svg("rect", { class: "models-reach", x: -22, width: 44 });
  const line = svg("path", { class: "models-drop" });
  const dots = SIDES.map(side => svg("g", {},
    svg("circle", { class: `models-dot models-dot-${side}`, r: DOT - 1 }),
    svg("path", { class: "models-arrow", d: "M-2.5 -3.5L-5.5 0L-2.5 3.5M2.5 -3.5L5.5 0L2.5 3.5" })));
  const labels = SIDES.map(side => svg("text", { class: `models-label models-label-${side}` }));
  layer.append(reach, line, ...dots, ...labels);
  const hear = handle(layer, drawn.svg, hand, "length", {
    label: "length of a text", anywhere: true,
    from: ({ x }) => 2 ** drawn.xAt.inverse(x),
  });
  const draw = (state, taken, isNarrow) => {
    const { inner } = drawn;
    const x = drawn.atX(state.length);
    const heights = state.kept.map(each => drawn.atY(each));
    layer.style.transform = `translateX(${x}px)`;
    set(reach, { y: inner.top, height: inner.bottom - inner.top });
    set(line, { d: `M0 ${Math.min(...heights)}V${inner.bottom}` });
    const boxes = [...taken, [x - 2, Math.min(...heights), x + 2, inner.bottom]];
    fromAbove(state.kept).forEach((side, rank) => {
      const isTwice = rank === 1 && state.names[0] === state.names[1];
      const size = sizeOf(state.kept[side]);
      const tries = isTwice ? [""] : isNarrow ? [size] : [`${state.names[side]}: ${size}`, size];
      const { words, place: [at, y, anchor] } = fitting(tries, boxes,
        (each, isLast) => placesAround(drawn, [x, heights[side]], each, rank, isLast));
      if (words) boxes.push(boxOf(at, y, words, anchor, LETTER));
      set(dots[side], { transform: `translate(0 ${heights[side]})` });
      set(labels[side], { x: at - x, y, "text-anchor": anchor, text: words });
    });
    hear(`${short(state.length)} tokens, ${state.kept.map(sizeOf).join(" and ")}`);
  };
  return { layer, draw };
}

/** The first of several wordings that has a free place. */
function fitting(tries, boxes, placesOf) {
  const found = tries.map((words, i) => {
    const places = placesOf(words, i === tries.length - 1);
    return { words, place: freePlace(places, words, boxes, LETTER) };
  }).filter(({ place }) => place);
  const isFree = ({ words, place: [x, y, anchor] }) =>
    !boxes.some(each => meet(each, boxOf(x, y, words, anchor, LETTER)));
  return found.find(isFree) ?? found.at(-1);
}

/** Where a dot can have its words: the upper one above it, the lower one below; at `last` anywhere. */
function placesAround(drawn, [x, y], words, rank, last) {
  const { left, right, bottom } = drawn.inner;
  const wide = LETTER * words.length;
  const steps = Array.from({ length: last ? FAR : NEAR }, (_, i) => 6 * i);
  // The curves rise: there is more room above a dot at its left, and below it at its right.
  const above = steps.flatMap(by => [[x - 13, y - 13 - by, "end"], [x + 13, y - 13 - by, "start"]]);
  const below = steps.flatMap(by => [[x + 13, y + 21 + by, "start"], [x - 13, y + 21 + by, "end"]]);
  const [own, other] = rank === 0 ? [above, below] : [below, above];
  return [...own, ...(last ? other : [])].filter(([at, high, side]) => high > 12 && high + 4 < bottom &&
    (side === "end" ? at - wide > left : at + wide < right + 2));
}
