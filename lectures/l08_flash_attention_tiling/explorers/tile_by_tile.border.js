// The border between memory and chip: what crosses it at this step, and how many bytes did so far.

import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";

export const BORDER = 52; // pixels between memory and chip
const LABELS = 62; // pixels before the bars of bytes

/** What crosses the border at this step. */
export function makeCrossing() {
  const letter = (kind, text) => svg("tspan", { class: `tiles-name tiles-${kind}` }, text);
  const q = letter("q", "q ");
  const reads = svg("text", { "text-anchor": "middle" }, q, letter("k", "k "), letter("v", "v"));
  const writes = svg("text", { "text-anchor": "middle" }, letter("out", "out"));
  const arrows = [0, 1].map(() => svg("path", { class: "tiles-arrow" }));
  const group = svg("g", {}, reads, writes, ...arrows);
  const show = (state, { wide, memory, chip }) => {
    set(q, { text: state.starts ? "q " : "" });
    const middle = (memory.x + memory.width + chip.x) / 2;
    const [x, y] = wide ? [middle, 52] : [chip.x + chip.width - 130, chip.y - BORDER / 2];
    const [left, low] = wide ? [x, y + 204] : [x + 85, y];
    set(reads, wide ? { x, y } : { x: x - 14, y: y + 5 });
    set(writes, wide ? { x: left, y: low } : { x: left + 6, y: y + 5 });
    set(arrows[0], { d: wide ? arrow(x - 20, y + 14, 40, 0) : arrow(x + 24, y - 18, 0, 36) });
    set(arrows[1], { d: wide ? arrow(left + 20, low + 14, -40, 0) : arrow(left + 34, y + 18, 0, -36) });
    [writes, arrows[1]].forEach(each => each.toggleAttribute("hidden", !state.ends));
  };
  return { group, show };
}

function arrow(x, y, across, down) {
  const [a, b] = [Math.sign(across) * 6, Math.sign(down) * 6];
  return `M${x} ${y}l${across} ${down}m${-a - b} ${-b - a}l${a + b} ${a + b}l${b - a} ${a - b}`;
}

/** Two bars: what was moved, and what the naive form would have moved. */
export function makeBytes() {
  const words = (attributes, text = "") => svg("text", attributes, text);
  const title = words({ class: "ce-axis", y: 0 }, "bytes that cross the border");
  const names = ["in tiles", "naive"].map((name, i) => words({ y: 25 + 25 * i }, name));
  const bars = ["rest", "naive", "read", "written"].map(kind =>
    svg("rect", { class: `tiles-bytes-${kind}`, height: 17, rx: 2 }));
  const counts = [0, 1].map(i => words({ class: "tiles-count", y: 25 + 25 * i }));
  const group = svg("g", {}, title, ...names, ...bars, ...counts);
  const show = (state, { x, y, width }) => {
    set(group, { transform: `translate(${x} ${y})` });
    const scale = (width - LABELS - 64) / state.naive;
    const moved = state.read + state.written;
    const spans = [[0, state.moved_in_the_end], [0, state.naive], [0, state.read],
      [state.read, moved]];
    bars.forEach((bar, i) => set(bar, { y: i === 1 ? 37 : 12, x: LABELS + spans[i][0] * scale,
      width: (spans[i][1] - spans[i][0]) * scale }));
    set(counts[0], { text: `${number(state.read)} read, ${number(state.written)} written` });
    set(counts[1], { text: number(state.naive) });
    set(counts[0], { x: LABELS + state.moved_in_the_end * scale + 8 });
    set(counts[1], { x: LABELS + state.naive * scale + 8 });
  };
  return { group, show };
}
