// The memory of the matrix as one long row, cut by both splits.

import { handle } from "../../../course_utils/explorers/kit/hand.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { TOKENS, WIDTH } from "./split.compute.js";

const COUNT = TOKENS * WIDTH;
const LEFT = 64;
const TOP = 24;
const HIGH = 17;
const HEIGHT = TOP + 2 * HIGH + 6;

/** Where a head's numbers lie in memory: the first of each run, and the first after it. */
function runs(placed, head) {
  const isIts = n => placed[3 * n] === head;
  const all = [...Array(COUNT).keys()];
  const starts = all.filter(n => isIts(n) && !(n && isIts(n - 1)));
  return starts.map(from => [from, all.find(n => n > from && !isIts(n)) ?? COUNT]);
}

/** The strip below both splits; what is returned draws it. */
export function makeMemory(box, hand) {
  const drawing = svg("svg", { class: "split-memory", role: "group", height: HEIGHT,
    "aria-label": "the numbers in memory" });
  const rows = ["right", "wrong"].map((name, i) => {
    const y = TOP + i * (HIGH + 2);
    drawing.append(svg("text", { y: y + 13, x: 0, class: "split-name" }, name));
    return { y, heads: [...Array(6).keys()].map(head => svg("path", { class: `split-head-${head}` })) };
  });
  const tokens = [...Array(TOKENS).keys()].map(token => svg("text", { y: TOP - 8 }, token));
  const frame = svg("rect", { class: "split-frame", rx: 3, y: TOP - 3, height: 2 * HIGH + 8 });
  const room = svg("rect", { class: "split-room", x: LEFT, y: TOP - 4, height: 2 * HIGH + 10 });
  const slider = svg("g", {}, ...rows.flatMap(each => each.heads), frame, room);
  drawing.append(svg("text", { y: TOP - 8, x: 0 }, "memory"), ...tokens, slider);
  box.append(drawing);
  let step = 1;
  slider.addEventListener("keydown", event => {
    const by = { ArrowUp: -WIDTH, ArrowDown: WIDTH }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // a row of x up or down, not one number
    hand.change({ number: clamp(hand.values.number + by, 0, COUNT - 1) });
  });
  const hear = handle(slider, drawing, hand, "number",
    { jumps: true, from: ({ x }) => Math.floor((x - LEFT) / step) });
  let laidOut;
  return ({ heads, number, right, wrong }, width) => {
    if (laidOut !== `${heads} ${width}`) {
      laidOut = `${heads} ${width}`;
      step = (width - LEFT) / COUNT;
      set(drawing, { width });
      set(room, { width: width - LEFT });
      [right, wrong].forEach((placed, i) => rows[i].heads.forEach((each, head) =>
        set(each, { d: runs(placed, head).map(([from, until]) => `M${LEFT + from * step} ` +
          `${rows[i].y}h${(until - from) * step + 0.3}v${HIGH}H${LEFT + from * step}z`).join("") })));
      set(tokens[0], { text: width < 500 ? "0" : "token 0" });
      tokens.forEach((text, token) => set(text, { x: LEFT + token * WIDTH * step }));
    }
    set(frame, { x: LEFT + number * step - 1.5, width: step + 3 });
    const [token, place] = [Math.floor(number / WIDTH), number % WIDTH];
    hear(`number ${place} of token ${token}`);
  };
}
