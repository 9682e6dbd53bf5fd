// Memory over the context length: weights, and on them the keys and values of each text.

import { chart } from "../../../course_utils/explorers/kit/chart.js";
import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { handle } from "../../../course_utils/explorers/kit/hand.js";
import { boxOf, freePlace } from "../../../course_utils/explorers/kit/labels.js";
import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import style from "./cache.css";
import { FULL, MEMORIES, WINDOW, caption, compute, sizeOf } from "./cache.compute.js";
import { makeProduct } from "./cache.product.js";

const GB = 1e9;
// How far up the picture goes, in GB, and what is written at its side.
const VIEWS = [[20, [0, 5, 10, 15, 20]], [88, [0, 20, 40, 60, 80]], [690, [0, 200, 400, 600]]];
const LINES = ["laptop", "card", "eight"];
const HEIGHT = 330;
const NARROW = 480;
const CLOSEST = 5; // pixels between two texts, below which no gap is drawn
const NAMED = 0.62; // of the height, where the dashed line has its name
const ROOM = 160; // pixels that this name takes
const SHORT = 110; // pixels that the name of a memory takes
const SIZE = 84; // and what is in use at the chosen length
const CROWDED = 18; // pixels above a memory's line in which its name is
const LOWEST = 20; // pixels above the bottom, below which a memory has no line
let count = 0;

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const drawn = makeChart(stage);
  const handle = makeHandle(drawn, hand);
  const product = makeProduct(stage);
  return (state, values) => {
    const [top, ticks] = handle.isHeld() ? drawn.view : viewOf(state);
    drawn.view = [top, ticks];
    const isNarrow = hand.width < NARROW;
    drawn.fit(hand.width, {
      x: { ...drawn.x, domain: [0, state.context], ticks: lengths(state.context, isNarrow) },
      y: { ...drawn.y, domain: [0, top * GB], ticks: ticks.map(each => [each * GB, `${each}`]) },
    });
    drawBands(drawn, state, values);
    handle.draw(state, drawLines(drawn, state, top), hand.width);
    product(state, values);
  };
}

const viewOf = ({ total }) => VIEWS.find(([top]) => total <= top * GB) ?? VIEWS.at(-1);

/** Ticks along the context: quarters, in the 1024s in which it is built. */
function lengths(context, isNarrow) {
  const parts = isNarrow ? [0, 2, 4] : [0, 1, 2, 3, 4];
  return parts.map(part => [(part * context) / 4, part ? short((part * context) / 4) : "0"]);
}

const short = tokens => (tokens < 1024 ? number(tokens) : `${number(tokens / 1024)}k`);

function makeChart(stage) {
  const drawn = chart(stage, {
    label: "memory over the context length",
    height: HEIGHT,
    edge: { left: 36, right: 18, top: 30 },
    x: { label: "context length, tokens (1k = 1,024)", domain: [0, 1], ticks: [] },
    y: { label: "memory, GB", domain: [0, 1], ticks: [] },
  });
  set(drawn.svg, { role: "group", class: "cache-picture" });
  const clip = { id: `cache-clip-${(count += 1)}`, box: svg("rect") };
  drawn.clip = clip.box;
  drawn.svg.prepend(svg("clipPath", { id: clip.id }, clip.box));
  const inside = svg("g", { "clip-path": `url(#${clip.id})` });
  drawn.layer.append(inside);
  drawn.bands = Object.fromEntries(
    ["weights", "k-later", "v-later", "k", "v", "gaps", "edges", "alone"].map(name => {
      const band = svg("path", { class: `cache-${name}` });
      inside.append(band);
      return [name, band];
    }),
  );
  return drawn;
}

