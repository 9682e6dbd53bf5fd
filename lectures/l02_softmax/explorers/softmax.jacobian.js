// The Jacobian as a signed map, and its norm as a hill on which the temperature is dragged.

import { chart } from "../../../course_utils/explorers/kit/chart.js";
import { handle, placeIn, pointing } from "../../../course_utils/explorers/kit/hand.js";
import { heatMap } from "../../../course_utils/explorers/kit/heat.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import { SHARPNESS } from "./softmax.compute.js";

const STEEPEST = 0.25; // p (1 − p) and p q are at most ¼; a temperature below 1 makes more of it
const [LEFT, TOP, SCALE] = [30, 38, 66]; // pixels beside the map: names of rows, columns, colours
const TALLEST = 212;
const HILL = 124;
const HEIGHTS = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2.5, 5]; // of the hill; ½ over 0.1 is the most

/** The root that keeps the sign: small entries stay in sight beside large ones. */
const rooted = value => Math.sign(value) * Math.sqrt(Math.min(Math.abs(value) / STEEPEST, 1));

/** `point` tells which cell is pointed at; draw(state, theme, width), light(pointed). */
export function makeJacobian(box, point) {
  const holder = html("div", { class: "soft-map" });
  box.append(holder);
  const map = heatMap(holder, "gains: a row for each weight, a column for each score");
  const bar = heatMap(holder, "colours of the gains, by the root of their size");
  const over = svg("svg", { "aria-hidden": "true" });
  const [rows, columns] = ["row", "column"].map(() => svg("rect", { class: "soft-frame" }));
  const [texts, edge] = [svg("g"), svg("rect", { class: "soft-edge", x: LEFT, y: TOP })];
  over.append(texts, edge, rows, columns);
  holder.append(over);
  let [side, count] = [0, 16];

  const label = (x, y, words, anchor = "middle", kind = "") =>
    svg("text", { x, y, "text-anchor": anchor, class: kind }, words);
  const layOut = width => {
    side = Math.min(width - LEFT - SCALE, TALLEST);
    const cell = side / count;
    set(over, { width, height: TOP + side + 4 });
    set(edge, { width: side, height: side });
    holder.style.height = `${TOP + side + 4}px`;
    const at = key => (key + 0.5) * cell;
    const keys = [0, 5, 10, 15].flatMap(key => [
      label(LEFT + at(key), TOP - 5, String(key)), label(LEFT - 6, TOP + at(key) + 4, String(key), "end"),
    ]);
    const x = LEFT + side + 24;
    const marks = [["≥ ¼", 0], ["0.06", 0.25], ["0", 0.5], ["−0.06", 0.75], ["≤ −¼", 1]].map(
      ([words, share]) => label(x, clamp(TOP + share * side + 4, TOP + 10, TOP + side), words, "start"));
    texts.replaceChildren(...keys, ...marks,
      label(0, 12, "gain of weight (row) per point of score (column)", "start", "ce-axis"));
  };
  const paintScale = theme => {
    const ramp = Array.from({ length: 65 }, (_, i) => 1 - i / 32);
    bar.draw(ramp, 65, 1, 12, side, theme.signed);
    Object.assign(map.canvas.style, { left: `${LEFT}px`, top: `${TOP}px` });
    Object.assign(bar.canvas.style, { left: `${LEFT + side + 8}px`, top: `${TOP}px` });
  };
  let drawn = {};
  const draw = ({ jacobian, weights }, theme, width) => {
    count = weights.length;
    if (drawn.width !== width) layOut(width);
    if (drawn.width !== width || drawn.theme !== theme) paintScale(theme);
    drawn = { width, theme };
    map.draw(jacobian, count, count, side, side, value => theme.signed(rooted(value)));
  };
  const light = ({ score, weight }) => {
    const cell = side / count;
    const row = weight ?? score;
    set(columns, { x: LEFT + (score ?? 0) * cell, y: TOP, width: cell, height: side });
    set(rows, { x: LEFT, y: TOP + (row ?? 0) * cell, width: side, height: cell });
    for (const each of [rows, columns]) each.classList.toggle("soft-gone", score === undefined);
  };
  pointing(over, event => {
    const { x, y } = placeIn(holder, event);
    const [score, weight] = [x - LEFT, y - TOP].map(each => Math.floor((each / side) * count));
    const inside = [score, weight].every(each => each >= 0 && each < count);
    point(inside ? { score, weight } : {});
  }, () => point());
  return { draw, light };
}

/** The norm over the largest weight, at every temperature; the dot is dragged along. */
export function makeHill(box, hand) {
  const hill = chart(box, { label: "strength of the reaction over the largest weight", height: HILL,
    edge: { left: 36, right: 12, top: 24, bottom: 24 },
    x: { label: "", domain: [0, 1], ticks: [[0, "0"], [0.5, "largest weight"], [1, "1"]] },
    y: { label: "", domain: [0, 1], ticks: [] } });
  set(hill.svg, { role: "group" });
  const dot = svg("g", { class: "soft-dot ce-eased" },
    svg("circle", { class: "soft-reach", r: 20 }), svg("circle", { r: 9 }),
    svg("path", { d: "M-2 -3L-5 0L-2 3M2 -3L5 0L2 3" }));
  let path = [];
  const from = ({ x, y }) => {
    const count = SHARPNESS.length;
    const off = SHARPNESS.map((_, i) =>
      Math.hypot(hill.atX(path[i]) - x, hill.atY(path[count + i]) - y));
    return 1 / SHARPNESS[off.indexOf(Math.min(...off))];
  };
  const hear = handle(dot, hill.svg, hand, "temperature", { label: "temperature, along the strength", from });
  const draw = (state, values, width) => {
    path = state.path;
    const count = SHARPNESS.length;
    const [largest, norms] = [path.slice(0, count), path.slice(count)];
    const top = HEIGHTS.find(each => Math.max(...norms, state.norm) <= each + 1e-9);
    hill.fit(width, { y: { label: "strength, at any temperature", domain: [0, 1.04 * top],
      ticks: [0, top] } });
    hill.line("path", largest, norms, { class: "soft-path" });
    if (!dot.isConnected) hill.svg.append(dot);
    dot.style.transform = `translate(${hill.atX(state.largest)}px, ${hill.atY(state.norm)}px)`;
    hear(`temperature ${number(values.temperature, 1)}, strength ${number(state.norm, 3)}`);
  };
  return { draw };
}
