// Lecture 02: scores in the hand; weights, Jacobian and its norm follow, and light up together.

import { control } from "../../../course_utils/explorers/kit/controls.js";
import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { html, set } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import style from "./softmax.css";
import { caption, compute } from "./softmax.compute.js";
import { makeScores } from "./softmax.scores.js";
import { makeHill, makeJacobian } from "./softmax.jacobian.js";

const WIDE = 680; // pixels from which scores and Jacobian are next to each other
const GAP = 34;

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const [left, right] = [html("div", {}), html("div", {})];
  const box = html("div", { class: "soft" }, left, right);
  const told = html("p", { class: "soft-told" });
  const rail = control(hand.inputs.temperature, temperature => hand.change({ temperature }));
  stage.append(box);
  let now; // what is drawn, and what is pointed at: { score, weight }, or a score alone
  let pointed = {};
  const light = () => {
    scores.light(now, pointed);
    jacobian.light(pointed);
    set(told, { text: inWords(now.state, pointed) });
  };
  const point = (next = {}) => {
    pointed = next;
    if (now) light();
  };
  const scores = makeScores(left, hand, point);
  left.append(rail.element);
  const jacobian = makeJacobian(right, point);
  right.append(told);
  const hill = makeHill(right, hand);
  return (state, values, theme) => {
    now = { state, values, theme };
    const isWide = hand.width >= WIDE;
    box.classList.toggle("soft-wide", isWide);
    const side = isWide ? clamp(Math.round(hand.width * 0.36), 300, 340) : Math.min(hand.width, 380);
    right.style.width = `${side}px`;
    scores.draw(now, isWide ? hand.width - side - GAP : hand.width);
    rail.show(values.temperature);
    jacobian.draw(state, theme, side);
    hill.draw(state, values, side);
    light();
  };
}

/** What is pointed at, in words. */
function inWords({ jacobian, weights }, { score, weight }) {
  if (score === undefined) return "Choose a key or a cell. Colour is the square root of the size, so small entries show.";
  const row = weight ?? score;
  const slope = jacobian[row * weights.length + score];
  const [moves, much] = [slope < 0 ? "falls" : "rises", number(Math.abs(slope), 3)];
  return weight === undefined || weight === score
    ? `Score ${score} up: weight ${score} rises by ${much} a point, and the others together fall by as much.`
    : `Score ${score} up: weight ${weight} ${moves} by ${much} a point.`;
}
