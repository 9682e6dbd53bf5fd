// Attention in the plane: shadows of keys on a query, and the mixture of the values.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { draggable, pointing, slider } from "../../../course_utils/explorers/kit/hand.js";
import { around, freePlace } from "../../../course_utils/explorers/kit/labels.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import style from "./plane.css";
import { WORDS, caption, compute } from "./plane.compute.js";

const ROOM = 58; // pixels around the plane, for what is written at its edge
const ZOOMS = [3, 5, 9, 20, 60]; // units from the middle of a plane to its edge
const BAR = 44;
const WIDE = 700; // pixels from which the planes are next to each other
const [LOW, LOWER] = [410, 296]; // a plane's greatest height; where planes are below each other
const ROUND = 10; // places are rounded to tenths
const widthOf = text => text.length * 8 + 16;
const MATRICES = { w_q: "query", w_k: "key", w_v: "value" };

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const isMade = "tokens" in hand.inputs; // words and matrices make the arrows
  const box = html("div", { class: "plane" });
  const planes = [...(isMade ? [makeWords(hand)] : []), makeKeys(hand, isMade), makeValues(hand, isMade)];
  box.append(...planes.map(each => each.column));
  const says = html("p", { class: "plane-says", hidden: !hand.given.yours });
  stage.append(says, box);
  lightUp(box);
  return (state, values, theme) => {
    write(says, state.says);
    set(box, { "data-trails": Boolean(state.trails) });
    const count = hand.width < WIDE ? 1 : planes.length;
    box.style.gridTemplateColumns = `repeat(${count}, minmax(0, 1fr))`;
    const width = Math.floor((hand.width - 16 * (count - 1)) / count);
    const height = Math.min(width, count === 1 ? LOWER : isMade ? 318 : LOW);
    planes.forEach(each => each.draw(state, { values, theme, width, height }));
  };
}

/** A sentence in which `names` of code are marked. */
function write(box, sentence = "") {
  if (box.textContent === sentence.replaceAll("`", "")) return;
  box.replaceChildren(...sentence.split("`").map((part, i) => (i % 2 ? html("code", {}, part) : part)));
}

/** What belongs to the word under the pointer, or in hand, is lit; the rest fades. */
function lightUp(box) {
  const light = word => set(box, { "data-lit": word ?? false });
  const wordOf = event => event.target.closest("[data-word]")?.dataset.word;
  const unlessDragged = act => event => event.buttons || act(event);
  pointing(box, unlessDragged(event => light(wordOf(event))), unlessDragged(() => light()));
  box.addEventListener("focusin", event => light(wordOf(event)));
  box.addEventListener("focusout", () => light());
}

/** A plane with its heading and what to drag there; `place` says where a point lies. */
function makePlane(heading, hint, ...matrices) {
  const drawing = svg("svg", { role: "group", "aria-label": heading });
  const axes = svg("path", { class: "ce-grid" });
  const says = svg("text", { class: "plane-hint", x: 8 });
  drawing.append(axes, says);
  const column = html("div", {}, html("p", { class: "plane-title" }, heading), drawing);
  const grids = html("div", { class: "plane-grids" }, ...matrices.map(each => each.grid));
  if (matrices.length) column.append(grids);
  const plane = { drawing, column, mark: (tag, attributes, ...parts) => {
    const made = svg(tag, attributes, ...parts);
    drawing.append(made);
    return made;
  } };
  plane.fit = (points, { width, height }) => {
    const most = Math.max(...points.flat().map(Math.abs));
    const far = ZOOMS.find(each => most <= each + 1e-9) ?? ZOOMS.at(-1);
    const unit = (height / 2 - ROOM) / far;
    Object.assign(plane, { unit, far, middle: [width / 2, height / 2], width, height });
    set(drawing, { width, height });
    set(says, { y: height - 6 });
    set(says, { text: matrices.length ? "drag a number below ↕" : hint });
    set(axes, { d: `M8 ${height / 2}H${width - 8}M${width / 2} 8V${height - 8}` });
  };
  plane.place = ([x, y]) => [plane.middle[0] + x * plane.unit, plane.middle[1] - y * plane.unit];
  plane.back = ({ x, y }) => [(x - plane.middle[0]) / plane.unit,
    (plane.middle[1] - y) / plane.unit];
  return plane;
}

