// One head, or two, with weights to drag, and what can be read from what they bring back.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { html, set } from "../../../course_utils/explorers/kit/svg.js";
import style from "./two_places.css";
import { makeBoard } from "./two_places.boards.js";
import { caption, compute } from "./two_places.compute.js";
import { makeHeads } from "./two_places.heads.js";

const WIDE = 740; // pixels from which heads and answers are next to each other
const HEADS = 350;
const GAP = 20;
const PRESSES = ["show the triangles", "hide the triangles"];
const HINTS = [
  "Drag the bars. Press a letter to change the text.",
  "A filled circle is a right answer. Press a letter or a circle to change the text; " +
    "drag ◇ to move the cuts.",
];

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const box = html("div", { class: "places" });
  stage.append(box);
  const heads = makeHeads(box, hand);
  const boards = ["cut_one", "cut_three"].map((name, index) => makeBoard(box, hand, name, index));
  const [press, hint] = [html("button", { type: "button", class: "places-turn" }), html("span")];
  press.addEventListener("click", () => hand.change({ triangle: !hand.values.triangle }));
  box.append(html("p", { class: "places-hint" }, press, hint));
  return (state, values) => {
    const isWide = hand.width >= WIDE;
    box.classList.toggle("places-wide", isWide);
    box.classList.toggle("places-plain", !values.triangle);
    set(press, { text: PRESSES[Number(values.triangle)] });
    set(hint, { text: HINTS[Number(values.triangle)] });
    const left = isWide ? hand.width - HEADS - GAP : hand.width;
    heads(values, isWide ? HEADS : Math.min(HEADS, hand.width));
    boards.forEach(draw => draw(state, values, Math.min(310, Math.floor((left - GAP) / 2))));
  };
}
