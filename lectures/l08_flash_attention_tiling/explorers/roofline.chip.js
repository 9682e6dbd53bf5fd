// One SM: a tile whose corner is dragged, and what the tile takes of shared memory and registers.

import { draggable, stepsOf } from "../../../course_utils/explorers/kit/hand.js";
import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";

const [WIDE, HIGH] = [300, 156];
const [LEFT, TOP, SIDE] = [26, 48, 96]; // of the square in which the tile is
const BAR = { x: 150, width: 132 };
const kilobytes = bytes => number(bytes / 1024);

export function makeChip(box, hand) {
  const all = hand.inputs.block_m.values;
  const most = all.at(-1);
  const name = svg("text", { class: "roof-label", x: 14, y: 20 });
  const hint = svg("tspan", { class: "roof-hint" }, "↘ drag");
  const tile = svg("rect", { class: "roof-tile", x: LEFT, y: TOP });
  const [across, down] = [svg("text", { "text-anchor": "middle" }), svg("text", { "text-anchor": "middle" })];
  const corner = svg("g", { class: "roof-corner ce-eased", role: "slider", tabindex: 0, "data-grab": true,
    "aria-label": "tile: queries by up and down, keys by left and right",
    "aria-valuemin": all[0], "aria-valuemax": most },
  svg("circle", { class: "roof-reach", r: 22 }), svg("circle", { class: "roof-dot", r: 7 }));
  const bars = [makeBar(0), makeBar(1)];
  const drawing = svg("svg", { class: "roof-chip", width: WIDE, height: HIGH, role: "group", "aria-label": "one SM" },
    svg("rect", { class: "roof-sm", x: 0.5, y: 0.5, width: WIDE - 1, height: HIGH - 1, rx: 10 }), name,
    svg("rect", { class: "roof-square", x: LEFT, y: TOP, width: SIDE, height: SIDE }), tile, across, down,
    ...bars.map(each => each.group), corner);
  box.append(drawing);
  const nearest = share => all.reduce((one, other) =>
    (Math.abs(other - share * most) < Math.abs(one - share * most) ? other : one));
  draggable(corner, drawing, { move: ({ x, y }) =>
    hand.change({ block_n: nearest((x - LEFT) / SIDE), block_m: nearest((y - TOP) / SIDE) }) });
  corner.addEventListener("keydown", event => {
    const by = stepsOf(event);
    if (!by) return;
    event.preventDefault();
    const isAcross = ["ArrowLeft", "ArrowRight"].includes(event.key);
    const control = isAcross ? "block_n" : "block_m";
    const to = all.indexOf(hand.values[control]) + Math.sign(isAcross ? by : -by);
    hand.change({ [control]: all[Math.min(Math.max(to, 0), all.length - 1)] });
  });
  return { draw(state, { block_m, block_n }) {
    const [width, height] = [(block_n / most) * SIDE, (block_m / most) * SIDE];
    name.replaceChildren(`one of ${state.sms} SMs, with a tile `, hint);
    set(tile, { width, height });
    set(across, { x: LEFT + width / 2, y: TOP - 5 });
    set(across, { text: `${block_n} keys` });
    set(down, { transform: `translate(${LEFT - 6} ${TOP + SIDE / 2}) rotate(-90)` });
    set(down, { text: `${block_m} queries` });
    corner.style.transform = `translate(${LEFT + width}px, ${TOP + height}px)`;
    set(corner, { "aria-valuenow": block_m, "aria-valuetext": `${block_m} queries by ${block_n} keys` });
    bars[0].draw("shared memory", state.shared, state.shared_limit);
    bars[1].draw("registers", state.registers, state.registers_limit);
  } };
}

/** How much of one kind of memory the tile takes. */
function makeBar(row) {
  const y = 58 + 46 * row;
  const name = svg("text", { x: BAR.x, y });
  const fill = svg("rect", { x: BAR.x, y: y + 6, height: 10 });
  const rail = svg("rect", { class: "roof-rail", x: BAR.x, y: y + 6, width: BAR.width, height: 10 });
  const says = svg("text", { class: "roof-says", x: BAR.x, y: y + 30 });
  return { group: svg("g", {}, name, fill, rail, says), draw(words, takes, has) {
    set(name, { text: words });
    set(says, { text: takes > has
      ? `${kilobytes(takes - has)} KB too much` : `${kilobytes(takes)} of ${kilobytes(has)} KB` });
    says.classList.toggle("roof-over", takes > has);
    set(fill, { class: takes > has ? "roof-full" : "roof-fill", width: BAR.width * Math.min(takes / has, 1) });
  } };
}
