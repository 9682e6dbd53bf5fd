// The grid of scores: a window moves over it, what it has left is forgotten.

import { draggable, stepped } from "../../../course_utils/explorers/kit/hand.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { set, svg } from "../../../course_utils/explorers/kit/svg.js";

const [N, KEYS, MOST] = [12, 3, 6];

/** The grid and `show(state, place, theme)`. */
export function makeGrid(drawing, player) {
  const path = name => svg("path", { class: `tiles-${name}` });
  const hole = svg("rect", { class: "tiles-hole" });
  const bands = ["q", "k"].map(kind => svg("rect", { class: `tiles-band tiles-${kind}` }));
  const [done, dead, tiles, stairs] = ["done", "dead", "grid", "stairs"].map(path);
  const words = ["skipped", "gone"].map(kind =>
    svg("g", { class: `tiles-${kind}`, "text-anchor": "middle" }));
  const cells = Array.from({ length: MOST * KEYS }, () => svg("rect"));
  const inside = svg("g", {}, ...cells);
  const frame = svg("rect", { class: "tiles-window", rx: 2 });
  const window = svg("g", { class: "ce-eased" }, inside, frame);
  const touch = svg("rect", { class: "tiles-touch", fill: "transparent", role: "slider",
    tabindex: 0, "data-grab": "shared", "aria-label": "tile of the grid", "aria-valuemin": 1 });
  const group = svg("g", {}, ...bands, done, dead, tiles, ...words, window, stairs, touch);
  let now; // the state and the place that are shown
  let laidOut;
  let outlines; // of the tiles that are visited, in order
  handle(touch, drawing, player, () => now);

  const box = (row, column, rows, columns) => boxOf(now.place, row, column, rows, columns);
  const tile = () =>
    box(now.state.first_row, now.state.first_key, ...now.state.scores.shape);

  function show(state, place, theme) {
    now = { state, place };
    const key = [place.x, place.y, place.cell, state.order].join();
    if (key !== laidOut) {
      laidOut = key;
      layOut(state, place);
    }
    const [rows, keys] = state.scores.shape;
    set(bands[0], box(state.first_row, 0, rows, N));
    set(bands[1], box(0, state.first_key, N, keys));
    [...words[1].children].forEach((each, i) =>
      each.toggleAttribute("hidden", i >= state.step - 1));
    set(done, { d: outlines.slice(0, state.step - 1).join("") });
    const { x, y, width, height } = tile();
    window.style.transform = `translate(${x}px, ${y}px)`;
    set(frame, { width, height });
    cells.forEach((each, i) => {
      const [row, column] = [Math.floor(i / KEYS), i % KEYS];
      const isShown = row < rows && column < keys;
      const weight = isShown && theme.weight(state.weights[row * keys + column]);
      set(each, { fill: weight || "none" });
    });
    set(touch, { "aria-valuenow": state.step, "aria-valuemax": state.steps,
      "aria-valuetext": `tile ${state.step} of ${state.steps}` });
  }

  function layOut(state, place) {
    const [rows, columns] = state.order.shape;
    const queries = N / rows;
    const boxes = Array.from(state.order, (_, i) =>
      box(Math.floor(i / columns) * queries, (i % columns) * KEYS, queries, KEYS));
    const skipped = boxes.filter((_, i) => !state.order[i]);
    const isCut = ({ x, y, width }) => // by the line between past and future
      state.causal && x + width - place.x > y + place.cell - place.y;
    const visited = boxes.filter((_, i) => state.order[i]);
    outlines = visited.map(outline);
    set(tiles, { d: boxes.map(outline).join("") });
    set(dead, { d: skipped.map(hatching).join("") });
    words[0].replaceChildren(...skipped.map(each => label(each, "×", 7)));
    words[1].replaceChildren(...visited.map(each => label(each, isCut(each) ? "" : "gone", 4)));
    set(stairs, { d: state.causal ? staircase(place) : "" });
    [hole, touch].forEach(each => set(each, box(0, 0, N, N)));
    cells.forEach((each, i) => set(each, {
      x: (i % KEYS) * place.cell, y: Math.floor(i / KEYS) * place.cell,
      width: place.cell, height: place.cell }));
  }

  return { hole, group, inside, show, tile };
}

/** A click goes to its tile, a drag follows, keys step. */
function handle(touch, drawing, player, now) {
  const follow = place => player.go(stepAt(place, now()));
  draggable(touch, drawing, { start: follow, move: follow });
  stepped(touch, player.by, key => player.go(key === "Home" ? 1 : now().state.steps));
}

/** The step of the tile at a place; for one that is skipped, of the last before it. */
function stepAt({ x, y }, { state, place }) {
  const [rows, columns] = state.order.shape;
  const at = (far, count) => clamp(Math.floor((far / (N * place.cell)) * count), 0, count - 1);
  const first = at(y - place.y, rows) * columns;
  return Math.max(...state.order.slice(first, first + at(x - place.x, columns) + 1));
}

const boxOf = ({ x, y, cell }, row, column, rows, columns) => ({
  x: x + column * cell, y: y + row * cell, width: columns * cell, height: rows * cell });

/** The `d` of a rectangle. */
export const outline = ({ x, y, width, height }) => `M${x} ${y}h${width}v${height}h${-width}Z`;

/** The line between past and future. */
const staircase = ({ x, y, cell }) => `M${x + cell} ${y}` + `v${cell}h${cell}`.repeat(N - 1);

function hatching({ x, y, width, height }) {
  let d = "";
  for (let far = 7; far < width + height; far += 7) {
    const [across, down] = [Math.min(far, width), Math.min(far, height)];
    d += `M${x + across} ${y + far - across}L${x + far - down} ${y + down}`;
  }
  return d;
}

const label = ({ x, y, width, height }, word, low) =>
  svg("text", { x: x + width / 2, y: y + height / 2 + low }, word);
