// Memory: strips of q, k, v and out around a grid of scores that is never stored.

import { draggable, stepped } from "../../../explorers/kit/hand.js";
import { clamp } from "../../../explorers/kit/scale.js";
import { set, svg } from "../../../explorers/kit/svg.js";

const [N, D, KEYS] = [12, 2, 3];
const [PAD, GAP, HEAD] = [12, 6, 32];

/** The panel, its content, and `show(state, place)`. */
export function makeMemory(drawing, hand, player) {
  const plate = svg("rect", { class: "tiles-memory", rx: 12 });
  const hole = svg("rect", { class: "tiles-hole" });
  const panel = svg("g", {}, plate, hole);
  const title = svg("text", { class: "tiles-title" }, "memory ");
  title.append(svg("tspan", { class: "tiles-light" }, "large, slow"));
  const hint = svg("text", { "text-anchor": "end" }, "click or drag a tile");
  const foot = svg("text", { "text-anchor": "middle" });
  const strips = makeStrips(hand.given);
  const bands = ["q", "k"].map(kind => svg("rect", { class: `tiles-band tiles-${kind}` }));
  const tiles = svg("path", { class: "tiles-grid" });
  const done = svg("path", { class: "tiles-done" });
  const dead = svg("path", { class: "tiles-dead" });
  const crosses = svg("g", { class: "tiles-skipped", "text-anchor": "middle" });
  const stairs = svg("path", { class: "tiles-stairs" });
  const cells = Array.from({ length: 6 * KEYS }, () => svg("rect"));
  const frame = svg("rect", { class: "tiles-window", rx: 2 });
  const inside = svg("g", {}, ...cells);
  const slid = svg("g", { class: "ce-eased" }, inside, frame);
  const touch = svg("rect", { class: "tiles-touch", fill: "transparent", role: "slider",
    tabindex: 0, "data-grab": true, "aria-label": "tile of the grid", "aria-valuemin": 1 });
  const group = svg("g", {}, title, ...bands, done, dead, tiles, crosses, slid, stairs, touch,
    ...Object.values(strips).map(each => each.group), hint, foot);
  let now; // the state and the place that are shown
  let laidOut;
  let skipped;
  let shape; // of the tile in the grid
  let outlines; // of the tiles that are visited, in order
  const box = (row, column, rows, columns) => {
    const { x, y, cell } = now.grid;
    return { x: x + column * cell, y: y + row * cell, width: columns * cell,
      height: rows * cell };
  };
  const tileAt = ({ x, y }) => {
    const [rows, columns] = now.state.order.shape;
    const at = (place, from, count) =>
      clamp(Math.floor(((place - from) / (N * now.grid.cell)) * count), 0, count - 1);
    const row = at(y, now.grid.y, rows);
    const first = row * columns;
    const last = first + at(x, now.grid.x, columns);
    return Math.max(...now.state.order.slice(first, last + 1));
  };
  const follow = place => player.go(tileAt(place));
  draggable(touch, drawing, { start: follow, move: follow });
  stepped(touch, by => player.by(by), key => player.go(key === "Home" ? 1 : now.state.steps));

  function show(state, place, theme) {
    const { x, y, cell, width, height } = place;
    const grid = { x: x + PAD + D * cell + GAP, y: y + HEAD + D * cell + GAP, cell };
    now = { state, grid, place };
    const key = JSON.stringify([place, [...state.order]]);
    if (key !== laidOut) {
      laidOut = key;
      drawTiles(state);
      stairs.setAttribute("d", state.causal ? staircase(grid) : "");
      set(hint, { x: x + width - PAD, y: y + 22 });
      set(plate, { x: x + 0.5, y: y + 0.5, width: width - 1, height: height - 1 });
      set(title, { x: x + PAD, y: y + 22 });
      set(foot, { x: grid.x + (N * cell) / 2, y: y + height - 9 });
      [hole, touch].forEach(each => set(each, box(0, 0, N, N)));
      Object.values(strips).forEach(each => each.place(grid));
    }
    Object.values(strips).forEach(each => each.show(state));
    const [rows, keys] = state.scores.shape;
    set(bands[0], { ...box(state.first_row, 0, rows, N) });
    set(bands[1], { ...box(0, state.first_key, N, keys) });
    const at = window(state);
    set(frame, { width: at.width, height: at.height });
    slid.style.transform = `translate(${at.x}px, ${at.y}px)`;
    cells.forEach((each, i) =>
      each.setAttribute("fill", i < rows * keys ? theme.weight(state.weights[i]) : "none"));
    if (shape !== `${keys} ${cell}`) {
      shape = `${keys} ${cell}`;
      cells.forEach((each, i) => set(each, {
        x: (i % keys) * cell, y: Math.floor(i / keys) * cell, width: cell, height: cell }));
    }
    done.setAttribute("d", outlines.slice(0, state.step - 1).join(""));
    set(touch, { "aria-valuenow": state.step, "aria-valuemax": state.steps,
      "aria-valuetext": `tile ${state.step} of ${state.steps}` });
    const [all, left] = [state.order.length, state.order.length - state.steps];
    if (left === skipped) return;
    skipped = left;
    const words = left
      ? [`× in the future: ${left} of ${all} tiles `, "skipped"]
      : [`the grid of ${N * N} scores is `, "never stored"];
    foot.replaceChildren(words[0], svg("tspan", { class: "tiles-strong" }, words[1]));
  }

  function drawTiles(state) {
    const [rows, columns] = state.order.shape;
    const queries = N / rows;
    const marks = [];
    let [all, hatching] = ["", ""];
    outlines = [];
    state.order.forEach((step, i) => {
      const [row, column] = [Math.floor(i / columns) * queries, (i % columns) * KEYS];
      const at = box(row, column, queries, KEYS);
      const outline = `M${at.x} ${at.y}h${at.width}v${at.height}h${-at.width}Z`;
      all += outline;
      if (step) outlines.push(outline);
      else {
        hatching += hatched(at);
        marks.push(cross(at));
      }
    });
    tiles.setAttribute("d", all);
    dead.setAttribute("d", hatching);
    crosses.replaceChildren(...marks);
  }

  const window = ({ first_row, first_key, scores: { shape } }) =>
    box(first_row, first_key, shape[0], shape[1]);

  /** Where the tiles of this step lie in their strips. */
  const places = state => {
    const [rows, keys] = state.scores.shape;
    return {
      q: beside(box(state.first_row, -D, rows, D), -GAP, 0),
      out: beside(box(state.first_row, N, rows, D), GAP, 0),
      k: beside(box(-D, state.first_key, D, keys), 0, -GAP),
      v: beside(box(N, state.first_key, D, keys), 0, GAP),
    };
  };
  return { panel, group, inside, show, window, places, written: state => strips.out.rows(state) };
}

