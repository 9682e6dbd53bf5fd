// A GPT-2 block: its parts as a drawing, and below it what they cost.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { html } from "../../../course_utils/explorers/kit/svg.js";
import { makeBars } from "./block.bars.js";
import { caption, compute } from "./block.compute.js";
import style from "./block.css";
import { makeDrawing } from "./block.drawing.js";

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state, first the drawing, then the bars. */
function mount(stage, hand) {
  stage.parentElement.classList.add("block-body"); // the drawing needs the width: controls above
  const box = html("div", { class: "block" });
  stage.append(box);
  const near = key => [drawing, bars].forEach(each => each.light(key));
  const drawing = makeDrawing(box, hand, near);
  const bars = makeBars(box, hand, near, key => drawing.focus(key));
  return [state => drawing.draw(state, hand.width), state => bars.draw(state, hand.width)];
}
