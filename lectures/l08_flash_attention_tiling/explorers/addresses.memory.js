// The memory as one long row, with what the tile takes from it.

import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { COLUMNS, ROWS } from "./addresses.compute.js";

const COUNT = 82; // beyond the end, too: so far a tile without a mask may reach
const [TOP, HIGH] = [22, 20];

export function makeMemory(box) {
  const title = svg("text", { class: "addr-title", x: 2, y: 14 });
  const cells = Array.from({ length: COUNT }, () => svg("rect", { class: "addr-cell", y: TOP, height: HIGH }));
  const firsts = Array.from({ length: ROWS }, () => svg("text", { class: "addr-index", y: TOP + HIGH + 16 }));
  const end = svg("path", { class: "addr-end" });
  const drawing = svg("svg", { class: "addr-memory", height: TOP + HIGH + 22, role: "img" }, title, ...cells, end,
    ...firsts);
  box.append(drawing);
  return ({ places, used, exists, size, stride, entry }, width) => {
    const step = (width - 6) / COUNT;
    const at = place => 2 + place * step;
    set(drawing, { width, "aria-label": `memory, places 0 to ${size - 1}` });
    set(title, { text: width < 500 ? "memory; the places of the rows' first numbers"
      : "memory, one long row; under it the places of the rows' first numbers" });
    cells.forEach((rect, place) => {
      const n = places.findIndex((each, i) => each === place && used[i]);
      const kind = place >= size ? "addr-beyond" : place % stride >= COLUMNS ? "addr-gap" : "";
      const taken = n < 0 ? "" : exists[n] ? "addr-taken" : "addr-wrong";
      const followed = place === places[entry] && used[entry] ? "addr-followed" : "";
      set(rect, { x: at(place), width: step, class: `addr-cell ${kind} ${taken} ${followed}` });
    });
    firsts.forEach((text, row) => set(text, { text: row * stride, x: at(row * stride) + step / 2 }));
    set(end, { d: `M${at(size)} ${TOP - 4}V${TOP + HIGH + 4}` });
  };
}