/** Keys and values of all texts, strong up to the chosen length, with a gap between two texts. */
function drawBands(drawn, state, { window }) {
  const { inner, bands, clip } = drawn;
  set(clip, { x: inner.left, y: inner.top, width: inner.right - inner.left,
    height: inner.bottom - inner.top });
  const { context, length, texts, token, weights } = state;
  const most = window ? Math.min(WINDOW, context) : context;
  const place = (tokens, many) => {
    const bytes = weights + Math.min(tokens, most) * token * many;
    return `${drawn.atX(tokens).toFixed(1)} ${drawn.atY(bytes).toFixed(1)}`;
  };
  const along = (from, to, many) =>
    [from, ...(from < most && most < to ? [most] : []), to].map(each => place(each, many));
  const band = (from, to, low, high) =>
    `M${[...along(from, to, high), ...along(from, to, low).reverse()].join("L")}Z`;
  const half = texts / 2;
  [["k", 0, half], ["v", half, texts]].forEach(([kind, low, high]) => {
    set(bands[kind], { d: band(0, length, low, high) });
    set(bands[`${kind}-later`], { d: band(length, context, low, high) });
  });
  const bottom = drawn.atY(weights);
  set(bands.weights, {
    d: `M${inner.left} ${bottom}H${inner.right}V${inner.bottom}H${inner.left}Z`,
  });
  const line = many => `M${along(0, context, many).join("L")}`;
  const isFine = drawn.atY(0) - drawn.atY(most * token) < 2 * CLOSEST;
  const gaps = isFine ? [] : [...Array(2 * texts - 1).keys()].map(each => line((each + 1) / 2));
  set(bands.gaps, { d: gaps.join("") });
  set(bands.edges, { d: line(texts) });
  const alone = (texts * state.heads) / state.kv_heads; // so many texts' worth without sharing
  set(bands.alone, { d: alone > texts ? line(alone) : "" });
  nameAlone(drawn, state, alone, most);
}

/** The name of the dashed line: half way up, or where it ends on the right. */
function nameAlone(drawn, { weights, token, context, texts }, alone, most) {
  const { inner } = drawn;
  const tokens = (NAMED * drawn.view[0] * GB - weights) / (token * alone);
  const isSteep = tokens < most;
  const x = isSteep ? drawn.atX(tokens) : inner.right;
  const isLeft = x > inner.left + ROOM;
  drawn.mark("alone", "text", {
    class: "cache-name", display: alone > texts ? "" : "none",
    "text-anchor": isLeft ? "end" : "start", x: x + (isLeft ? -12 : 12),
    y: drawn.atY(weights + Math.min(tokens, most, context) * token * alone) - 6,
    text: "if no heads were shared",
  });
}

/** Names in the picture, the memories as lines, and where each is full. Returns their boxes. */
function drawLines(drawn, state, top) {
  const { inner } = drawn;
  const middle = (inner.left + inner.right) / 2;
  const boxes = [boxOf(inner.left, 12, drawn.y.label)];
  Object.entries(MEMORIES).forEach(([memory, size], i) => {
    const at = drawn.atY(size);
    const isShown = size <= top * GB && inner.bottom - at > LOWEST;
    const full = state.full_at[i];
    const display = isShown ? "" : "none";
    const mark = (name, tag, attributes) =>
      drawn.mark(`${LINES[i]}-${name}`, tag, { display, ...attributes });
    mark("line", "path", { class: "cache-memory", d: `M${inner.left} ${at}H${inner.right}` });
    const x = drawn.atX(Math.max(full, 0));
    const isNear = full > 0 && x < inner.left + SHORT; // both cannot be at the left
    const starts = drawn.atY(state.weights); // all lines start here: no room for a name above
    const isBelow = !isNear && starts <= at && at - starts < CROWDED;
    const named = [isNear ? inner.right - 6 : inner.left + 6, at + (isBelow ? 16 : -6)];
    const end = isNear ? "end" : "start";
    mark("name", "text", { class: "cache-name", x: named[0], y: named[1], "text-anchor": end, text: memory });
    if (isShown) boxes.push(boxOf(...named, memory, end));
    const isFull = isShown && full > 0 ? "" : "none";
    mark("full", "circle", { class: "cache-full", r: 5, display: isFull, cx: x, cy: at });
    const [anchor, aside] = x > middle ? ["end", -10] : ["start", 10];
    const words = `full at ${number(full)} tokens`;
    const place = { x: x + aside, y: isNear ? at + 17 : at - 6 };
    mark("at", "text", { ...place, class: "cache-at", display: isFull, "text-anchor": anchor, text: words });
    if (!isFull) boxes.push(boxOf(place.x, place.y, words, anchor));
  });
  const isThin = inner.bottom - drawn.atY(state.weights) < LOWEST;
  const isHigh = inner.bottom - drawn.atY(state.total) > 2 * LOWEST; // then other names are left
  const isRight = isThin && (isHigh || drawn.atX(state.length) < inner.left + 2 * SHORT);
  const words = `weights ${sizeOf(state.weights)}`;
  const low = isThin && !isHigh ? drawn.atY(state.weights) - 8 : inner.bottom - 6;
  const sides = [[inner.left + 6, "start"], [inner.right - 24, "end"]];
  if (isRight) sides.reverse();
  const places = [low, low - 18, low - 36].flatMap(high => sides.map(([at, side]) => [at, high, side]));
  const [x, y, anchor] = freePlace(places, words, boxes);
  drawn.mark("weights", "text", { class: "cache-name", x, y, "text-anchor": anchor, text: words });
  return boxes;
}

