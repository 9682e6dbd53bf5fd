// The plane: the ground that each expert takes, the points, and a cross where one finds no room.

import { set, svg } from "../../../course_utils/explorers/kit/svg.js";

const SIDE = 1000;
const CROSS = 13; // half of its width
const [PLATE, NEAR] = [13, 30]; // pixels of a number's plate, and from the edge

export function makePlane({ given: { points, chosen, ground, room } }) {
  const experts = ground[0].map((_, i) => i);
  const marks = kind => experts.map(i => svg("path", { class: `moe-${kind} moe-e${i}` }));
  const [parts, dots] = [marks("ground"), marks("dots")];
  const crosses = svg("path", { class: "moe-crosses" });
  const names = experts.map(i => svg("g", { class: `moe-name moe-e${i}` },
    svg("circle", { r: PLATE }), svg("text", { "text-anchor": "middle", y: 5 }, String(i + 1))));
  const scaled = svg("g", {}, ...parts, ...dots, crosses);
  const drawing = svg("svg", { role: "img", "aria-label": "points of the plane" }, scaled, ...names);
  const element = document.createElement("div");
  element.append(drawing);
  const count = chosen[0].length;
  let shown = "";
  const show = ({ frame, limited }, side) => {
    const key = [frame, limited, side].join();
    if (key === shown) return;
    shown = key;
    set(drawing, { width: side, height: side });
    set(scaled, { transform: `scale(${side / SIDE})` });
    parts.forEach((each, i) => set(each, { d: ground[frame][i] }));
    const paths = experts.map(() => "");
    const sums = experts.map(() => [0, 0, 0]);
    let lost = "";
    for (let n = 0; n < count; n += 1) {
      const [expert, x, y] = [Number(chosen[frame][n]), points[2 * n], points[2 * n + 1]];
      const sum = sums[expert];
      sum[0] += x;
      sum[1] += y;
      sum[2] += 1;
      if (limited && sum[2] > room) {
        lost += `M${x - CROSS} ${y - CROSS}l${2 * CROSS} ${2 * CROSS}m0 ${-2 * CROSS}` +
          `l${-2 * CROSS} ${2 * CROSS}`;
      } else paths[expert] += `M${x} ${y}h0`;
    }
    dots.forEach((each, i) => set(each, { d: paths[i] }));
    set(crosses, { d: lost });
    names.forEach((each, i) => {
      const [x, y, taken] = sums[i];
      const at = value => Math.min(Math.max((value / taken / SIDE) * side, NEAR), side - NEAR);
      set(each, { display: taken ? undefined : "none",
        transform: taken ? `translate(${at(x)} ${at(y)})` : undefined });
    });
  };
  return { element, show };
}
