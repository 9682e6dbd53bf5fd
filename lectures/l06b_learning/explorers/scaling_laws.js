// Scaling laws: a plane of models and data, and the loss along a budget.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { html } from "../../../course_utils/explorers/kit/svg.js";
import style from "./scaling_laws.css";
import { caption, compute } from "./scaling_laws.compute.js";
import { makePlane } from "./scaling_laws.plane.js";
import { makeValley } from "./scaling_laws.valley.js";

const WIDE = 760; // pixels from which plane and valley are next to each other

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const left = html("div");
  const right = html("div");
  const box = html("div", { class: "laws" }, left, right);
  stage.append(box);
  const plane = makePlane(left, hand);
  const valley = makeValley(right, hand);
  return (state, values) => {
    const isWide = hand.width >= WIDE;
    box.classList.toggle("laws-wide", isWide);
    const width = isWide ? Math.floor((hand.width - 24) * 0.56) : hand.width;
    plane.draw(state, values, width);
    valley.draw(state, values, isWide ? hand.width - 24 - width : hand.width);
  };
}
