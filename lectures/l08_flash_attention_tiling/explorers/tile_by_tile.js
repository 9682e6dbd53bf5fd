// Tiled attention, played and scrubbed: tiles cross from memory to the chip, scores are forgotten.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import style from "./tile_by_tile.css";
import { BORDER, makeBytes, makeCrossing } from "./tile_by_tile.border.js";
import { makeChip } from "./tile_by_tile.chip.js";
import { animate } from "./tile_by_tile.flight.js";
import { makeMemory } from "./tile_by_tile.memory.js";
import { makePlayer } from "./tile_by_tile.player.js";

const BYTES = 68; // pixels of the bars of bytes
const WIDE = 760; // pixels from which memory and chip lie next to each other

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
  let lively = false;
  return (state, values, theme) => {
    const places = layOut(hand.width);
    set(drawing, { width: hand.width, height: places.height });
    if (lively) drawing.getAnimations({ subtree: true }).forEach(each => each.cancel());
    lively = player.show(state, values, box.closest(".ce-easing"));
    box.classList.toggle("tiles-lively", lively);
    memory.show(state, places.memory, theme);
    const old = lively ? chip.sums.map(each => each.cloneNode(true)) : [];
    chip.show(state, places.chip, theme);
    bytes.show(state, places.bytes);
    crossing.show(state, places);
    const [from, to] = [memory.tile(), chip.places().scores];
    set(beam, { d: places.wide ? across(from, to) : down(from, to) });
    if (lively) animate({ memory, chip, beam, old }, state);
  };
}

/** Where memory, chip and bytes lie. */
function layOut(width) {
  const wide = width >= WIDE;
  const cell = Math.min(wide ? 20 : 16, Math.floor((width - 36) / 16));
  const memory = { cell, width: 36 + 16 * cell, height: 68 + 16 * cell };
  const left = wide ? memory.width + BORDER : 0;
  const chip = { width: Math.min(width - left, wide ? width : 520), height: 302 };
  const middle = size => Math.round((width - size) / 2);
  Object.assign(memory, { x: wide ? 0 : middle(memory.width), y: 0 });
  // Below each other, the bytes are between the two, in sight of both.
  const top = wide ? 0 : memory.height + BYTES + BORDER;
  Object.assign(chip, { x: wide ? left : middle(chip.width), y: top });
  const bytes = { x: chip.x, y: (wide ? chip.height : memory.height) + 18, width: chip.width };
  const height = wide ? Math.max(memory.height, bytes.y + BYTES) : top + chip.height;
  return { wide, memory, chip, bytes, height };
}

/** A beam from the tile in the grid to its scores on the chip. */
const across = (from, to) =>
  `M${from.x + from.width} ${from.y}L${to.x} ${to.y}v${to.height}` +
  `L${from.x + from.width} ${from.y + from.height}Z`;
const down = (from, to) =>
  `M${from.x} ${from.y + from.height}L${to.x} ${to.y}h${to.width}` +
  `L${from.x + from.width} ${from.y + from.height}Z`;
