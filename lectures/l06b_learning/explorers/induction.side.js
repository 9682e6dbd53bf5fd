// What the copy costs, and which token the model expects next.

import { linear } from "../../../course_utils/explorers/kit/scale.js";
import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";

const TOKENS = 16;
const MOST = 14; // nats: more than any row costs without any of the heads
const GUESSES = [["8", Math.log(8)], ["16", Math.log(16)]];
const [RAIL, LIST] = [52, 130]; // heights of the scale and of the list's title
const HIGH = 15;

/** Loss and expectation: { draw }. */
export function makeSide(drawing) {
  const loss = makeLoss();
  const title = svg("text", { class: "induct-title", y: LIST });
  const rows = Array.from({ length: TOKENS }, (_, i) => makeRow(LIST + 9 + i * HIGH));
  const frame = svg("rect", { class: "induct-answer", height: HIGH, x: 0.5, rx: 3 });
  drawing.append(loss.element, title, ...rows.map(each => each.element), frame);
  return { draw(state, { side }) {
    set(drawing, { width: side, height: LIST + 12 + TOKENS * HIGH,
      "aria-label": `loss ${number(state.loss, 2)} nats, and the probability of each token` });
    loss.draw(state, side);
    const { tokens, position, earlier, truth } = state;
    set(title, { text: `what it expects after this ${tokens[position]}` });
    const first = new Set(tokens);
    const word = earlier < 0 ? "next" : "right";
    rows.forEach((each, i) => each.draw(state.expected[i], side,
      { i, isThere: first.has(i), word: i === truth ? word : "" }));
    set(frame, { display: truth < 0 ? "none" : undefined, width: side - 1,
      y: LIST + 9 + Math.max(truth, 0) * HIGH });
  } };
}

/** The loss as a number and on a scale with what two guesses cost. */
function makeLoss() {
  const name = svg("text", { class: "induct-title", y: 13 }, "loss of the copy");
  const value = svg("tspan", { class: "induct-loss" });
  const said = svg("text", { x: 0, y: 42 }, value, svg("tspan", { dx: 5 }, "nats"));
  const whole = svg("text", { y: 42, "text-anchor": "end" });
  const rail = svg("rect", { class: "induct-track", y: RAIL, height: 10, rx: 2, x: 0 });
  const fill = svg("rect", { class: "induct-cost", y: RAIL, height: 10, rx: 2, x: 0 });
  const ghost = svg("path", { class: "induct-ghost" });
  const end = svg("text", { y: RAIL + 24, "text-anchor": "end" }, MOST);
  const marks = GUESSES.map(([among, cost], i) => ({
    cost,
    line: svg("path", { class: "induct-mark" }),
    text: svg("text", { y: RAIL + 44 - 16 * i }, `${number(cost, 2)}: a guess among ${among}`),
  }));
  const element = svg("g", {}, name, said, whole, rail, fill, ghost, end,
    ...marks.flatMap(each => [each.line, each.text]));
  return { element, draw({ loss, whole_loss: all, off }, width) {
    const at = linear([0, MOST], [0, width]);
    set(value, { text: number(loss, 2) });
    set(whole, { x: width, text: off.length ? `all heads on: ${number(all, 2)}` : "" });
    set(rail, { width });
    set(end, { x: width });
    set(fill, { width: at(Math.min(loss, MOST)) });
    set(ghost, { d: off.length ? `M${at(all)} ${RAIL - 4}v18` : "" });
    marks.forEach(({ cost, line, text }, i) => {
      set(line, { d: `M${at(cost)} ${RAIL - 3}v${44 - 16 * i}` });
      set(text, { x: at(cost) + 6 });
    });
  } };
}

/** One token: its name, a bar, its probability. */
function makeRow(y) {
  const name = svg("text", { x: 26, y: y + 12, "text-anchor": "end" });
  const bar = svg("rect", { class: "induct-expect", x: 34, y: y + 2, height: HIGH - 4, rx: 2 });
  const share = svg("text", { y: y + 12 });
  const right = svg("text", { class: "induct-right", y: y + 12, "text-anchor": "end" });
  const element = svg("g", {}, name, bar, share, right);
  return { element, draw(probability, width, { i, isThere, word }) {
    const long = Math.round((width - 34 - 84) * probability * 10) / 10; // less is not seen
    set(element, { class: `induct-token${isThere ? "" : " induct-other"}` });
    set(name, { text: i });
    set(bar, { width: Math.max(long, 0.5) });
    set(share, { x: 34 + long + 6,
      text: probability >= 0.005 ? number(probability, 2) : "" });
    set(right, { x: width - 6, text: word });
  } };
}