/** An arrow from one place to another. */
function arrow([x, y], [toX, toY], head = 8) {
  const [far, angle] = [Math.hypot(toX - x, toY - y), Math.atan2(toY - y, toX - x)];
  const size = Math.min(head, far / 2);
  const barb = turn => `${toX - size * Math.cos(angle + turn)} ${toY - size * Math.sin(angle + turn)}`;
  return `M${x} ${y}L${toX} ${toY}M${barb(0.5)}L${toX} ${toY}L${barb(-0.5)}`;
}

/** Where a chip is: beyond its arrow's tip, as seen from the middle. */
function beyond(plane, at, wide) {
  const far = Math.hypot(...at);
  const [across, up] = far ? at.map(each => each / far) : [0, -1];
  const [x, y] = plane.place(at);
  return [x + across * (wide / 2 + 3), y - up * 15];
}

/** A name at a point; where there is an input for it, it is dragged, or moved by arrow keys. */
function makeChip(plane, hand, { name, word, text, kind }) {
  const wide = widthOf(text);
  const input = hand.inputs[name];
  const role = input
    ? { role: "slider", tabindex: 0, "data-grab": true,
      "aria-label": `${input.label} ${word === undefined ? "" : text}`.trim() }
    : { role: "img", "aria-label": text };
  const chip = plane.mark("g", { class: `plane-chip plane-${kind} ce-eased`, "data-word": word, ...role },
    svg("rect", { class: "plane-reach", x: -24, y: -22, width: 48, height: 44 }),
    svg("rect", { x: -wide / 2, y: -12, width: wide, height: 24, rx: kind === "query" ? 12 : 6 }),
    svg("text", { y: 4.5 }, text));
  if (input) takeInHand(chip, plane, hand, { name, word });
  return (at, others = []) => {
    let [x, y] = beyond(plane, at, wide);
    const isCovering = ([otherX, otherY]) => Math.abs(otherX - x) < 36 && Math.abs(otherY - y) < 26;
    if (others.some(isCovering)) y += y < plane.height / 2 ? 30 : -30; // both can be read, and taken
    chip.style.transform = `translate(${x}px, ${y}px)`;
    const says = at.map(each => number(each, 1)).join(", ");
    set(chip, input ? { "aria-valuenow": at[0], "aria-valuetext": says } : { "aria-label": `${text} ${says}` });
    return [x, y];
  };
}

/** Let a chip be dragged, or moved by arrow keys. */
function takeInHand(chip, plane, hand, { name, word }) {
  const { min, max } = hand.inputs[name];
  const point = () => (word === undefined ? hand.values[name] : hand.values[name][word]);
  const to = place => {
    const kept = place.map(each => clamp(Math.round(each * ROUND) / ROUND, min, max));
    const all = hand.values[name];
    hand.change({ [name]: word === undefined ? kept : all.map((old, i) => (i === word ? kept : old)) });
  };
  let off = [0, 0];
  draggable(chip, plane.drawing, {
    start: place => { off = plane.back(place).map((each, axis) => point()[axis] - each); },
    move: place => to(plane.back(place).map((each, axis) => each + off[axis])),
  });
  chip.addEventListener("keydown", event => {
    const way = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!way) return;
    event.preventDefault();
    const size = (event.shiftKey ? 5 : 1) / ROUND;
    to(point().map((each, axis) => each + size * way[axis]));
  });
}

/** The words as points, from which matrices make the rest. */
function makeWords(hand) {
  const plane = makePlane("words: more animal →, more pronoun ↑", "drag a word; press it, and it asks");
  const chips = WORDS.map((text, word) => makeChip(plane, hand, { name: "tokens", word, text, kind: "word" }));
  const words = [...plane.drawing.querySelectorAll(".plane-word")];
  words.forEach((word, i) => askedBy(word, () => hand.values.tokens[i], () => hand.change({ asks: WORDS[i] })));
  return { column: plane.column, draw(state, { values, ...size }) {
    plane.fit(values.tokens, size);
    chips.forEach((show, i) => show(values.tokens[i]));
    words.forEach((word, i) => word.classList.toggle("plane-query", WORDS[i] === values.asks));
  } };
}

