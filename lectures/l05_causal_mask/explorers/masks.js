// A mask to paint, and the paths that it opens from the words to an output.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { html } from "../../../course_utils/explorers/kit/svg.js";
import style from "./masks.css";
import { TEXTS, caption, compute } from "./masks.compute.js";
import { CELLS, makeGrid } from "./masks.grid.js";
import { makePaths } from "./masks.paths.js";

const WIDE = 740; // pixels from which grid and layers stand next to each other
const MOST = 42; // pixels of a cell
const BETWEEN = 36;
const LOW = 300; // pixels of the layers under the grid

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const box = html("div", { class: "mask" });
  stage.append(box);
  const all = [...hand.values.mask.keys()];
  const grid = makeGrid(box, hand, all, pair => paths.point(pair));
  const paths = makePaths(box, hand, all);
  return (state, values) => {
    const isWide = hand.width >= WIDE;
    const side = Math.min(MOST, Math.floor((hand.width - CELLS.left) / all.length));
    const width = CELLS.left + all.length * side;
    box.classList.toggle("mask-wide", isWide);
    const words = TEXTS[values.text];
    grid(state, words, side);
    paths.draw(state, words, {
      width: isWide ? hand.width - width - BETWEEN : width,
      height: isWide ? CELLS.top + all.length * side : LOW,
    });
  };
}
