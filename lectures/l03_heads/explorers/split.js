// A matrix cut into heads, by the right split and by the wrong one; the memory below both.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { html } from "../../../course_utils/explorers/kit/svg.js";
import style from "./split.css";
import { caption, compute } from "./split.compute.js";
import { makeMemory } from "./split.memory.js";
import { makePanel } from "./split.panel.js";

const WIDE = 700; // pixels from which the two splits are next to each other
const GAP = 28;

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const box = html("div", { class: "split" });
  stage.append(box);
  const panels = [makePanel(box, hand, 0), makePanel(box, hand, 1)];
  const memory = makeMemory(box, hand);
  return (state, values) => {
    const isWide = hand.width >= WIDE;
    box.classList.toggle("split-wide", isWide);
    const width = isWide ? Math.floor((hand.width - GAP) / 2) : hand.width;
    panels.forEach(draw => draw(state, values, width));
    memory(state, hand.width);
  };
}
