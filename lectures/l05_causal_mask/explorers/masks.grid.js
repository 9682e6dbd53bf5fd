// The cells of a mask, which are painted, and the words of their rows and columns.

import { draggable, focusOn, pointing } from "../../../course_utils/explorers/kit/hand.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";

/** Where the cells begin: beside the names of rows, below the axes' names and the words. */
export const CELLS = { left: 52, top: 46 };
const ARROWS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };

/** A cross around a place. */
export const cross = ({ x, y }, far) =>
  `M${x - far} ${y - far}L${x + far} ${y + far}M${x + far} ${y - far}L${x - far} ${y + far}`;
const ring = ({ x, y }) => `M${x - 3} ${y}a3 3 0 1 0 6 0a3 3 0 1 0-6 0`;
const drawNothing = () => "";
const MARK = {
  leak: place => cross(place, 5.5), late: place => cross(place, 3.5), via: ring, own: ring,
};

const text = (attributes, words = "") => svg("text", attributes, words);

/** The grid in a box; what is returned draws a state with its words, in cells of some pixels. */
export function makeGrid(box, hand, all, point) {
  const marks = ["via", "late"].map(kind => html("span", { class: `mask-is-${kind}` }));
  const hint = html("p", { class: "mask-hint" }, "press and drag to paint", ...marks);
  const drawing = svg("svg", { role: "group", "aria-label": "mask" });
  box.append(html("div", {}, hint, drawing));
  const frame = svg("rect", { class: "mask-frame ce-eased", rx: 9 });
  const axes = [
    text({ class: "mask-k", y: 14, x: CELLS.left + 3 }, "may attend to →"),
    text({ class: "mask-q", y: 14, x: CELLS.left - 8, "text-anchor": "end" }, "asks ↓"),
  ];
  const asked = all.map(() => text({ class: "mask-k", y: CELLS.top - 9, "text-anchor": "middle" }));
  const asking = all.map(() =>
    text({ class: "mask-q", x: CELLS.left - 8, "text-anchor": "end", "data-press": true }));
  const empty = all.map(() => text({ class: "mask-empty", "text-anchor": "middle" }));
  const layer = svg("g", { class: "mask-cells", tabindex: -1, "data-grab": "shared" }); // Tab goes to a cell
  const cells = all.map(t => all.map(s => makeCell(layer, t, s)));
  drawing.append(...axes, ...asked, ...asking, layer, frame, ...empty);
  asking.forEach((each, t) => each.addEventListener("click", () => hand.change({ word: t })));
  const light = pair => {
    asking.forEach((each, t) => each.classList.toggle("mask-lit", pair?.[0] === t));
    asked.forEach((each, s) => each.classList.toggle("mask-lit", pair?.[1] === s));
    point(pair);
  };
  let side;
  painted(layer, drawing, hand, cells, light, () => side);
  const place = size => {
    side = size;
    const whole = size * all.length;
    set(drawing, { width: CELLS.left + whole, height: CELLS.top + whole });
    set(frame, { x: CELLS.left, y: CELLS.top, width: whole, height: size });
    all.forEach(t => {
      const middle = (t + 0.5) * size;
      set(asked[t], { x: CELLS.left + middle });
      set(asking[t], { y: CELLS.top + middle + 4 });
      set(empty[t], { x: CELLS.left + whole / 2, y: CELLS.top + middle + 4 });
      cells[t].forEach((cell, s) =>
        cell.place(CELLS.left + (s + 0.5) * size, CELLS.top + middle, size));
    });
  };
  return (state, words, size) => {
    if (size !== side) place(size);
    const { word, knows, layers } = state;
    const last = knows.slice(layers * all.length ** 2);
    const seen = new Set();
    frame.style.transform = `translateY(${word * side}px)`;
    all.forEach(t => {
      set(asked[t], { text: words[t] });
      set(asking[t], { text: words[t] });
      asked[t].classList.toggle("mask-out", !last[word * all.length + t]);
      asking[t].classList.toggle("mask-out", t !== word);
      set(empty[t], { text: state.empty[t] ? "attends to nothing: softmax is 0/0" : "" });
      cells[t].forEach((cell, s) => {
        const index = t * all.length + s;
        const kind = kindOf(state.mask[index], last[index], s - t);
        seen.add(kind);
        cell.show(kind, words);
      });
    });
    set(marks[0], { text: seen.has("via") ? "• reached through others" : "" });
    set(marks[1], { text: seen.has("late") || seen.has("leak") ? "× comes later" : "" });
  };
}

