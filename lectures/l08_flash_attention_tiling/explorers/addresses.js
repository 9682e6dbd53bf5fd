// A tile over a matrix, its table of places, and the memory as one long row.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { draggable, stepsOf } from "../../../course_utils/explorers/kit/hand.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import style from "./addresses.css";
import { BLOCK, caption, COLUMNS, compute, ROWS } from "./addresses.compute.js";
import { makeMemory } from "./addresses.memory.js";
import { makeTable } from "./addresses.table.js";

const SIDE = 27; // pixels of a number
const [LEFT, TOP] = [2, 22];
const WIDE = LEFT + (COLUMNS + BLOCK - 1) * SIDE + 4;
const HIGH = TOP + (ROWS + BLOCK - 1) * SIDE + 4;

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const box = html("div", { class: "addr" });
  stage.append(box);
  const draws = [makeMatrix(box, hand), makeTable(box, hand), makeMemory(box)];
  return state => draws.forEach(draw => draw(state, hand.width));
}

/** The matrix, with the tile's frame that is dragged over it. */
function makeMatrix(box, hand) {
  const cells = Array.from({ length: ROWS * COLUMNS }, (_, n) => {
    const [x, y] = [LEFT + (n % COLUMNS) * SIDE, TOP + Math.floor(n / COLUMNS) * SIDE];
    const text = svg("text", { class: "addr-place", x: x + SIDE / 2, y: y + SIDE / 2 + 4 });
    return { text, rect: svg("rect", { class: "addr-cell", x, y, width: SIDE, height: SIDE }) };
  });
  const size = BLOCK * SIDE;
  const frame = svg("rect", { class: "addr-frame", width: size, height: size, rx: 3, role: "slider", tabindex: 0,
    "data-grab": "shared", "aria-label": "tile: rows by up and down, columns by left and right",
    "aria-valuemin": 0, "aria-valuemax": ROWS - 1 });
  const drawing = svg("svg", { width: WIDE, height: HIGH, role: "group", "aria-label": "the matrix" },
    svg("text", { class: "addr-title", x: LEFT, y: 14 }, "matrix, 7 × 6"),
    ...cells.flatMap(({ rect, text }) => [rect, text]), frame);
  box.append(drawing);
  const go = (row, column) => hand.change({ row: hand.clamp("row", row), column: hand.clamp("column", column) });
  let held = [0, 0];
  const at = ({ x, y }) => [(y - TOP) / SIDE, (x - LEFT) / SIDE];
  draggable(frame, drawing, {
    start: place => { held = at(place).map((each, i) => each - [hand.values.row, hand.values.column][i]); },
    move: place => go(...at(place).map((each, i) => Math.round(each - held[i]))),
  });
  frame.addEventListener("keydown", event => {
    const by = Math.sign(stepsOf(event));
    if (!by) return;
    event.preventDefault();
    const isAcross = ["ArrowLeft", "ArrowRight"].includes(event.key);
    const { row, column } = hand.values;
    go(isAcross ? row : row - by, isAcross ? column + by : column);
  });
  return ({ rows, columns, places, exists, used, stride, entry }) => {
    const [taken, wrong] = [true, false].map(its =>
      new Set(places.filter((_, n) => used[n] && exists[n] === its)));
    cells.forEach(({ rect, text }, n) => {
      const place = Math.floor(n / COLUMNS) * stride + (n % COLUMNS);
      set(text, { text: place });
      rect.classList.toggle("addr-taken", taken.has(place));
      rect.classList.toggle("addr-wrong", wrong.has(place));
      rect.classList.toggle("addr-followed", used[entry] && place === places[entry]);
    });
    set(frame, { x: LEFT + columns[0] * SIDE, y: TOP + rows[0] * SIDE, "aria-valuenow": rows[0],
      "aria-valuetext": `first row ${rows[0]}, first column ${columns[0]}` });
  };
}
