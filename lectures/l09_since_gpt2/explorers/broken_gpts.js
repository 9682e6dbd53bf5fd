// Eight small panels of one GPT; grey behind them is the range of the sound ones.

import { chart } from "../../../course_utils/explorers/kit/chart.js";
import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { heatMap } from "../../../course_utils/explorers/kit/heat.js";
import { radios } from "../../../course_utils/explorers/kit/radios.js";
import picks from "../../../course_utils/explorers/kit/radios.css";
import { html } from "../../../course_utils/explorers/kit/svg.js";
import style from "./broken_gpts.css";

const SIDE = 24; // words of a map
const GAP = 16; // pixels between two panels
const HEIGHT = 212;
const EDGE = { left: 34, right: 15, top: 24, bottom: 40 };
const [MOST_LOSS, MOST_NORM] = [5.5, 1000];
const DECADES = [[0.1, "0.1"], [1, "1"], [10, "10"], [100, "100"], [1000, "1,000"]];

export default explorer({ mount, style: picks + style });

/** Build the panels; each of the functions returned draws one of them. */
function mount(stage, hand) {
  const element = html("div", { class: "gpts" });
  const letters = radios("GPT", hand.inputs.gpt.values, gpt => hand.change({ gpt }));
  stage.append(letters.element, element);
  const panel = () => element.appendChild(html("div", { class: "gpts-panel" }));
  const panels = [
    makeLoss(panel(), hand.given), makePositions(panel(), hand.given), makeReach(panel()),
    makeEntropy(panel(), hand.given), makeShift(panel(), hand.given),
    makeNorms(panel(), hand.given), makeLoad(panel(), hand.given), makeCosines(panel()),
  ];
  return panels.map((draw, i) => (state, values, theme) => {
    const columns = columnsIn(hand.width);
    if (i === 0) {
      element.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
      letters.show(values.gpt);
    }
    draw(state, Math.floor((hand.width - GAP * (columns - 1)) / columns), theme);
  });
}

const columnsIn = width => (width >= 800 ? 4 : width >= 340 ? 2 : 1);

/** A chart of a panel. */
const plotIn = (box, label, x, y, edge = {}) =>
  chart(box, { label, x, y: { label, ...y }, height: HEIGHT, edge: { ...EDGE, ...edge } });

/** What is larger than the chart is drawn at its edge. */
const atMost = (values, most) => Array.from(values, each => Math.min(each, most));

/** The range of the sound ones along a curve. */
function band(plot, name, xs, [lows, highs], most = Infinity) {
  const at = (values, i) => `${plot.atX(xs[i])} ${plot.atY(Math.min(values[i], most)).toFixed(1)}`;
  const up = xs.map((_, i) => at(highs, i));
  const down = xs.map((_, i) => at(lows, i)).reverse();
  plot.mark(name, "path", { class: "gpts-band", d: `M${[...up, ...down].join("L")}Z` });
}

/** The range of the sound ones at each of a few places. */
function ranges(plot, name, xs, [lows, highs]) {
  const wide = 0.32 * (plot.atX(1) - plot.atX(0));
  const d = xs.map((x, i) => {
    const [top, bottom] = [plot.atY(highs[i]) - 2, plot.atY(lows[i]) + 2]; // seen though it be thin
    return `M${plot.atX(x) - wide} ${top}h${2 * wide}V${bottom}h${-2 * wide}Z`;
  }).join("");
  plot.mark(name, "path", { class: "gpts-band", d });
}

const dots = (plot, name, xs, values, hollow) => xs.forEach((x, i) =>
  plot.dot(`${name} ${i}`, x, values[i], { r: 4, class: hollow ? "gpts-hollow" : "gpts-full" }));

function makeLoss(box, { bands, every }) {
  const steps = bands.loss[0].map((_, i) => every * (i + 0.5));
  const plot = plotIn(box, "training loss, nats", { label: "steps", domain: [0, 250],
    ticks: [0, 100, 200] }, { domain: [0, MOST_LOSS], ticks: [0, 1, 2, 3, 4, 5] });
  return (state, width) => {
    plot.fit(width);
    band(plot, "band", steps, bands.loss, MOST_LOSS);
    plot.line("loss", steps, atMost(state.loss, MOST_LOSS), { class: "gpts-line" });
  };
}

