// Attention under the roof of a GPU: points that are dragged along it, and one SM with a tile.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { chart } from "../../../course_utils/explorers/kit/chart.js";
import { html, set } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import style from "./roofline.css";
import { makeChip } from "./roofline.chip.js";
import { caption, compute, teraflops } from "./roofline.compute.js";
import { CHIP, makePoints } from "./roofline.points.js";

const NARROW = 640;
const LEAST = [0.6, 7e11];
const MOST = [6e4, 4e15];
const BESIDE = 8; // pixels between a line and its name
const ABOVE = 13; // where a point may come in between
const log = Math.log10;
let count = 0;

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const choices = makeChoices(hand);
  const box = html("div", { class: "roof" });
  const plot = chart(box, {
    label: "FLOPs a byte and FLOP/s",
    height: 404,
    edge: { left: 46, top: 28 },
    x: { label: "FLOPs in matrix products, per byte moved", scale: log, domain: [log(LEAST[0]), log(MOST[0])],
      ticks: [1, 10, 100, 1000, [1e4, "10,000"]] },
    y: { label: "TFLOP/s at best", scale: log, domain: [log(LEAST[1]), log(MOST[1])],
      ticks: [[1e12, "1"], [1e13, "10"], [1e14, "100"], [1e15, "1,000"]] },
  });
  set(plot.svg, { role: "group" });
  const points = makePoints(plot, hand);
  const chip = makeChip(box, hand);
  stage.append(choices.row, box);
  return (state, values) => {
    const isNarrow = hand.width < NARROW;
    box.classList.toggle("roof-narrow", isNarrow);
    choices.show(values);
    plot.fit(hand.width);
    drawRoof(plot, state, values, isNarrow);
    points.draw(state, values, isNarrow);
    chip.draw(state, values);
  };
}

/** The three roofs, each with its name along it. */
function drawRoof(plot, state, { width }, isNarrow) {
  const { bandwidth, tensor, exps, intensity, decoding } = state;
  const ridge = tensor / bandwidth;
  plot.line("ridge", [ridge, ridge], [LEAST[1], tensor], { class: "roof-ridge" });
  const isCovered = plot.atX(ridge) + 118 > plot.inner.right - CHIP.wide;
  const foot = { dy: -BESIDE, class: "roof-side" };
  plot.text("left", ridge, LEAST[1], isNarrow ? "memory" : `memory limits up to ${number(ridge)}`, { ...foot, dx: -8, "text-anchor": "end" });
  plot.text("right", ridge, LEAST[1], isNarrow ? "arithmetic" : isCovered ? "" : "arithmetic limits", { ...foot, dx: 8 });
  plot.line("exps", [exps / bandwidth, MOST[0]], [exps, exps], { class: "roof-exps" });
  plot.line("roof", [LEAST[0], ridge, MOST[0]], [LEAST[0] * bandwidth, tensor, tensor], { class: "roof-line" });
  const level = { dy: -ABOVE, "text-anchor": "end", class: "roof-name" };
  plot.text("tensor name", MOST[0], tensor, isNarrow ? "tensor cores" : `tensor cores ${teraflops(tensor)} TFLOP/s`, level);
  plot.text("exps name", Math.max(ridge, exps / bandwidth), exps, isNarrow ? "exps" : `exps, heads ${width} wide`,
    { dx: 10, dy: -ABOVE, class: "roof-name" });
  // The point of decoding comes here; the name goes on beyond it.
  const from = decoding && intensity[3] < 3 ? 1.8 * intensity[3] : 1.1 * LEAST[0];
  const [x, y] = [plot.atX(from), plot.atY(from * bandwidth)];
  const slope = -Math.atan2(plot.atY(1e12) - plot.atY(1e13), plot.atX(10) - plot.atX(1));
  const words = `${isNarrow ? "" : "memory "}${(bandwidth / 1e12).toFixed(2)} TB/s`;
  set(plot.text("memory name", 1, 1e12, words, { class: "roof-name" }), { x: 0, y: -BESIDE,
    transform: `translate(${x} ${y}) rotate(${(slope * 180) / Math.PI})` });
}

/** The GPUs as radio buttons. */
function makeChoices(hand) {
  const name = `roof-gpu-${(count += 1)}`;
  const radios = hand.inputs.gpu.values.map(gpu => {
    const radio = html("input", { type: "radio", name, value: gpu });
    radio.addEventListener("change", () => hand.change({ gpu }));
    return { radio, label: html("label", {}, radio, html("span", {}, gpu)) };
  });
  const named = { class: "roof-gpus", role: "radiogroup", "aria-label": hand.inputs.gpu.label };
  return { row: html("div", named, ...radios.map(each => each.label)), show(values) {
    radios.forEach(({ radio }) => { radio.checked = radio.value === values.gpu; });
  } };
}
