// The FLOPs of one more token: with the weights, and with what is kept.

import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { workOf } from "./two_models.compute.js";

const SIDES = ["left", "right"];
const HIGH = 14; // pixels of a bar
const NAMES = 128; // pixels of a name before its bar
const NUMBERS = 190; // and of the numbers after it

/** Both bars in a stage; what is returned draws those of a state. */
export function makeWork(stage) {
  const solid = svg("rect", { class: "models-solid", y: 5, width: 11, height: 11 });
  const pale = svg("rect", { class: "models-solid models-pale", y: 5, width: 11, height: 11 });
  const [title, weights, kept] = [0, 1, 2].map(i => svg("text", { class: i ? "" : "ce-axis", y: 15 }));
  const rows = SIDES.map(makeRow);
  const drawing = svg("svg", { class: "models-work", role: "img" },
    title, solid, weights, pale, kept, ...rows.map(each => each.group));
  stage.append(drawing);
  return (state, width, isNarrow) => {
    const high = isNarrow ? 38 : 22;
    const height = 24 + 2 * high;
    const heard = SIDES.map((_, i) => `${state.names[i]}: ${inWords(state.work[i])}`).join("; ");
    const viewBox = `0 0 ${width} ${height}`;
    set(drawing, { width, height, viewBox, "aria-label": `FLOPs for a token: ${heard}` });
    const [words, at] = isNarrow
      ? ["FLOPs a token:", [104, 184]]
      : ["FLOPs for one more token of one text:", [260, 392]];
    set(title, { x: 0, text: words });
    [solid, pale].forEach((each, i) => set(each, { x: at[i] }));
    set(weights, { x: at[0] + 17, text: isNarrow ? "weights" : "with the weights" });
    set(kept, { x: at[1] + 17, text: isNarrow ? "what is kept" : "with what is kept" });
    const most = Math.max(...state.work.map(sum));
    rows.forEach((row, i) => row.draw(state.names[i], state.work[i], most,
      { y: 26 + i * high, width, isNarrow }));
  };
}

const sum = ([weights, kept]) => weights + kept;
const inWords = work => work.map(workOf).join(" + ");

function makeRow(side) {
  const name = svg("text", { class: "models-name", x: 0 });
  const weights = svg("rect", { class: `models-fill-${side}`, height: HIGH });
  const kept = svg("rect", { class: `models-fill-${side} models-pale`, height: HIGH });
  const numbers = svg("text");
  const group = svg("g", { class: `models-stack-${side}` }, name, weights, kept, numbers);
  return { group, draw(model, work, most, { y, width, isNarrow }) {
    const left = isNarrow ? 0 : NAMES;
    const scale = (width - left - (isNarrow ? 0 : NUMBERS)) / most;
    const top = isNarrow ? y + 16 : y;
    set(name, { y: y + 12, text: model });
    set(weights, { x: left, y: top, width: work[0] * scale });
    set(kept, { x: left + work[0] * scale, y: top, width: work[1] * scale });
    set(numbers, isNarrow ? { x: width, y: y + 12, "text-anchor": "end", text: inWords(work) }
      : { x: left + sum(work) * scale + 8, y: y + 12, "text-anchor": "start", text: inWords(work) });
  } };
}
