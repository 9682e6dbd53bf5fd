// A pill with words that is dragged: a slider of the picture.

import { draggable, stepped } from "../../../course_utils/explorers/kit/hand.js";
import { set, svg } from "../../../course_utils/explorers/kit/svg.js";

const HIGH = 22;

/**
 * A grip for a control. `line` is dragged with it, `at(place)` the value at a place of `area`, and
 * `far` how much an arrow key moves.
 */
export function makeGrip(area, hand, name, at, far, grab = "shared") {
  const line = svg("path", { class: "next-line" });
  const pill = svg("rect", { height: HIGH, rx: 11 });
  const words = svg("text");
  const wide = svg("path", { class: "next-wide" });
  const { min, max } = hand.inputs[name];
  const grip = svg("g", { class: `next-grip next-grip-${name}`, role: "slider", tabindex: 0,
    "data-grab": grab, "aria-label": hand.inputs[name].label, "aria-valuemin": min,
    "aria-valuemax": max }, line, wide, pill, words);
  area.append(grip);
  const digits = hand.inputs[name].digits;
  const to = value => hand.change({ [name]: Number(hand.clamp(name, value).toFixed(digits)) });
  let off = { x: 0, y: 0 };
  let home = { x: 0, y: 0 };
  draggable(grip, area, {
    start: place => { off = { x: home.x - place.x, y: home.y - place.y }; },
    move: place => to(at({ x: place.x + off.x, y: place.y + off.y })),
  });
  stepped(grip, by => to(hand.values[name] + by * far()),
    key => to(key === "Home" ? min : max));
  return { grip, draw({ text, sign = "", x, y, width, d = "", place, value = hand.values[name] }) {
    home = place;
    set(line, { d });
    set(wide, { d });
    set(pill, { x: x - width / 2, y: y - HIGH / 2, width });
    set(words, { x, y: y + 4.5, "text-anchor": "middle" });
    set(words, { text: sign ? `${text} ${sign}` : text });
    set(grip, { "aria-valuenow": value, "aria-valuetext": text });
  } };
}
