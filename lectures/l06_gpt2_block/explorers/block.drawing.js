// The block as a drawing: the stream, wires with the tensors on them, and parts as radio buttons.

import { focusOn, stepsOf } from "../../../course_utils/explorers/kit/hand.js";
import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import { shapeOf } from "./block.compute.js";
import { SUM, across, downwards } from "./block.layout.js";
import { PARTS, WIRES } from "./block.parts.js";

const WIDE = 740; // pixels from which a branch is a row
const SIDE = 28; // pixels of the longest side of a card
const LEAST = 2.5;
const REACH = 20; // radius around a ⊕ in which a finger finds it
const CARDS = 3; // that stand for the heads
const SHIFT = 3; // pixels between two of them

/** A part's name, its index lower and smaller. */
export const nameOf = ({ base, index }) => [
  svg("tspan", {}, base), svg("tspan", { class: "block-index", dy: index ? 3 : 0 }, index),
];

/** The drawing; `near(key)` is told what a pointer is over. What is returned draws a state. */
export function makeDrawing(stage, hand, near) {
  const drawing = svg("svg", { class: "block-drawing", role: "radiogroup",
    "aria-label": hand.inputs.part.label });
  const wires = Object.entries(WIRES).map(([name, [shape, kind]]) => makeWire(name, shape, kind));
  const parts = PARTS.map(makePart);
  const name = svg("text", { class: "block-shape" });
  const note = svg("text", { class: "block-note", "text-anchor": "end" });
  // Words are set off from what is below them; no card loses its edge to that.
  drawing.append(...wires.map(each => each.line), ...wires.map(each => each.label),
    ...wires.map(each => each.card), name, note, ...parts.map(each => each.element));
  stage.append(drawing);
  listen(drawing, parts, hand, near);
  let laidOut;
  let layout;
  const draw = (state, width) => {
    if (laidOut !== width) {
      laidOut = width;
      layout = width < WIDE ? downwards(width) : across(width);
      set(drawing, { width, height: layout.height });
      wires.forEach(each => each.place(layout));
      parts.forEach(each => each.place(layout));
      set(name, { x: layout.name[0], y: layout.name[1] });
      set(note, { x: layout.note[0], y: layout.note[1] });
    }
    const chosen = PARTS.find(each => each.key === state.part);
    wires.forEach(each => each.draw(state, chosen));
    parts.forEach(each => each.draw(state));
    set(name, { text: `x ${shapeOf(state.stream)}` });
    name.classList.toggle("block-lit", chosen.takes[0] === "x0");
    set(note, { text: state.tokens > state.context
      ? `this model reads at most ${number(state.context)} tokens` : "" });
  };
  const light = key => {
    const pointed = PARTS.find(each => each.key === key);
    parts.forEach((each, i) => each.element.classList.toggle("block-near", PARTS[i] === pointed));
    wires.forEach(each => each.near(pointed));
  };
  return { draw, light, focus: key => focusOn(elementOf(parts, key)) };
}

const elementOf = (parts, key) => parts[PARTS.findIndex(each => each.key === key)].element;

/** Pointer, touch and arrow keys: they walk along the data's way. */
function listen(drawing, parts, hand, near) {
  const at = event => event.target.closest?.("[data-part]")?.dataset.part;
  drawing.addEventListener("pointerover", event =>
    near(event.pointerType === "touch" ? undefined : at(event)));
  drawing.addEventListener("pointerleave", () => near(undefined));
  drawing.addEventListener("click", event => {
    const part = at(event);
    if (!part) return;
    hand.change({ part });
    focusOn(elementOf(parts, part));
  });
  drawing.addEventListener("keydown", event => {
    const now = PARTS.findIndex(each => each.key === hand.values.part);
    const last = PARTS.length - 1;
    const ends = { Home: 0, End: last }[event.key];
    const by = Math.sign(stepsOf(event));
    // The keys that say "down" go on, as in every list of radio buttons.
    const way = /^Arrow(Up|Down)$/.test(event.key) ? -by : by;
    if (ends === undefined && !by) return;
    event.preventDefault();
    const { key } = PARTS[ends ?? (now + way + PARTS.length) % PARTS.length];
    hand.change({ part: key });
    focusOn(elementOf(parts, key));
  });
}

