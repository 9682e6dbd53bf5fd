// The row and its copy as chips, and bars for how probable the model finds what comes next.

import { focusOn } from "../../../course_utils/explorers/kit/hand.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { readableOn } from "../../../course_utils/explorers/kit/theme.js";
import { number } from "../../../course_utils/explorers/kit/words.js";

const HALF = 8;
const LENGTH = 2 * HALF;
const ALONG = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };
const LETTER = 6.4; // pixels, about

/** Chips, notes and bars: { draw, light }. */
export function makeTokens(table, hand) {
  const [first, copy] = [0, 1].map(() => svg("text", { y: 13, class: "induct-half" }));
  const chips = Array.from({ length: LENGTH }, (_, i) => makeChip(hand, i));
  const group = svg("g", { role: "radiogroup", "aria-label": "the token that asks" },
    ...chips.map(each => each.element));
  const note = makeNote();
  const bars = makeBars(hand);
  table.append(first, copy, group, note.element, bars.element);
  group.addEventListener("keydown", event => {
    const by = ALONG[event.key] ?? { Home: -LENGTH, End: LENGTH }[event.key];
    if (!by) return;
    event.preventDefault();
    const position = clamp(hand.values.position + by, 0, LENGTH - 1);
    hand.change({ position });
    focusOn(chips[position].element);
  });
  let drawn;
  return {
    draw(state, layout, theme) {
      const isNew = drawn !== layout;
      drawn = layout;
      const [one, other] = layout.isNarrow ? ["8 tokens", "copy"]
        : ["8 different tokens", "their copy"];
      set(first, { x: layout.x(0), text: one });
      const start = hand.values.start ? `, from ${state.tokens[HALF]} on` : "";
      set(copy, { x: layout.x(HALF), text: other + start });
      chips.forEach(each => each.draw(state, layout, isNew));
      note.draw(state, layout);
      bars.draw(state, layout, isNew, theme);
    },
    light: (weights, theme) => chips.forEach((each, i) => each.light(weights?.[i], theme)),
  };
}

/** A token; pressed, it asks. */
function makeChip(hand, i) {
  const box = svg("rect", { rx: 6 });
  const name = svg("text");
  const element = svg("g", { role: "radio" }, box, name);
  let asks = false;
  element.addEventListener("click", () => {
    hand.change({ position: i });
    focusOn(element);
  });
  return {
    element,
    draw({ tokens, position, earlier, target }, layout, isNew) {
      if (isNew) {
        set(box, { x: layout.x(i) + 1, y: layout.chips, width: layout.cell - 2,
          height: layout.chip });
        set(name, { x: layout.middle(i), y: layout.chips + layout.chip / 2 + 5 });
      }
      asks = i === position;
      const kind = asks ? " induct-asks" : i === earlier ? " induct-earlier"
        : i === target ? " induct-target" : "";
      set(name, { text: tokens[i] });
      set(element, { class: `induct-chip${kind}`, "aria-checked": String(i === position),
        tabindex: i === position ? 0 : -1, "aria-label": `token ${tokens[i]}, position ${i}` });
    },
    light(weight, theme) {
      const colour = weight === undefined || asks ? "" : theme.weight(weight);
      box.style.fill = colour;
      name.style.fill = colour && readableOn(colour);
    },
  };
}

/** What the rings mean, under the chips that have them. */
function makeNote() {
  const [blue, orange] = ["blue", "orange"].map(each => svg("tspan", { class: `induct-${each}` }));
  const element = svg("text", { "text-anchor": "middle" }, blue, orange);
  return { element, draw({ earlier, target, position }, layout) {
    const wraps = earlier > target;
    const words = earlier < 0 ? ["", ""] : wraps ? ["last of the 8,", " so the first comes next"]
      : ["same token,", " then the one after it"];
    set(blue, { text: words[0] });
    set(orange, { text: words[1] });
    const half = (words.join("").length * LETTER) / 2;
    const at = earlier < 0 ? layout.middle(position)
      : wraps ? layout.middle(4) - layout.cell / 2 : layout.x(target);
    set(element, { x: clamp(at, layout.left + half, layout.width - half), y: layout.note });
  } };
}

/** A bar for each position but the last: the probability of the token that really comes next. */
function makeBars(hand) {
  const heading = svg("text");
  const next = svg("text", { class: "induct-next-name" });
  const bracket = svg("path", { class: "induct-bracket" });
  const counted = svg("text", { "text-anchor": "middle" });
  const bars = Array.from({ length: LENGTH - 1 }, (_, i) => makeBar(hand, i));
  const element = svg("g", {}, heading, next, bracket, counted, ...bars.map(each => each.element));
  return { element, draw(state, layout, isNew) {
    bars.forEach((each, i) => each.draw(state, layout, isNew, i));
    if (!isNew) return;
    const { isNarrow, heading: y, bars: top, high, left } = layout;
    set(heading, { x: isNarrow ? 0 : left - 10, y: isNarrow ? y - 4 : top + high - 3,
      "text-anchor": isNarrow ? "start" : "end",
      text: isNarrow ? "probability of the token that comes next" : "probability of" });
    set(next, { x: left - 10, y: top + high + 17, "text-anchor": "end",
      text: isNarrow ? "" : "what comes next" });
    const [from, to] = [layout.x(HALF) + 2, layout.x(LENGTH - 2) + layout.cell - 2];
    set(bracket, { d: `M${from} ${top + high + 22}v4H${to}v-4` });
    set(counted, { x: (from + to) / 2, y: top + high + 40,
      text: isNarrow ? "these make the loss" : "the loss is made of these seven" });
  } };
}

function makeBar(hand, i) {
  const track = svg("rect", { class: "induct-track", rx: 2 });
  const fill = svg("rect", { rx: 2 });
  const [share, name] = ["share", "truth"].map(each => svg("text", { class: `induct-${each}` }));
  const element = svg("g", {}, track, fill, share, name);
  element.addEventListener("click", () => hand.change({ position: i }));
  return { element, draw({ right, tokens, position }, layout, isNew) {
    const { bars, high, cell } = layout;
    const inner = { x: layout.x(i) + 3, width: cell - 6 };
    if (isNew) {
      set(track, { ...inner, y: bars, height: high });
      set(name, { x: layout.middle(i), y: bars + high + 17 });
    }
    const end = bars + high * (1 - right[i]);
    set(fill, { ...inner, y: end, height: bars + high - end });
    set(share, { x: layout.middle(i), y: bars - 4,
      text: layout.hasRoom ? number(right[i], 2) : "" });
    set(name, { text: tokens[i + 1] });
    set(element, { class: `induct-bar${i < HALF ? " induct-open" : ""}` +
      `${i === position ? " induct-here" : ""}` });
  } };
}