/** A click that dragged nothing, or Enter, lets a word ask. */
function askedBy(word, point, ask) {
  let before;
  word.addEventListener("pointerdown", () => { before = String(point()); });
  word.addEventListener("click", () => String(point()) === before && ask());
  word.addEventListener("keydown", event => event.key === "Enter" && ask());
}

/** The query, the keys, their shadows and weights. */
function makeKeys(hand, isMade) {
  const matrices = (isMade ? ["w_q", "w_k"] : []).map(name => makeMatrix(name, hand));
  const plane = makePlane("query, and keys with their shadows", "drag q or a key", ...matrices);
  const line = plane.mark("path", { class: "plane-line" });
  const marks = WORDS.map((_, word) => ({
    drop: plane.mark("path", { class: "plane-drop", "data-word": word }),
    shadow: plane.mark("path", { class: "plane-shadow", "data-word": word }),
    arrow: plane.mark("path", { class: "plane-arrow plane-key", "data-word": word }),
  }));
  const query = plane.mark("path", { class: "plane-arrow plane-query plane-thick" });
  const bars = WORDS.map((_, word) => makeBar(plane, word));
  const chips = WORDS.map((text, word) => makeChip(plane, hand, { name: "keys", word, text, kind: "key" }));
  const chip = makeChip(plane, hand, { name: "query", text: "q", kind: "query" });
  return { column: plane.column, draw(state, { values, theme, ...size }) {
    plane.fit([state.q, ...state.k], size);
    const zero = plane.place([0, 0]);
    const [x, y] = state.q.map(each => (each / (Math.hypot(...state.q) || 1)) * plane.far * 1.2);
    set(line, { d: `M${plane.place([-x, -y])}L${plane.place([x, y])}` });
    set(query, { d: arrow(zero, plane.place(state.q)) });
    const keysAt = state.k.map((each, i) => beyond(plane, each, widthOf(WORDS[i])));
    const queryAt = chip(state.q, keysAt);
    marks.forEach((each, i) => {
      const [tip, foot] = [plane.place(state.k[i]), plane.place(state.feet[i])];
      set(each.drop, { d: `M${tip}L${foot}` });
      set(each.shadow, { d: `M${zero}L${foot}` });
      set(each.arrow, { d: arrow(zero, tip) });
      bars[i](keysAt[i], state, theme, queryAt);
      chips[i](state.k[i]);
    });
    matrices.forEach(each => each.show(values, theme));
  } };
}

/** A key's weight, on the side of its chip that looks away from the middle, or from the query. */
function makeBar(plane, word) {
  const fill = svg("rect", { height: 8, rx: 2 });
  const text = svg("text", { "text-anchor": "middle" });
  const tick = svg("path", { class: "plane-formula" });
  const bar = plane.mark("g", { class: "plane-bar ce-eased", "data-word": word },
    svg("rect", { class: "plane-rail", width: BAR, height: 8, rx: 2 }), fill, tick, text);
  return ([x, y], { weights, formula }, theme, [queryX, queryY]) => {
    const away = y > plane.middle[1];
    const middle = y + (away ? 25 : -25);
    const isCovered = Math.abs(x - queryX) < 36 && Math.abs(middle - queryY) < 26;
    const below = away !== isCovered;
    bar.style.transform = `translate(${x - BAR / 2}px, ${y + (below ? 16 : -24)}px)`;
    const share = clamp(weights[word], 0, 1); // a reader's function may give anything
    set(fill, { width: share * BAR, fill: theme.weight(0.25 + 0.75 * share) });
    set(tick, { d: formula && `M${formula.weights[word] * BAR} -3v14` });
    set(text, { x: BAR / 2, y: below ? 22 : -4 });
    set(text, { text: number(weights[word], 2) });
  };
}