/** A wire, the tensor on it as a card, and its shape in numbers. */
function makeWire(name, shape, kind) {
  const isStream = kind === "x";
  const line = svg("path", { class: `block-wire block-${kind} block-is-${name}` });
  const sheets = Array.from({ length: shape === "per_head" || shape === "pairs" ? CARDS : 1 },
    () => svg("rect", { class: "ce-eased", width: 1, height: 1 }));
  const card = svg("g", { class: `block-card block-${kind}` }, ...sheets);
  const label = svg("text", { class: "block-shape" });
  let place;
  const all = [line, card, label];
  const lit = (mark, part) => {
    const isOn = Boolean(part) && [...part.takes, ...part.gives].includes(name);
    all.forEach(each => each.classList.toggle(mark, isOn));
  };
  if (isStream) set(card, { display: "none" });
  return {
    line, card, label,
    place({ wires, stream }) {
      if (isStream) {
        const [x, from, to] = stream[name];
        const isLast = name === "x2"; // then it ends in an arrow
        set(line, { d: isLast
          ? `M${x - 3.5} ${from}V${to - 9}H${x - 9}L${x} ${to}L${x + 9} ${to - 9}H${x + 3.5}V${from}Z`
          : `M${x} ${from}V${to}` });
        return;
      }
      const [d, at, [x, y, anchor] = []] = wires[name];
      place = at;
      set(line, { d });
      set(card, { display: at ? false : "none", transform: at && `translate(${at})` });
      set(label, { x, y, "text-anchor": anchor, display: anchor ? false : "none" });
    },
    draw(state, chosen) {
      lit("block-lit", chosen);
      if (!place) return;
      const sizes = state[shape];
      const most = Math.sqrt(Math.max(...state.stream, ...state.wide));
      const [high, wide] = sizes.slice(-2).map(size =>
        Math.max(LEAST, (SIDE * Math.sqrt(size)) / most));
      sheets.forEach((sheet, i) => {
        const off = ((sheets.length - 1) / 2 - i) * SHIFT;
        sheet.style.transform =
          `translate(${off - wide / 2}px, ${-off - high / 2}px) scale(${wide}, ${high})`;
      });
      set(label, { text: shapeOf(sizes) });
    },
    near: part => lit("block-near", part),
  };
}

/** A part as a radio button: filled where it is learned, round where it is not. */
function makePart(part) {
  const { key, kind, learned, base, said } = part;
  const isSum = kind === "sum";
  const shape = svg(isSum ? "circle" : "rect", { class: "block-box" });
  const title = isSum
    ? svg("path", { class: "block-plus", d: "M-5.5 0H5.5M0-5.5V5.5" })
    : svg("text", { class: "block-title" }, ...nameOf(part));
  const formula = svg("text", { class: "block-formula" });
  const element = svg("g", { role: "radio", "data-part": key, tabindex: -1,
    class: `block-part block-${kind}${learned ? " block-learned" : ""}` },
    ...(isSum ? [svg("circle", { class: "block-reach", r: REACH })] : []), shape, title, formula);
  let room = "";
  return {
    element,
    place({ boxes }) {
      const [x, y, width, height] = boxes[key];
      set(element, { transform: `translate(${x} ${y})` });
      room = { [height > 50]: "below", [width > 150]: "beside" }.true ?? "";
      if (isSum) set(shape, { r: SUM });
      else {
        const rx = learned ? 5 : 16;
        set(shape, { x: -width / 2, y: -height / 2, width, height, rx });
        set(title, { x: room === "beside" ? -46 : 0, y: room === "below" ? -4 : 4.5 });
        set(formula, { x: room === "beside" ? 28 : 0, y: room === "below" ? 14 : 4.5 });
      }
    },
    draw(state) {
      const isChosen = state.part === key;
      set(element, { "aria-checked": String(isChosen), tabindex: isChosen ? 0 : -1 });
      const { takes, gives } = part;
      const shapes = [takes.at(-1), gives[0]].map(wire => shapeOf(state[WIRES[wire][0]]));
      const spoken = `${isSum ? "⊕" : base}${part.index}`;
      set(element, { "aria-label": `${spoken}, ${said}: ${shapes.join(" to ")}` });
      const written = { scores: `q · k / √${state.per_head[2]}`, mix: "weights · v" }[key];
      set(formula, { text: room ? written : "" });
    },
  };
}
