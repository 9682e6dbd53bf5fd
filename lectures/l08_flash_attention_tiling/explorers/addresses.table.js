// The tile as the program has it: a column of rows, a row of columns, and their table of places.

import { handle } from "../../../course_utils/explorers/kit/hand.js";
import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { BLOCK } from "./addresses.compute.js";

const [ACROSS, DOWN] = [40, 30];
const [LEFT, TOP] = [74, 64];

export function makeTable(box, hand) {
  const label = attributes => svg("text", { class: "addr-index", ...attributes });
  const across = [...Array(BLOCK).keys()].map(j => label({ x: LEFT + (j + 0.5) * ACROSS, y: TOP - 8 }));
  const down = [...Array(BLOCK).keys()].map(i => label({ x: LEFT - 18, y: TOP + i * DOWN + 20 }));
  const cells = Array.from({ length: BLOCK * BLOCK }, (_, n) => {
    const [x, y] = [LEFT + (n % BLOCK) * ACROSS, TOP + Math.floor(n / BLOCK) * DOWN];
    const rect = svg("rect", { class: "addr-cell", x, y, width: ACROSS, height: DOWN });
    const text = svg("text", { class: "addr-entry", x: x + ACROSS / 2, y: y + 20 });
    const cross = svg("path", { class: "addr-cross", d: `M${x + 5} ${y + DOWN - 5}L${x + ACROSS - 5} ${y + 5}` });
    return { rect, text, cross };
  });
  const table = svg("g", {}, ...cells.flatMap(({ rect, text, cross }) => [rect, text, cross]));
  const drawing = svg("svg", { width: LEFT + BLOCK * ACROSS + 4, height: TOP + BLOCK * DOWN + 6, role: "group",
    "aria-label": "places of the tile" },
  svg("text", { class: "addr-title", x: 0, y: 14 }, "tile: rows · stride + columns"),
  svg("text", { class: "addr-name", x: LEFT, y: 36 }, "columns"),
  svg("text", { class: "addr-name", x: 0, y: TOP + 20 }, "rows"), ...across, ...down, table);
  box.append(drawing);
  const hear = handle(table, drawing, hand, "entry", { jumps: true, from: ({ x, y }) => {
    const near = (at, first, step) => Math.min(Math.max(Math.floor((at - first) / step), 0), BLOCK - 1);
    return near(y, TOP, DOWN) * BLOCK + near(x, LEFT, ACROSS);
  } });
  return ({ rows, columns, places, exists, used, entry }) => {
    across.forEach((text, j) => set(text, { text: columns[j] }));
    down.forEach((text, i) => set(text, { text: rows[i] }));
    cells.forEach(({ rect, text, cross }, n) => {
      set(text, { text: places[n] });
      text.classList.toggle("addr-out", !used[n]);
      rect.classList.toggle("addr-taken", used[n] && exists[n]);
      rect.classList.toggle("addr-wrong", used[n] && !exists[n]);
      rect.classList.toggle("addr-followed", n === entry);
      cross.classList.toggle("addr-gone", exists[n]);
    });
    hear(`place ${places[entry]}`);
  };
}