function makePositions(box, { bands, bin, length }) {
  const places = bands.one_pass[0].map((_, i) => bin * (i + 0.5));
  const plot = plotIn(box, "loss on new stories", { label: "position in the row",
    domain: [0, 2 * length], ticks: [0, length, 2 * length] },
  { domain: [0, MOST_LOSS], ticks: [0, 1, 2, 3, 4, 5] });
  return (state, width) => {
    plot.fit(width);
    band(plot, "band", places, bands.one_pass, MOST_LOSS);
    plot.line("pass", places, atMost(state.one_pass, MOST_LOSS), { class: "gpts-line" });
    plot.line("words", places, atMost(state.word_by_word, MOST_LOSS), { class: "gpts-dashed" });
  };
}

function makeEntropy(box, { bands }) {
  const heads = bands.entropy[0].map((_, i) => i);
  const plot = plotIn(box, "entropy of weights", { label: "heads of both blocks",
    domain: [-0.6, 7.6], ticks: heads.map(each => [each, String((each % 4) + 1)]) },
  { domain: [0, 4.4], ticks: [0, 1, 2, 3, 4] });
  return (state, width) => {
    plot.fit(width);
    ranges(plot, "trained", heads, bands.entropy);
    ranges(plot, "untrained", heads, bands.entropy_start);
    dots(plot, "start", heads, state.entropy_start, true);
    dots(plot, "end", heads, state.entropy, false);
  };
}

function makeShift(box, { bands, shifts }) {
  const plot = plotIn(box, "weight that moves", { label: "all positions + …",
    domain: [-0.3, 6.3], scale: Math.log2, ticks: [1, 4, 16, 64] },
  { domain: [0, 1], ticks: [[0, "0"], [0.5, "50 %"], [1, "100 %"]] }, { left: 48 });
  return (state, width) => {
    plot.fit(width);
    band(plot, "band", shifts, bands.shift);
    plot.line("shift", shifts, state.shift, { class: "gpts-line" });
  };
}

function makeNorms(box, { bands, readers }) {
  const places = readers.map((_, i) => i);
  const named = ["att", "ffn", "att", "moe", "out"];
  const ticksIn = width => places.map(each => [each, width < 200 ? String(each + 1) : named[each]]);
  const plot = plotIn(box, "length of inputs", { label: "of each part, in order",
    domain: [-0.5, 4.5], ticks: [] },
  { domain: [-1, 3], scale: Math.log10, ticks: DECADES }, { left: 48 });
  return (state, width) => {
    plot.fit(width, { x: { ...plot.x, ticks: ticksIn(width) } });
    ranges(plot, "trained", places, bands.norms);
    ranges(plot, "untrained", places, bands.norms_start);
    dots(plot, "start", places, atMost(state.norms_start, MOST_NORM), true);
    dots(plot, "end", places, atMost(state.norms, MOST_NORM), false);
  };
}

function makeLoad(box, { bands }) {
  const experts = bands.load[0].map((_, i) => i);
  const plot = plotIn(box, "words per expert", { label: "experts, busiest first",
    domain: [-0.6, 3.6], ticks: experts.map(each => [each, String(each + 1)]) },
  { domain: [0, 1], ticks: [[0, "0"], [0.5, "50 %"], [1, "100 %"]] }, { left: 48 });
  return (state, width) => {
    plot.fit(width);
    plot.bars("load", state.load, { class: "gpts-bars" });
    ranges(plot, "band", experts, bands.load);
  };
}

/** A map under its name, with words for both sides. */
function mapIn(box, label, rows, columns) {
  const map = heatMap(box, label);
  box.prepend(html("p", { class: "gpts-name" }, label));
  box.append(html("p", { class: "gpts-sides" }, `${rows} ↓  ${columns} →`));
  return (values, width, colour) => {
    const side = Math.min(width - 8, HEIGHT - EDGE.top - EDGE.bottom + 16);
    map.draw(values, SIDE, SIDE, side, side, colour);
  };
}

function makeReach(box) {
  const draw = mapIn(box, "an output depends on …", "output", "input");
  return (state, width, theme) => draw(state.reach, width, each => theme.weight(each / 255));
}

function makeCosines(box) {
  const draw = mapIn(box, "cosines, −1 to 1", "input", "last matrix");
  return (state, width, theme) => draw(state.cosines, width, each => theme.signed(each));
}
