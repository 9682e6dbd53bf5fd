// LoRA's thin matrices, what they learn and forget, and the singular values of a full change.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { html } from "../../../course_utils/explorers/kit/svg.js";
import style from "./ranks.css";
import { makeGains } from "./ranks.gains.js";
import { makeMatrices } from "./ranks.matrices.js";
import { makeSpectrum } from "./ranks.spectrum.js";

const WIDE = 760; // pixels from which two columns fit
const GAP = 40;

export default explorer({ mount, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const ranks = hand.inputs.rank.values;
  const rank = {
    all: ranks,
    go: index => hand.change({ rank: ranks[clamp(index, 0, ranks.length - 1)] }),
    /** The rank that is nearest, by ratio. */
    near: value => ranks[clamp(Math.round(Math.log2(Math.max(value, 0.5))), 0, ranks.length - 1)],
  };
  const parts = [makeMatrices(hand, rank), makeGains(hand, rank), makeSpectrum(hand, rank)];
  const [left, right] = [html("div", {}), html("div", {})];
  left.append(parts[0].element, parts[2].chart);
  right.append(parts[1].element, parts[2].grid);
  const box = html("div", { class: "lora" }, left, right);
  stage.append(box);
  return (state, values, theme) => {
    const isWide = hand.width >= WIDE;
    box.classList.toggle("lora-wide", isWide);
    const width = isWide ? Math.floor((hand.width - GAP) / 2) : hand.width;
    for (const part of parts) part.show(state, width, theme);
  };
}