const beside = (box, x, y) => ({ ...box, x: box.x + x, y: box.y + y });

/** The line between past and future. */
const staircase = ({ x, y, cell }) => `M${x + cell} ${y}` + `v${cell}h${cell}`.repeat(N - 1);

function hatched({ x, y, width, height }) {
  let d = "";
  for (let far = 7; far < width + height; far += 7) {
    const [across, down] = [Math.min(far, width), Math.min(far, height)];
    d += `M${x + across} ${y + far - across}L${x + far - down} ${y + down}`;
  }
  return d;
}

const cross = ({ x, y, width, height }) =>
  svg("text", { x: x + width / 2, y: y + height / 2 + 7 }, "×");

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
  const frame = svg("rect", { class: "tiles-taken", rx: 3 });
  const group = svg("g", { class: `tiles-${kind}` }, ...cells, frame, name);
  let at;
  let shown;
  // What attention gives lies between the least and the largest value.
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const shaded = numbers => cells.forEach((each, i) =>
    each.setAttribute("fill-opacity", 0.22 + (0.78 * (numbers[i] - least)) / (most - least)));
  shaded(values);
  const place = ({ x, y, cell }) => {
    const [dx, dy] = offset(cell);
    at = { x: x + dx, y: y + dy, cell };
    cells.forEach((each, i) => {
      const [n, d] = [Math.floor(i / D), i % D];
      set(each, { x: at.x + (lying ? n : d) * cell + 0.5, y: at.y + (lying ? d : n) * cell + 0.5,
        width: cell - 1, height: cell - 1, rx: 2 });
    });
    set(name, lying ? { x: at.x - 10, y: at.y + cell + 5 } : { x: at.x + cell, y: at.y - 7 });
  };
  const show = state => {
    const [rows, keys] = state.scores.shape;
    const [first, count] = lying ? [state.first_key, keys] : [state.first_row, rows];
    const key = [first, count, kind === "out" && [state.finished, state.causal], at.x, at.y];
    if (key.join() === shown) return;
    shown = key.join();
    const taken = i => Math.floor(i / D) >= first && Math.floor(i / D) < first + count;
    const hold = kind !== "out" || state.ends;
    cells.forEach((each, i) => each.classList.toggle("tiles-now", hold && taken(i)));
    set(frame, {
      x: at.x + (lying ? first * at.cell : 0), y: at.y + (lying ? 0 : first * at.cell),
      width: (lying ? count : D) * at.cell, height: (lying ? D : count) * at.cell,
    });
    frame.toggleAttribute("hidden", !hold);
    if (kind !== "out") return;
    shaded(state.out);
    cells.forEach((each, i) =>
      each.classList.toggle("tiles-empty", Math.floor(i / D) >= state.finished));
  };
  const rows = state => cells.slice(state.first_row * D, state.finished * D);
  return { group, place, show, rows };
}