/** The line at the chosen length, which is dragged, or moved by arrow keys. */
function makeHandle(drawn, hand) {
  const mark = svg("g", { class: "cache-handle" });
  const reach = svg("rect", { class: "cache-reach", x: -22, width: 44 });
  const line = svg("path", { class: "cache-drop" });
  const dot = svg("circle", { class: "cache-dot", r: 11 });
  const arrow = svg("path", { class: "cache-arrow", d: "M-3 -3.5L-6 0L-3 3.5M3 -3.5L6 0L3 3.5" });
  const size = svg("text", { class: "cache-size" });
  mark.append(reach, line, dot, arrow, size);
  drawn.layer.append(mark);
  let held = false;
  const hear = handle(mark, drawn.svg, hand, "filled", {
    label: "context length", anywhere: true,
    from: ({ x }) => (FULL * (x - drawn.inner.left)) / (drawn.inner.right - drawn.inner.left),
    start: () => { held = true; }, // the picture keeps its height in the hand
    end: () => { held = false; hand.change({}); },
  });
  const draw = (state, boxes, width) => {
    const { inner } = drawn;
    const [x, y] = [drawn.atX(state.length), drawn.atY(state.total)];
    const isOff = y < inner.top;
    const at = Math.max(y, inner.top);
    mark.style.transform = `translateX(${x}px)`;
    mark.classList.add("ce-eased");
    set(reach, { y: inner.top - 22, height: inner.bottom - inner.top + 22 });
    set(line, { d: `M0 ${at}V${inner.bottom}` });
    set(dot, { cy: at });
    set(arrow, { transform: `translate(0 ${at})` });
    const words = `${isOff ? "↑ " : ""}${sizeOf(state.total)}`;
    const sides = [["end", -17], ["start", 17]]; // the line rises to the right
    if (x < inner.left + SHORT) sides.reverse();
    const places = [at - 9, at + 26].flatMap(high => sides.map(([side, by]) => [x + by, high, side]))
      .filter(([from, , side]) => (side === "end" ? from - SIZE > inner.left : from + SIZE < width));
    const [from, high, anchor] = freePlace(places, words, boxes, SIZE / words.length);
    set(size, { x: from - x, y: high, "text-anchor": anchor, text: words });
    hear(`${number(state.length)} tokens, ${sizeOf(state.total)}`, { "aria-valuemin": state.context / FULL,
      "aria-valuemax": state.context, "aria-valuenow": state.length });
  };
  return { draw, isHeld: () => held };
}
