// A strip for each head: its weights on the tokens, its name, and a switch.

import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { readableOn } from "../../../course_utils/explorers/kit/theme.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import { HEADS, nameOf, weightsOf } from "./induction.compute.js";

const LENGTH = 16;
const HALF = 8;
const SHOWN = 0.095; // a weight from which its number is written

/** The strips: { draw, light }. */
export function makeStrips(table, hand) {
  const strips = HEADS.map((_, i) => makeStrip(hand, i));
  const absent = svg("text", { class: "induct-absent" });
  table.append(...strips.map(each => each.element), absent);
  return {
    draw(state, layout, theme) {
      strips.forEach((each, i) => each.draw(state, layout, theme, i));
      set(absent, { x: layout.left, y: layout.stripAt(2) + 18 - layout.above,
        text: state.heads.length > 2 ? "" : "This model has no layer 1." });
    },
    light: ({ column, strip }) =>
      strips.forEach((each, i) => each.light(column, strip === i)),
  };
}

function makeStrip(hand, i) {
  const [layer, head] = HEADS[i];
  const knob = makeSwitch(hand, HEADS[i]);
  const frame = svg("path", { class: "induct-frame" });
  const cells = Array.from({ length: LENGTH }, makeCell);
  const aim = svg("rect", { class: "induct-aim", rx: 3 });
  const most = svg("text", { "text-anchor": "end" });
  const element = svg("g", {}, knob.element, frame, ...cells.map(each => each.element), aim, most);
  let column;
  return {
    element,
    draw(state, layout, theme) {
      const isThere = i < state.heads.length;
      set(element, { display: isThere ? undefined : "none" });
      if (!isThere) return;
      const weights = weightsOf(state, i);
      const isOn = hand.values[nameOf(HEADS[i])];
      const y = layout.stripAt(i);
      const top = weights.indexOf(Math.max(...weights));
      const words = `${number(weights[top], 2)} on ${state.tokens[top]}`;
      knob.draw(isOn, layout, y, `layer ${layer}, head ${head}`, `${words}, position ${top}`);
      set(element, { class: isOn ? "induct-strip" : "induct-strip induct-off" });
      set(most, { x: layout.width, y: y - 8, text: layout.isNarrow ? `most: ${words}` : "" });
      set(frame, { d: frameOf(state.position, layout, y) });
      cells.forEach((each, s) => each.draw(weights[s], layout, { s, y, theme, isOn,
        isSeen: s <= state.position }));
      set(aim, { display: state.target < 0 ? "none" : undefined, y: y - 1,
        x: layout.x(Math.max(state.target, 0)), width: layout.cell, height: layout.strip + 2 });
    },
    light(next, isPointed) {
      element.classList.toggle("induct-pointed", isPointed);
      if (!(next >= 0) && !(column >= 0)) return;
      column = next;
      cells.forEach((each, s) => each.light(s === column));
    },
  };
}

/** The outline of what a position sees: the first half and the copy up to it. */
function frameOf(position, layout, y) {
  const box = (from, to) =>
    `M${layout.x(from)} ${y}H${layout.x(to) + layout.cell}v${layout.strip}H${layout.x(from)}Z`;
  return box(0, Math.min(position, HALF - 1)) + (position < HALF ? "" : box(HALF, position));
}

/** One weight. */
function makeCell() {
  const box = svg("rect", { class: "induct-cell" });
  const share = svg("text", { class: "induct-weight" });
  const element = svg("g", {}, box, share);
  let now = {};
  const write = isLit => {
    const { weight, layout, isSeen, isOn, colour } = now;
    const isWritten = isSeen && layout.hasRoom && (weight >= SHOWN || isLit);
    set(share, { text: isWritten ? number(weight, 2) : "" });
    if (isWritten) share.style.fill = isOn ? readableOn(colour) : "";
  };
  return {
    element,
    draw(weight, layout, { s, y, theme, isOn, isSeen }) {
      const colour = isSeen ? theme.weight(weight) : "transparent";
      const next = { weight, layout, isSeen, isOn, colour };
      if (Object.keys(next).every(name => next[name] === now[name])) return;
      if (layout !== now.layout) {
        set(box, { x: layout.x(s) + 1, y: y + 1, width: layout.cell - 2,
          height: layout.strip - 2 });
        set(share, { x: layout.middle(s), y: y + layout.strip / 2 + 4 });
      }
      if (colour !== now.colour) box.style.fill = colour;
      now = next;
      write(false);
    },
    light: write,
  };
}

/** A head's switch, with its name. */
function makeSwitch(hand, which) {
  const room = svg("rect", { class: "induct-room" });
  const rail = svg("rect", { class: "induct-rail", width: 30, height: 16, rx: 8 });
  const dot = svg("circle", { class: "induct-dot", r: 5.5 });
  const name = svg("text", { class: "induct-name" });
  const element = svg("g", { class: "induct-switch", role: "switch", tabindex: 0 },
    room, rail, dot, name);
  const input = nameOf(which);
  const flip = () => hand.change({ [input]: !hand.values[input] });
  element.addEventListener("click", flip);
  element.addEventListener("keydown", event => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    flip();
  });
  return { element, draw(isOn, layout, y, title, words) {
    const middle = layout.isNarrow ? y - 13 : y + layout.strip / 2;
    set(room, { x: 0, y: middle - 13, width: layout.isNarrow ? 170 : layout.left - 6, height: 26 });
    set(rail, { x: 1, y: middle - 8 });
    set(dot, { cx: isOn ? 23 : 9, cy: middle });
    set(name, { x: 38, y: middle + 4.5, text: isOn ? title : `${title}: off` });
    set(element, { "aria-checked": String(isOn), "aria-label": `${title}; most weight: ${words}` });
  } };
}
