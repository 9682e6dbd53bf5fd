// How far back the gradient reaches: three curves on a logarithmic axis, and who gets most of it.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { draggable, handle, slider } from "../../../course_utils/explorers/kit/hand.js";
import { clamp, linear } from "../../../course_utils/explorers/kit/scale.js";
import { path, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import style from "./gradient_reach.css";

const NAMES = ["RNN", "LSTM", "attention"];
const VARIES = ["orthogonal", "bias", undefined]; // what lifts a layer's curve
const PLOT = [26, 262];
const POWERS = [0, -4, -8, -12, -16, -20, -24, -28];
const ROWS = 292; // where the first row of squares is
const ROW = 36;
const SQUARE = 13;
const BASE = ROWS + 3 * ROW - 6;
const HEIGHT = BASE + 56;
const EDGE = { left: 42, right: 12 };
const APART = 17; // pixels between two labels
const ROOM = 140; // pixels that a label takes
const BESIDE = [15, 15, -13]; // a label is under a curve that rises, and over one that is flat
const ABOVE = -9;
const CORNER = 150;
const LOST = Math.log10(2 ** -24); // smaller parts vanish in a float32 sum
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

export default explorer({ mount, style });

const power = exponent =>
  exponent ? `10⁻${[...`${-exponent}`].map(digit => RAISED[digit]).join("")}` : "1";
const written = share =>
  share >= 1e-3 ? number(share, 3) : power(Math.round(Math.log10(share)));

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const picture = svg("svg", { class: "reach", role: "group", height: HEIGHT,
    "aria-label": "share of the gradient by steps back, of an RNN, an LSTM and attention" });
  stage.append(picture);
  const place = { y: linear([POWERS[0], POWERS.at(-1)], PLOT), last: hand.inputs.distance.max };
  const parts = [makeFrame, makeArea, makeRows, makeCurves, makePointer, makeDots].map(make =>
    make(picture, place, hand));
  let laidOut;
  return (state, values) => {
    if (laidOut !== hand.width) {
      laidOut = hand.width;
      set(picture, { width: hand.width });
      // The last input is on the right, as in a sentence.
      place.x = linear([place.last + 0.5, -0.5], [EDGE.left, hand.width - EDGE.right]);
      parts.forEach(each => each.fit?.());
    }
    parts.forEach(each => each.draw?.(state, values));
  };
}

/** Axes, their names, and where float32 ends. */
function makeFrame(picture, place) {
  const frame = svg("g", { "aria-hidden": "true" });
  picture.append(frame);
  return { fit() {
    const [left, right] = [place.x(place.last + 0.5), place.x(-0.5)];
    const across = y => ({ x1: left, x2: right, y1: place.y(y), y2: place.y(y) });
    const rows = POWERS.flatMap(each => [
      svg("line", { class: "ce-grid", ...across(each) }),
      svg("text", { x: left - 8, y: place.y(each) + 4, "text-anchor": "end" }, power(each)),
    ]);
    const columns = [60, 50, 40, 30, 20, 10, 0].map(each =>
      svg("text", { x: place.x(each), y: BASE + 32, "text-anchor": "middle" }, `${each}`));
    frame.replaceChildren(...rows, ...columns,
      svg("text", { class: "ce-axis", x: 0, y: 12 }, "share of the gradient"),
      svg("text", { x: right, y: 12, "text-anchor": "end" }, "drag the line, or a dot ↕"),
      svg("line", { class: "reach-lost", ...across(LOST) }),
      svg("text", { class: "reach-name", x: right, y: place.y(LOST) + 15, "text-anchor": "end" },
        "lost in float32"),
      svg("text", { class: "ce-axis", x: (left + right) / 2, y: BASE + 51, "text-anchor": "middle" },
        "steps back from the last input"));
  } };
}

const near = (place, hand, x) => hand.clamp("distance", Math.round(place.x.inverse(x)));

/** Wherever there is nothing else, the pointer follows the hand. */
function makeArea(picture, place, hand) {
  const area = svg("rect", { class: "reach-area", "data-grab": "shared", x: 0, y: 0, height: BASE - 14 });
  const move = ({ x }) => hand.change({ distance: near(place, hand, x) });
  draggable(area, picture, { start: move, move });
  picture.append(area);
  return { fit: () => set(area, { width: hand.width }) };
}

/** A row of squares for each layer, one an input: filled are those that get 90 % of the gradient. */
function makeRows(picture, place) {
  const rows = NAMES.map((_, i) => {
    const [empty, full] = ["reach-empty", "reach-full"].map(name =>
      svg("path", { class: `${name} reach-${i}` }));
    const text = svg("text", { class: `reach-said reach-${i}`, y: ROWS + ROW * i - 5 });
    picture.append(empty, full, text);
    return { empty, full, text };
  });
  const squares = (i, from, to) => {
    const wide = (place.x(0) - place.x(1)) * 0.78;
    let d = "";
    for (let t = from; t < to; t += 1) {
      d += `M${(place.x(t) - wide / 2).toFixed(1)} ${ROWS + ROW * i}h${wide.toFixed(1)}v${SQUARE}h${(-wide).toFixed(1)}Z`;
    }
    return d;
  };
  return { draw({ reach }) {
    rows.forEach(({ empty, full, text }, i) => {
      set(full, { d: squares(i, 0, reach[i]) });
      set(empty, { d: squares(i, reach[i], place.last + 1) });
      set(text, { x: EDGE.left });
      set(text, { text: `${NAMES[i]}: the last ${reach[i]} of ${place.last + 1} inputs get 90 %` });
    });
  } };
}

