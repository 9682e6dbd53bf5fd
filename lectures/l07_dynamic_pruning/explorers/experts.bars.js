// How many points chose each expert, and how many of them find it full.

import { pointing } from "../../../course_utils/explorers/kit/hand.js";
import { html, set } from "../../../course_utils/explorers/kit/svg.js";

export function makeBars(room, light) {
  const rows = [0, 1, 2, 3].map(i => {
    const [taken, lost, count] = [html("i"), html("i", { class: "moe-lost" }), html("b")];
    const row = html("div", { class: `moe-row moe-e${i}` }, html("span", {}, `expert ${i + 1}`),
      html("div", { class: "moe-rail" }, taken, lost), count);
    return { row, taken, lost, count };
  });
  const mark = html("div", { class: "moe-equal" }, html("span", {}, `equal share: ${room}`));
  const element = html("div", { class: "moe-bars" },
    html("div", { class: "moe-row moe-head", "aria-hidden": "true" }, html("span", {}, ""),
      html("div", { class: "moe-rail" }, mark), html("b", { class: "moe-hint" }, "points")),
    ...rows.map(each => each.row));
  pointing(element, event => light(rows.findIndex(each => each.row.contains(event.target))),
    () => light(-1));
  const show = ({ assigned, limited }) => {
    const all = assigned.reduce((sum, each) => sum + each, 0);
    mark.style.left = `${(100 * room) / all}%`;
    set(mark.firstChild, { text: limited ? `room for ${room}` : `equal share: ${room}` });
    rows.forEach(({ taken, lost, count }, i) => {
      const kept = limited ? Math.min(assigned[i], room) : assigned[i];
      taken.style.width = `${(100 * kept) / all}%`;
      lost.style.width = `${(100 * (assigned[i] - kept)) / all}%`;
      set(count, { text: assigned[i] > kept ? `${kept}, ${assigned[i] - kept} dropped` : String(kept) });
    });
  };
  return { element, show };
}
