// All tokens that top-k leaves, end to end: a line for top-p, and a pin where the draw falls.

import { placeIn } from "../../../explorers/kit/hand.js";
import { set, svg } from "../../../explorers/kit/svg.js";
import { number } from "../../../explorers/kit/words.js";
import { makeGrip } from "./next_token.grip.js";

const HIGH = 34;
const EDGE = 12;
const THIN = 2; // pixels of a piece under which the rest is drawn as one
const LETTER = 7.5;

/** The strip: { draw }, which returns the y below it. */
export function makeStrip(drawing, hand) {
  const title = svg("text", { x: 0 });
  const pieces = svg("g", { class: "next-pieces" });
  drawing.append(title, pieces);
  let [left, wide] = [EDGE, 1];
  const share = x => (x - left) / wide;
  const cut = makeGrip(drawing, hand, "p", place => share(place.x), () => 0.01);
  const pin = makeGrip(drawing, hand, "chance", place => share(place.x) / reached, () => 0.01);
  let reached = 1;
  pieces.addEventListener("click", event => {
    const chance = share(placeIn(drawing, event).x) / reached;
    hand.change({ chance: Number(hand.clamp("chance", chance).toFixed(3)) });
  });
  return { draw(state, nameOf, width, top) {
    [left, wide, reached] = [EDGE, width - 2 * EDGE, state.reached];
    const y = top + 48;
    set(title, { y: top + 10 });
    title.textContent = width < 520 ? "the same, end to end" :
      "The same probabilities end to end; a draw falls anywhere on the filled part.";
    pieces.replaceChildren(...drawPieces(state, nameOf, y, left, wide));
    const at = left + wide * state.p;
    const within = x => Math.min(Math.max(x, 53), width - 53);
    cut.draw({ text: state.p === 1 ? "top-p all" : `top-p ${number(state.p, 2)}`, x: within(at),
      sign: "↔", y: y + HIGH + 18, width: 106, d: `M${at} ${y - 3}V${y + HIGH + 8}`, place: { x: at, y },
      value: state.p });
    const x = left + wide * state.chance * state.reached;
    pin.draw({ text: `draw ${number(state.chance, 3)}`, sign: "↔", x: within(x), y: y - 15, width: 102,
      d: `M${x} ${y - 5}V${y + 8}`, place: { x, y }, value: state.chance });
    return y + HIGH + 32;
  } };
}

/** Pieces as wide as their tokens are probable, until they are too thin to be told apart. */
function drawPieces(state, nameOf, y, left, wide) {
  const sum = state.warm.slice(0, state.k).reduce((one, other) => one + other, 0);
  const found = [];
  let x = left;
  let i = 0;
  const add = (width, kind, name = "") => {
    const box = { x, y, width: Math.max(width - 1, 0.5), height: HIGH, class: `next-piece ${kind}` };
    found.push(svg("rect", box));
    if (name && name.length * LETTER + 6 < width) {
      found.push(svg("text", { x: x + width / 2, y: y + 22, "text-anchor": "middle",
        class: `next-piece-name ${kind}` }, name));
    }
    x += width;
  };
  const kind = place => (place === state.drawn ? "next-drawn" : place < state.kept ? "next-kept" : "");
  while (i < state.k && (wide * state.warm[i]) / sum >= THIN) {
    add((wide * state.warm[i]) / sum, kind(i), nameOf(i));
    i += 1;
  }
  const share = (from, to) => (wide * state.warm.slice(from, to).reduce((a, b) => a + b, 0)) / sum;
  if (i < state.kept) {
    const before = x;
    const drawnWidth = Math.max((wide * state.warm[state.drawn]) / sum, 1.5);
    add(share(i, state.kept), "next-kept next-many");
    if (state.drawn >= i) {
      found.push(svg("rect", { x: before + share(i, state.drawn), y, width: drawnWidth,
        height: HIGH, class: "next-piece next-drawn" }));
    }
    i = state.kept;
  }
  if (i < state.k) add(share(i, state.k), "next-many");
  return found;
}
