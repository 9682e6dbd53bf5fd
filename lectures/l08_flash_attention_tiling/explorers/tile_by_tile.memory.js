// Memory: strips of q, k, v and out around a grid of scores that is never stored.

import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { makeGrid, outline } from "./tile_by_tile.grid.js";

const [N, D] = [12, 2];
const [PAD, GAP, HEAD] = [12, 6, 32];

/** The panel, its content, and `show(state, place, theme)`. */
export function makeMemory(drawing, hand, player) {
  const plate = svg("rect", { class: "tiles-memory", rx: 12 });
  const title = svg("text", { class: "tiles-title" }, "memory ",
    svg("tspan", { class: "tiles-light" }, "large, slow"));
  const hint = svg("text", { "text-anchor": "end" }, "press or drag a tile");
  const foot = svg("text", { "text-anchor": "middle" });
  const strips = makeStrips(hand.given);
  const grid = makeGrid(drawing, player);
  const panel = svg("g", {}, plate, grid.hole);
  const group = svg("g", {}, title, grid.group,
    ...Object.values(strips).map(each => each.group), hint, foot);
  let laidOut;
  let skipped;

  function show(state, place, theme) {
    const { x, y, cell, width, height } = place;
    const inner = { x: x + PAD + D * cell + GAP, y: y + HEAD + D * cell + GAP, cell };
    const key = [x, y, width].join();
    if (key !== laidOut) {
      laidOut = key;
      set(plate, { x: x + 0.5, y: y + 0.5, width: width - 1, height: height - 1 });
      set(title, { x: x + PAD, y: y + 22 });
      set(hint, { x: x + width - PAD, y: y + 22 });
      set(foot, { x: inner.x + (N * cell) / 2, y: y + height - 9 });
      Object.values(strips).forEach(each => each.place(inner));
    }
    grid.show(state, inner, theme);
    Object.values(strips).forEach(each => each.show(state));
    say(state.order.length, state.order.length - state.steps);
  }

  function say(all, left) {
    if (left === skipped) return;
    skipped = left;
    const words = left
      ? [`× in the future: ${left} of ${all} tiles `, "skipped"]
      : [`the grid of ${N * N} scores is `, "never stored"];
    foot.replaceChildren(words[0], svg("tspan", { class: "tiles-strong" }, words[1]));
  }

  /** Where the tiles of this step lie in their strips. */
  const places = () =>
    Object.fromEntries(Object.entries(strips).map(([name, each]) => [name, each.taken()]));
  const written = state => strips.out.rows(state);
  return { panel, group, show, places, written, tile: grid.tile, inside: grid.inside };
}

/** The four strips: k above, v below, q before and out after the grid. */
function makeStrips({ q, k, v }) {
  return {
    q: strip("q", q, cell => [-D * cell - GAP, 0], false),
    out: strip("out", v, cell => [N * cell + GAP, 0], false),
    k: strip("k", k, cell => [0, -D * cell - GAP], true),
    v: strip("v", v, cell => [0, N * cell + GAP], true),
  };
}

/** A strip of N vectors, one dimension beside the other, lying or upright. */
function strip(kind, values, offset, lying) {
  const cells = Array.from({ length: N * D }, () => svg("rect"));
  const ends = lying ? { "text-anchor": "end" } : { "text-anchor": "middle" };
  const name = svg("text", { class: "tiles-name", ...ends }, kind);
  const veil = svg("path", { class: "tiles-veil" }); // over what this step does not use
  const frame = svg("rect", { class: "tiles-taken", rx: 3 });
  const group = svg("g", { class: `tiles-${kind}` }, ...cells, veil, frame, name);
  let at;
  let shown;
  let taken; // where the vectors of this step lie
  // What attention gives lies between the least and the largest value.
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const shaded = numbers => cells.forEach((each, i) =>
    set(each, { "fill-opacity": 0.22 + (0.78 * (numbers[i] - least)) / (most - least) }));
  shaded(values);
  const place = ({ x, y, cell }) => {
    const [dx, dy] = offset(cell);
    at = { x: x + dx, y: y + dy, cell };
    cells.forEach((each, i) => {
      const [n, d] = [Math.floor(i / D), i % D];
      set(each, { x: at.x + (lying ? n : d) * cell + 0.5, y: at.y + (lying ? d : n) * cell + 0.5,
        width: cell - 1, height: cell - 1, rx: 2 });
    });
    set(name, lying ? { x: at.x - 4, y: at.y + cell + 5 } : { x: at.x + cell, y: at.y - 7 });
  };
  const span = (first, count) => ({
    x: at.x + (lying ? first * at.cell : 0), y: at.y + (lying ? 0 : first * at.cell),
    width: (lying ? count : D) * at.cell, height: (lying ? D : count) * at.cell,
  });
  const show = state => {
    const [rows, keys] = state.scores.shape;
    const [first, count] = lying ? [state.first_key, keys] : [state.first_row, rows];
    const key = [first, count, kind === "out" && [state.finished, state.causal], at.x, at.y];
    if (key.join() === shown) return;
    shown = key.join();
    const hold = kind !== "out" || state.ends;
    taken = span(first, count);
    set(frame, taken);
    frame.toggleAttribute("hidden", !hold);
    const after = first + count;
    const rest = kind === "out" ? [span(0, hold ? first : state.finished)]
      : [span(0, first), span(after, N - after)];
    set(veil, { d: rest.map(outline).join("") });
    if (kind !== "out") return;
    shaded(state.out);
    cells.forEach((each, i) =>
      each.classList.toggle("tiles-empty", Math.floor(i / D) >= state.finished));
  };
  const rows = state => cells.slice(state.first_row * D, state.finished * D);
  return { group, place, show, rows, taken: () => taken };
}
