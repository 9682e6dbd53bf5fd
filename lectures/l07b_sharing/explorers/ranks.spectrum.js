// The singular values of one matrix's full change, with a cut to drag; all matrices in a grid.

import { chart } from "../../../course_utils/explorers/kit/chart.js";
import { focusOn, handle } from "../../../course_utils/explorers/kit/hand.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";

const HEIGHT = 196;
const NARROW = 420; // pixels of width under which the chart is lower
const PALE = 0.5; // so that ink is read on every cell
const STEPS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };

export function makeSpectrum(hand, rank) {
  const { spectra } = hand.given;
  const [, count] = spectra.shape;
  const box = html("div", {});
  const plot = chart(box, {
    label: "singular values",
    x: { label: "singular values, largest first", domain: [0, Math.log2(count + 1)],
      scale: value => Math.log2(value),
      ticks: [1, 2, 4, 8, 16, 32, 64, 128].map(each =>
        [Math.sqrt(each * (each + 1)), String(each)]) }, // the middle of its bar
    y: { label: "", domain: [0, 1.06], ticks: [] },
    edge: { left: 2, right: 14, top: 6, bottom: 42 },
  });
  set(plot.svg, { role: "group" });
  const line = svg("path", { class: "lora-cutline" });
  const knob = svg("rect", { class: "lora-knob", width: 8, height: 34, rx: 4 });
  const room = svg("rect", { class: "lora-room", width: 38 });
  const edge = svg("g", { class: "lora-edge" }, room, line, knob);
  plot.svg.append(edge);
  const hear = handle(edge, plot.svg, hand, "rank",
    { label: "rank of the cut", from: ({ x }) => rank.near(2 ** plot.xAt.inverse(x) - 1) });
  const title = html("p", { class: "lora-title" });
  const grid = makeGrid(hand);
  const bars = (from, to, values) => {
    let d = "";
    for (let i = from; i < to; i += 1) {
      const [left, right] = [plot.atX(i + 1), plot.atX(i + 2)];
      const gap = Math.min(1, (right - left) / 5);
      d += `M${left.toFixed(1)} ${plot.atY(0)}V${plot.atY(values[i] / values[0]).toFixed(1)}` +
        `H${(right - gap).toFixed(1)}V${plot.atY(0)}Z`;
    }
    return d;
  };
  const show = (state, width, theme) => {
    plot.fit(width, { height: width < NARROW ? 158 : HEIGHT });
    const at = hand.inputs.matrix.values.indexOf(state.matrix);
    const row = state.block * hand.inputs.matrix.values.length + at;
    const values = spectra.subarray(row * count, (row + 1) * count);
    plot.mark("kept", "path", { class: "lora-kept", d: bars(0, state.rank, values) });
    plot.mark("rest", "path", { class: "lora-rest", d: bars(state.rank, count, values) });
    const x = plot.atX(state.rank + 1);
    const { top, bottom } = plot.inner;
    set(line, { d: `M${x} ${top}V${bottom}` });
    set(knob, { x: x - 4, y: top + 34 });
    set(room, { x: x - 19, y: top, height: bottom - top });
    const share = `${number(100 * state.energy)} %`;
    plot.text("share", state.rank + 1, 1, `${share} of the ${width < 420 ? "" : "sum of "}squares`,
      { dx: state.rank > 8 ? -14 : 14, dy: 12, class: "lora-share",
        "text-anchor": state.rank > 8 ? "end" : "start" });
    title.replaceChildren("a full fine-tune instead: its change in ",
      html("b", {}, `${state.matrix}, block ${state.block}`));
    hear(`${state.rank}, ${share}`);
    grid.show(state, theme);
  };
  return { chart: html("div", {}, title, box), grid: grid.element, show };
}

/** All matrices: the share that the rank holds of each change. */
function makeGrid(hand) {
  const { block: { values: blocks }, matrix: { values: matrices } } = hand.inputs;
  const cells = blocks.map(block => matrices.map(matrix => {
    const cell = html("button", { type: "button", role: "radio" });
    cell.addEventListener("click", () => hand.change({ block, matrix }));
    return cell;
  }));
  const element = html("div", { class: "lora-grid", role: "radiogroup",
    "aria-label": "matrix of a block" }, html("span", {}),
  ...matrices.map(each => html("span", {}, each)),
  ...blocks.flatMap((block, b) => [html("span", { class: "lora-row" }, `block ${block}`),
    ...cells[b]]));
  element.addEventListener("keydown", event => {
    const by = event.altKey || event.metaKey ? undefined : STEPS[event.key];
    if (!by) return;
    event.preventDefault();
    const { block, matrix } = hand.values;
    const b = (blocks.indexOf(block) + by[0] + blocks.length) % blocks.length;
    const m = (matrices.indexOf(matrix) + by[1] + matrices.length) % matrices.length;
    hand.change({ block: blocks[b], matrix: matrices[m] });
    focusOn(cells[b][m]);
  });
  const show = ({ energies, block, matrix }, theme) => cells.forEach((row, b) =>
    row.forEach((cell, m) => {
      const share = energies[b * matrices.length + m];
      const isOn = blocks[b] === block && matrices[m] === matrix;
      set(cell, { text: `${number(100 * share)} %` });
      cell.style.backgroundColor = theme.weight(share * PALE);
      set(cell, { "aria-checked": String(isOn), tabindex: isOn ? 0 : -1,
        "aria-label": `${matrices[m]}, block ${blocks[b]}: ${number(100 * share)} %` });
    }));
  const title = html("p", { class: "lora-title" }, "the rank's share of each full change ",
    html("span", {}, "choose a matrix"));
  return { element: html("div", {}, title, element), show };
}