/** What a cell is: allowed; reached through other words; or a word that keeps its own vector. */
function kindOf(may, reached, ahead) {
  if (may) return ahead > 0 ? "leak" : "may";
  if (!reached) return "not";
  return ahead > 0 ? "late" : ahead < 0 ? "via" : "own";
}

/** A cell, a checkbox for those who listen. */
function makeCell(layer, t, s) {
  const room = svg("rect", { class: "mask-room" });
  const ground = svg("rect", { rx: 6 });
  const mark = svg("path");
  const group = svg("g", {
    role: "checkbox", tabindex: t || s ? -1 : 0, "data-pair": `${t} ${s}`,
  }, room, ground, mark);
  layer.append(group);
  let shown = "";
  let drawMark = drawNothing;
  let middle;
  const place = (x, y, size) => {
    middle = { x, y };
    const square = (rect, by) =>
      set(rect, { x: x - size / 2 + by, y: y - size / 2 + by, width: size - 2 * by,
        height: size - 2 * by });
    square(room, 0);
    square(ground, 1.5);
    set(mark, { d: drawMark(middle) });
  };
  const show = (kind, words) => {
    const key = `${kind} ${words[t]} ${words[s]}`;
    if (key === shown) return;
    shown = key;
    set(ground, { class: `mask-cell mask-${kind}` });
    drawMark = MARK[kind] ?? drawNothing;
    set(mark, { class: `mask-mark mask-${kind}`, d: drawMark(middle) });
    set(group, {
      "aria-checked": String(kind === "may" || kind === "leak"),
      "aria-label": `${words[t]} may attend to ${words[s]}${s > t ? ", which comes later" : ""}`,
    });
  };
  return { group, place, show };
}

/** Painting by pointer and touch; arrow keys go from cell to cell, the space bar changes one. */
function painted(layer, drawing, hand, cells, light, side) {
  const last = cells.length - 1;
  let at = [0, 0]; // the one cell that Tab reaches
  const isOn = (t, s) => hand.values.mask[t][s] === "#";
  const paint = ([t, s], on, more) => {
    const mask = [...hand.values.mask];
    mask[t] = mask[t].slice(0, s) + (on ? "#" : ".") + mask[t].slice(s + 1);
    hand.change({ mask, ...more });
  };
  const go = (t, s) => {
    set(cells[at[0]][at[1]].group, { tabindex: -1 });
    at = [t, s];
    focusOn(cells[t][s].group);
  };
  const cellAt = ({ x, y }) =>
    [y - CELLS.top, x - CELLS.left].map(each => clamp(Math.floor(each / side()), 0, last));
  const change = (t, s) => paint([t, s], !isOn(t, s), { word: t });
  let on;
  let from;
  draggable(layer, drawing, {
    start(place) {
      from = cellAt(place);
      on = !isOn(...from);
      go(...from);
      change(...from);
    },
    move(place) {
      const to = cellAt(place);
      const steps = Math.max(...to.map((each, axis) => Math.abs(each - from[axis])));
      for (let i = 1; i <= steps; i += 1) { // a fast hand skips cells between two events
        const cell = to.map((each, axis) =>
          Math.round(from[axis] + ((each - from[axis]) * i) / steps));
        if (isOn(...cell) !== on) paint(cell, on);
      }
      from = to;
      light(to);
    },
  });
  const pairOf = event => event.target.closest("[data-pair]")?.dataset.pair.split(" ").map(Number);
  pointing(layer, event => light(pairOf(event)), () => light());
  layer.addEventListener("focusin", event => light(pairOf(event)));
  layer.addEventListener("focusout", () => light());
  layer.addEventListener("keydown", event => {
    const by = ARROWS[event.key];
    if (by) go(...at.map((each, axis) => clamp(each + by[axis], 0, last)));
    else if (event.key === " ") change(...at);
    else return;
    event.preventDefault();
  });
}