function makeCurves(picture, place, { given }) {
  const lines = NAMES.map((_, i) => svg("path", { class: `reach-line reach-${i}` }));
  picture.append(...lines);
  return { draw({ rows }) {
    lines.forEach((line, i) => {
      const curve = curveOf(given.curves, rows[i]);
      set(line, { d: path(Array.from(curve, (_, t) => place.x(t)),
        Array.from(curve, share => place.y(Math.log10(share)))) });
    });
  } };
}

function curveOf(curves, row) {
  const [, length] = curves.shape;
  return curves.subarray(row * length, (row + 1) * length);
}

/** The line across all layers, held at the axis. */
function makePointer(picture, place, hand) {
  const line = svg("path", { class: "reach-pointer" });
  const text = svg("text", { y: 4.5 });
  const chip = svg("g", { class: "reach-chip" },
    svg("rect", { class: "reach-touch", x: -22, y: -22, width: 44, height: 44 }),
    svg("rect", { class: "reach-knob", x: -16, y: -12, width: 32, height: 24, rx: 12 }), text);
  picture.append(line, chip);
  // To the right is towards the last input, up is further back.
  chip.addEventListener("keydown", event => {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const by = (event.key === "ArrowLeft" ? 1 : -1) * (event.shiftKey ? 10 : 1);
    hand.change({ distance: hand.clamp("distance", hand.values.distance + by) });
  });
  const hear = handle(chip, picture, hand, "distance",
    { from: ({ x }) => place.x.inverse(x), keeps: true });
  return { draw(_, { distance }) {
    const x = place.x(distance);
    set(line, { d: `M${x} ${PLOT[0] - 6}V${BASE}` });
    chip.style.transform = `translate(${x}px, ${BASE}px)`;
    set(text, { text: `${distance}` });
    hear(`${distance} steps back`);
  } };
}

/** What each layer has left there; a curve that its initialisation lifts can be lifted by hand. */
function makeDots(picture, place, hand) {
  const dots = NAMES.map((name, i) => {
    const text = svg("text", { class: `reach-value reach-${i}` });
    const dot = svg("circle", { class: `reach-dot reach-${i}`, r: 6 });
    picture.append(text, dot);
    if (!VARIES[i]) return { text, dot };
    const hear = makeLift(dot, picture, place, hand, i);
    const grip = svg("path", { class: "reach-grip", d: "M-3 -1.5L0 -4.5L3 -1.5M-3 1.5L0 4.5L3 1.5" });
    picture.append(grip);
    return { text, dot, grip, hear };
  });
  return { draw({ shares }, values) {
    const x = place.x(values.distance);
    const heights = Array.from(shares, share => place.y(Math.log10(share)));
    const isAside = x + ROOM < hand.width; // else they are in the corner that curves leave empty
    // The RNN's curve rises through the place under a steep LSTM's: that label is on the left.
    const isLeft = i => i === 1 && isAside && !values.bias && x - ROOM > EDGE.left;
    const labels = spread(heights.map((y, i) =>
      isAside ? y + (isLeft(i) ? ABOVE : BESIDE[i]) : CORNER));
    const beside = { x: isAside ? x + 14 : hand.width - EDGE.right - 2,
      "text-anchor": isAside ? "start" : "end" };
    dots.forEach(({ text, dot, grip, hear }, i) => {
      set(dot, { cx: x, cy: heights[i] });
      if (grip) set(grip, { transform: `translate(${x} ${heights[i]})` });
      const where = isLeft(i) ? { x: x - 14, "text-anchor": "end" } : beside;
      set(text, { ...where, y: labels[i] + 4.5 });
      set(text, { text: `${NAMES[i]} ${written(shares[i])}` });
      hear?.(`${hand.inputs[VARIES[i]].label}: ${values[VARIES[i]]}`);
    });
  } };
}

/** Labels at these heights, moved apart where they would touch, and kept in the plot. */
function spread(heights) {
  const order = [...heights.keys()].sort((one, other) => heights[one] - heights[other]);
  const found = [];
  let least = PLOT[0] + 2;
  order.forEach((i, at) => {
    const room = PLOT[1] - (order.length - 1 - at) * APART;
    found[i] = clamp(heights[i], least, room);
    least = found[i] + APART;
  });
  return found;
}

/** Drag a layer's dot up or down: the initialisation whose curve is nearest there is taken. */
function makeLift(dot, picture, place, hand, i) {
  const name = VARIES[i];
  const most = hand.inputs[name].max ?? 1;
  const isToggle = hand.inputs[name].kind === "toggle";
  set(dot, { r: 8 });
  const rowsNow = () => {
    const { curves, kinds } = hand.given;
    const first = Math.floor(kinds.length / 3) * hand.inputs.width.values.indexOf(hand.values.width);
    return Array.from({ length: most + 1 }, (_, value) =>
      curveOf(curves, first + value + (i === 1 ? 2 : 0)));
  };
  return slider(dot, picture, {
    label: `lift the ${NAMES[i]}`, grab: true, values: [...Array(most + 1).keys()],
    at: () => Number(hand.values[name]),
    go: value => hand.change({ [name]: isToggle ? value > 0 : value }),
    from({ y }) {
      const far = rowsNow().map(curve => Math.abs(place.y(Math.log10(curve[hand.values.distance])) - y));
      return far.indexOf(Math.min(...far));
    },
  });
}
