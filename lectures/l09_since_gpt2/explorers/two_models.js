// What two models keep against the length of a text; their layers; the work for a token.

import { chart } from "../../../course_utils/explorers/kit/chart.js";
import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { handle } from "../../../course_utils/explorers/kit/hand.js";
import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { caption, compute, short, sizeOf, workOf } from "./two_models.compute.js";
import style from "./two_models.css";

const SIDES = ["one", "other"];
const [LEAST, MOST] = [6.5, 14]; // powers of ten of the axis of bytes
const TICKS = [[8, "100 MB"], [10, "10 GB"], [12, "1 TB"], [14, "100 TB"]];
const HEIGHT = 262;
const ROW = 74; // pixels of a model below the chart
const APART = 15; // pixels between two labels
const NARROW = 560;
const LAYERS = 126; // of the deepest model
const KINDS = { full: "all tokens", window: "a window", latent: "a thin vector", state: "a state" };

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const drawn = chart(stage, {
    label: "bytes kept over the length of a text",
    height: HEIGHT,
    edge: { left: 58, right: 20 },
    x: { label: "length of a text, tokens (1k = 1,024)", domain: [9, 20], scale: Math.log2, ticks: [] },
    y: { label: "bytes kept of all texts; dashed: the weights", domain: [LEAST, MOST], ticks: TICKS },
  });
  set(drawn.svg, { role: "group" });
  const below = svg("svg", { height: 2 * ROW + 22, role: "img", "aria-label": "layers and work" });
  stage.append(below);
  const length = makeHandle(drawn, hand);
  return state => {
    const isNarrow = hand.width < NARROW;
    const ticks = state.lengths.filter((_, i) => !isNarrow || i % 3 === 1);
    drawn.fit(hand.width, { x: { ...drawn.x, ticks: ticks.map(each => [each, short(each)]) } });
    drawCurves(drawn, state, length.layer);
    length.draw(state);
    drawBelow(below, state, hand.width);
  };
}

const high = bytes => Math.min(Math.max(Math.log10(bytes), LEAST), MOST);

/** The curves and the weights, below the handle. */
function drawCurves(drawn, state, handleLayer) {
  SIDES.forEach((side, i) => {
    drawn.line(`curve-${side}`, state.lengths, state.curves[i].map(high),
      { class: `ce-line models-${side}`, "stroke-width": 2.4 });
    const weights = high(state.weights[i]);
    drawn.line(`weights-${side}`, [state.lengths[0], state.lengths.at(-1)], [weights, weights],
      { class: `ce-line models-weights models-${side}` });
  });
  drawn.layer.append(handleLayer); // over the lines
}

/** Move two labels apart; the one of the larger number is above. */
function apart(places, numbers) {
  const [upper, lower] = numbers[0] >= numbers[1] ? [0, 1] : [1, 0];
  const missing = APART - (places[lower] - places[upper]);
  if (missing > 0) {
    places[upper] -= missing / 2;
    places[lower] += missing / 2;
  }
}

/** The line at the chosen length, with a dot on each curve. */
function makeHandle(drawn, hand) {
  const layer = svg("g", { class: "models-handle" });
  const reach = svg("rect", { class: "models-reach", x: -22, width: 44 });
  const line = svg("path", { class: "models-drop" });
  const dots = SIDES.map(side => svg("circle", { class: `models-dot-${side}`, r: 8 }));
  const labels = SIDES.map(side => svg("text", { class: `models-label models-label-${side}` }));
  const arrow = svg("path", { class: "models-arrow", d: "M-4 -4L-8 0L-4 4M4 -4L8 0L4 4" });
  layer.append(reach, line, arrow, ...dots, ...labels);
  const hear = handle(layer, drawn.svg, hand, "length", {
    label: "length of a text", anywhere: true,
    from: ({ x }) => 2 ** (9 + (11 * (x - drawn.inner.left)) / (drawn.inner.right - drawn.inner.left)),
  });
  const draw = state => {
    const { inner } = drawn;
    const x = drawn.atX(state.length);
    layer.style.transform = `translateX(${x}px)`;
    layer.classList.add("ce-eased");
    set(reach, { y: inner.top, height: inner.bottom - inner.top });
    set(line, { d: `M0 ${inner.top}V${inner.bottom}` });
    set(arrow, { transform: `translate(0 ${inner.bottom - 8})` });
    const isRight = x > (inner.left + inner.right) / 2;
    const places = state.kept.map(each => drawn.atY(high(each)) + 5);
    apart(places, state.kept);
    SIDES.forEach((_, i) => {
      set(dots[i], { cy: drawn.atY(high(state.kept[i])) });
      set(labels[i], { x: isRight ? -14 : 14, y: places[i] - 8, "text-anchor": isRight ? "end" : "start",
        text: sizeOf(state.kept[i]) });
    });
    hear(`${short(state.length)} tokens, ${state.kept.map(sizeOf).join(" and ")}`);
  };
  return { layer, draw };
}

/** For each model its layers as squares, and the work for a token as a bar. */
function drawBelow(below, state, width) {
  set(below, { width, viewBox: `0 0 ${width} ${2 * ROW + 22}` });
  const most = Math.max(...state.work.map(([weights, kept]) => weights + kept));
  const rows = SIDES.map((side, i) => {
    const [weights, kept] = state.work[i];
    const row = svg("g", { class: `models-stack-${side}`, transform: `translate(0 ${i * ROW})` });
    const words = `${state.names[i]}: ${state.stacks[i].length} layers, weights ${sizeOf(state.weights[i])}`;
    row.append(svg("text", { class: "models-name", x: 0, y: 14 }, words), ...layersOf(state.stacks[i], width));
    const scale = each => (each / most) * (width - 2);
    row.append(
      svg("rect", { class: `models-work-${side}`, x: 0, y: 36, height: 14, width: scale(weights) }),
      svg("rect", { class: `models-work-${side} models-pale`, x: scale(weights), y: 36, height: 14,
        width: scale(kept) }),
      svg("text", { x: 0, y: 64 }, width < NARROW
        ? `weights ${workOf(weights)}, kept ${workOf(kept)}`
        : `a token: ${workOf(weights)} with the weights, ${workOf(kept)} with what is kept`));
    return row;
  });
  below.replaceChildren(...rows, legend(state, 2 * ROW + 14));
}

function layersOf(stack, width) {
  const step = Math.min((width - 2) / LAYERS, 7);
  return stack.map((kind, i) =>
    svg("rect", { class: `models-${kind}`, x: i * step, y: 20, width: step * 0.8, height: 9 }));
}

/** What the colours of the layers mean, of those that are there. */
function legend(state, y) {
  const kinds = Object.keys(KINDS).filter(kind => state.stacks.some(stack => stack.includes(kind)));
  let x = 0;
  const parts = kinds.flatMap(kind => {
    const words = svg("text", { x: x + 13, y }, KINDS[kind]);
    const square = svg("rect", { class: `models-${kind}`, x, y: y - 9, width: 9, height: 9 });
    x += 28 + 7 * KINDS[kind].length;
    return [square, words];
  });
  return svg("g", {}, ...parts);
}
