// All tokens that top-k leaves, end to end: a line for top-p, and a pin where the draw falls.

import { placeIn } from "../../../course_utils/explorers/kit/hand.js";
import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import { total } from "./next_token.compute.js";
import { makeGrip } from "./next_token.grip.js";

const HIGH = 34;
const EDGE = 12;
const THIN = 2; // pixels of a piece under which the rest is drawn as one
const LETTER = 7.5;

/** The strip: { draw }, which returns the y below it. */
export function makeStrip(drawing, hand) {
  const title = svg("text", { x: 0 });
  const [boxes, names] = [svg("g"), svg("g")];
  const pieces = svg("g", { class: "next-pieces" }, boxes, names);
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
    set(title, { y: top + 10, text: width < 520 ? "the same, end to end" :
      "The same probabilities end to end; a draw falls anywhere on the filled part." });
    const found = piecesOf(state, nameOf, left, wide);
    reuse(boxes, "rect", found, (box, { x, width, kind }) => set(box, { x, y,
      width: Math.max(width, 0.5), height: HIGH, class: `next-piece ${kind}` }));
    reuse(names, "text", found.filter(each => each.name), (words, { x, width, kind, name }) => {
      set(words, { x: x + (width + 1) / 2, y: y + 22, "text-anchor": "middle",
        class: `next-piece-name ${kind}`, text: name });
    });
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

/** As many children as there are things, those from before first; `show(child, thing)`. */
function reuse(group, tag, things, show) {
  while (group.children.length > things.length) group.lastChild.remove();
  things.forEach((each, i) => show(group.children[i] ?? group.appendChild(svg(tag)), each));
}

/** Pieces as wide as their tokens are probable, until they are too thin to be told apart. */
function piecesOf(state, nameOf, left, wide) {
  const { warm, k, kept, drawn } = state;
  const unit = wide / total(warm.subarray(0, k));
  const share = (from, to) => unit * total(warm.subarray(from, to));
  const found = [];
  let x = left;
  let i = 0;
  const add = (width, kind, token = "") => {
    const name = token.length * LETTER + 6 < width ? token : "";
    found.push({ x, width: width - 1, kind, name });
    x += width;
  };
  const kindOf = place => (place === drawn ? "next-drawn" : place < kept ? "next-kept" : "");
  while (i < k && unit * warm[i] >= THIN) {
    add(unit * warm[i], kindOf(i), nameOf(i));
    i += 1;
  }
  if (i < kept) {
    const at = x + share(i, drawn);
    add(share(i, kept), "next-kept next-many");
    if (drawn >= i) {
      found.push({ x: at, width: Math.max(unit * warm[drawn], 1.5), kind: "next-drawn" });
    }
    i = kept;
  }
  if (i < k) add(share(i, k), "next-many");
  return found;
}
