// One head, or two, with weights to drag, and what can be read from what they bring back.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { html } from "../../../course_utils/explorers/kit/svg.js";
import style from "./two_places.css";
import { makeBoard } from "./two_places.boards.js";
import { caption, compute } from "./two_places.compute.js";
import { makeHeads } from "./two_places.heads.js";

const WIDE = 740; // pixels from which heads and answers are next to each other
const HEADS = 350;
const GAP = 20;

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const box = html("div", { class: "places" });
  stage.append(box);
  const heads = makeHeads(box, hand);
  const boards = ["cut_one", "cut_three"].map((name, index) => makeBoard(box, hand, name, index));
  box.append(html("p", { class: "places-hint" }, "A filled circle is a right answer. Press a letter or a ",
    "circle to change the text; drag ◇ to move the cuts."));
  return (state, values) => {
    const isWide = hand.width >= WIDE;
    box.classList.toggle("places-wide", isWide);
    const left = isWide ? hand.width - HEADS - GAP : hand.width;
    heads(values, isWide ? HEADS : Math.min(HEADS, hand.width));
    boards.forEach(draw => draw(state, values, Math.min(310, Math.floor((left - GAP) / 2))));
  };
}