/** The values, shrunk by their weights and laid head to tail to the output. */
function makeValues(hand, isMade) {
  const matrices = isMade ? [makeMatrix("w_v", hand)] : [];
  const plane = makePlane("values, and their mixture", "drag a value", ...matrices);
  const hull = plane.mark("path", { class: "plane-hull" });
  const marks = WORDS.map((_, word) => ({
    arrow: plane.mark("path", { class: "plane-arrow plane-value", "data-word": word }),
    share: plane.mark("path", { class: "plane-share", "data-word": word }),
  }));
  const links = WORDS.map((_, word) => plane.mark("path", { class: "plane-step", "data-word": word }));
  const chips = WORDS.map((text, word) => makeChip(plane, hand, { name: "values", word, text, kind: "value" }));
  const ring = plane.mark("circle", { class: "plane-formula", r: 7 });
  const out = plane.mark("g", { class: "plane-out ce-eased" }, svg("circle", { r: 7 }), svg("text", {}, "output"));
  return { column: plane.column, draw(state, { values, theme, ...size }) {
    plane.fit([...state.v, state.out], size);
    const tips = state.v.map(plane.place);
    const steps = [...Array(4).keys()].map(i => plane.place(state.steps[i]));
    set(hull, { d: `M${tips.join("L")}Z` });
    marks.forEach((each, i) => {
      set(each.arrow, { d: arrow(steps[0], tips[i]) });
      set(each.share, { d: arrow(steps[0], plane.place(state.v[i].map(one => one * state.weights[i])), 0) });
      set(links[i], { d: arrow(steps[i], steps[i + 1]) });
      chips[i](state.v[i]);
    });
    const [x, y] = plane.place(state.out);
    const [ringX, ringY] = state.formula ? plane.place(state.formula.out) : [];
    set(ring, { cx: ringX, cy: ringY, visibility: state.formula ? "visible" : "hidden" });
    out.style.transform = `translate(${x}px, ${y}px)`;
    const boxes = state.v.map((each, i) =>
      around(beyond(plane, each, widthOf(WORDS[i])), widthOf(WORDS[i]) / 2, 12));
    const sides = [["end", -12], ["start", 12]];
    if (x <= plane.middle[0]) sides.reverse();
    const places = [22, -14].flatMap(down => sides.map(([side, by]) => [x + by, y + down, side]));
    const at = freePlace(places, "output", boxes);
    set(out.lastChild, { x: at[0] - x, y: at[1] - y, "text-anchor": at[2] });
    matrices.forEach(each => each.show(values, theme));
  } };
}

/** A matrix of two rows and columns, whose cells are dragged up and down or stepped. */
function makeMatrix(name, hand) {
  const { label, min, max } = hand.inputs[name];
  const cells = [0, 1, 2, 3].map(at => {
    const [row, column] = [at >> 1, at % 2];
    const where = `row ${row + 1}, column ${column + 1}`;
    const cell = html("span");
    const hear = slider(cell, cell, {
      label: `${label}, ${where}`, min, max, step: 1 / ROUND, digits: 1, grab: true, keeps: true,
      at: () => hand.values[name][row][column],
      go(value) {
        const matrix = hand.values[name].map(each => [...each]);
        matrix[row][column] = value;
        hand.change({ [name]: matrix });
      },
      from: ({ x, y }) => (x - y) / 30,
    });
    return { cell, show(values, theme) {
      const value = values[name][row][column];
      set(cell, { text: number(value, 1) });
      cell.style.backgroundColor = theme.signed(value / max);
      hear();
    } };
  });
  const index = html("sub", {}, name[2].toUpperCase());
  const title = html("b", { class: `plane-${MATRICES[name]}` }, "W", index);
  // The arrows of the plane of words: from which of a word's numbers, to which of the vector's.
  const [left, right, up, over] = ["→", "→", "↑", "↑"].map(each =>
    html("i", { "aria-hidden": "true" }, each));
  const [a, b, c, d] = cells.map(each => each.cell);
  const grid = html("div", { class: "plane-grid" }, title,
    html("div", { class: "plane-cells" }, html("i"), right, over, left, a, b, up, c, d));
  return { grid, show: (values, theme) => cells.forEach(each => each.show(values, theme)) };
}
