// Tiled attention, played and scrubbed: tiles cross from memory to the chip, scores are forgotten.

import { explorer } from "../../../explorers/kit/explorer.js";
import { html, set, svg } from "../../../explorers/kit/svg.js";
import { number } from "../../../explorers/kit/words.js";
import style from "./tile_by_tile.css";
import { makeMemory } from "./tile_by_tile.memory.js";
import { makeChip } from "./tile_by_tile.chip.js";
import { makePlayer } from "./tile_by_tile.player.js";

const WIDE = 760; // pixels from which memory and chip lie next to each other
const BORDER = 52;
const LABELS = 62; // pixels before the bars of bytes
const FLIGHT = { duration: 420, easing: "ease-in-out" };

export default explorer({ mount, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const drawing = svg("svg", { role: "group", "aria-label": "memory and chip" });
  const player = makePlayer(hand);
  const box = html("div", { class: "tiles" }, drawing, player.element);
  const memory = makeMemory(drawing, hand, player);
  const chip = makeChip(hand.given);
  const bytes = makeBytes();
  const crossing = makeCrossing();
  const beam = svg("path", { class: "tiles-beam" });
  drawing.append(memory.panel, chip.panel, beam, memory.group, chip.group,
    crossing.group, bytes.group);
  stage.append(box);
  return (state, values, theme) => {
    const places = layOut(hand.width);
    set(drawing, { width: hand.width, height: places.height });
    memory.show(state, places.memory, theme);
    drawing.getAnimations({ subtree: true }).forEach(each => each.cancel());
    const lively = player.show(state, values, box.closest(".ce-easing"));
    box.classList.toggle("tiles-lively", lively);
    const old = lively ? chip.sums.map(each => each.cloneNode(true)) : [];
    chip.show(state, places.chip, theme);
    bytes.show(state, places.bytes);
    crossing.show(state, places);
    const [from, to] = [memory.window(state), chip.places().scores];
    beam.setAttribute("d", places.wide ? across(from, to) : down(from, to));
    if (lively) animate({ memory, chip, beam, old }, state);
  };
}

/** Where memory, chip and bytes lie. */
function layOut(width) {
  const wide = width >= WIDE;
  const cell = Math.min(21, Math.floor((width - 36) / 16));
  const memory = { cell, width: 36 + 16 * cell, height: 68 + 16 * cell };
  const left = wide ? memory.width + BORDER : 0;
  const chip = { width: Math.min(width - left, wide ? width : 520), height: 312 };
  const middle = size => Math.round((width - size) / 2);
  Object.assign(memory, { x: wide ? 0 : middle(memory.width), y: 0 });
  const top = wide ? 0 : memory.height + BORDER;
  Object.assign(chip, { x: wide ? left : middle(chip.width), y: top });
  const bytes = { x: chip.x, y: top + chip.height + 22, width: chip.width };
  const height = Math.max(memory.height, bytes.y + 72);
  return { wide, memory, chip, bytes, height };
}

/** A beam from the tile in the grid to its scores on the chip. */
const across = (from, to) =>
  `M${from.x + from.width} ${from.y}L${to.x} ${to.y}v${to.height}` +
  `L${from.x + from.width} ${from.y + from.height}Z`;
const down = (from, to) =>
  `M${from.x} ${from.y + from.height}L${to.x} ${to.y}h${to.width}` +
  `L${from.x + from.width} ${from.y + from.height}Z`;

/** Tiles fly in; then the scores appear; then the sums change; at last the output flies out. */
function animate({ memory, chip, beam, old }, state) {
  const [there, here] = [memory.places(state), chip.places()];
  const arriving = state.starts ? ["q", "k", "v"] : ["k", "v"];
  arriving.forEach(name => fly(chip.sheets[name].group, there[name], here[name]));
  [beam, memory.inside, chip.sheets.scores.group].forEach(each => appear(each, FLIGHT.duration));
  chip.sums.forEach(each => appear(each, 2 * FLIGHT.duration));
  // The sums stay on the chip until the new ones are there.
  if (!state.starts) {
    chip.group.prepend(...old);
    old.forEach(each => passing(each, [{}, {}], { duration: 2 * FLIGHT.duration }));
  }
  if (!state.ends) return;
  const result = chip.sheets.acc.group.cloneNode(true);
  chip.group.append(result);
  passing(result, [at(whole(here.acc)), at(shrunk(there.out, here.acc))],
    { ...FLIGHT, delay: 2.7 * FLIGHT.duration });
  memory.written(state).forEach(each => appear(each, 3.7 * FLIGHT.duration));
}

/** Something that is there only while it moves. */
function passing(element, frames, timing) {
  element.style.opacity = 0;
  const gone = () => element.remove();
  element.animate(frames.map(each => ({ opacity: 1, ...each })), timing).finished.then(gone, gone);
}

/** A group comes from where `from` is. */
const fly = (group, from, to) => group.animate([at(shrunk(from, to)), at(whole(to))], FLIGHT);

/** The place that gives a group which fills `full` the size of `small`. */
const shrunk = (small, full) =>
  ({ ...small, width: small.width / full.width, height: small.height / full.height });
const whole = ({ x, y }) => ({ x, y, width: 1, height: 1 });

const at = ({ x, y, width, height }) =>
  ({ transform: `translate(${x}px, ${y}px) scale(${width}, ${height})` });

const appear = (element, delay) =>
  element.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 200, delay, fill: "backwards" });

/** What crosses the border at this step. */
function makeCrossing() {
  const letter = (kind, text) => svg("tspan", { class: `tiles-name tiles-${kind}` }, text);
  const q = letter("q", "q ");
  const reads = svg("text", { "text-anchor": "middle" }, q, letter("k", "k "), letter("v", "v"));
  const writes = svg("text", { "text-anchor": "middle" }, letter("out", "out"));
  const arrows = [0, 1].map(() => svg("path", { class: "tiles-arrow" }));
  const group = svg("g", {}, reads, writes, ...arrows);
  const show = (state, { wide, memory, chip }) => {
    q.textContent = state.starts ? "q " : "";
    const middle = (memory.x + memory.width + chip.x) / 2;
    const [x, y] = wide ? [middle, 52] : [chip.x + chip.width - 130, chip.y - BORDER / 2];
    const [left, low] = wide ? [x, y + 204] : [x + 85, y];
    set(reads, wide ? { x, y } : { x: x - 14, y: y + 5 });
    set(writes, wide ? { x: left, y: low } : { x: left + 6, y: y + 5 });
    arrows[0].setAttribute("d", wide ? arrow(x - 20, y + 14, 40, 0) : arrow(x + 24, y - 18, 0, 36));
    arrows[1].setAttribute("d",
      wide ? arrow(left + 20, low + 14, -40, 0) : arrow(left + 34, y + 18, 0, -36));
    [writes, arrows[1]].forEach(each => each.classList.toggle("tiles-off", !state.ends));
  };
  return { group, show };
}

function arrow(x, y, across, down) {
  const [a, b] = [Math.sign(across) * 6, Math.sign(down) * 6];
  return `M${x} ${y}l${across} ${down}m${-a - b} ${-b - a}l${a + b} ${a + b}l${b - a} ${a - b}`;
}

/** Two bars: what was moved, and what the naive form would have moved. */
function makeBytes() {
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
    counts[0].textContent = `${number(state.read)} read, ${number(state.written)} written`;
    counts[1].textContent = number(state.naive);
    set(counts[0], { x: LABELS + state.moved_in_the_end * scale + 8 });
    set(counts[1], { x: LABELS + state.naive * scale + 8 });
  };
  return { group, show };
}
