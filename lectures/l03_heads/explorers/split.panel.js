// One split: the matrix, its heads below, and what each output depends on.

import { focusOn, handle, pointing } from "../../../course_utils/explorers/kit/hand.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { TOKENS, WIDTH } from "./split.compute.js";

const ABOVE = 38; // pixels above the matrix: its name, and the handle of the cut
const BETWEEN = 34;
const BLOCKS = 9; // pixels between heads
const LARGEST = 21;
const LEFT = 2;
const TITLES = ["Right", "Wrong"];

/** A square with the digit of its token. */
const makeCell = (token, attributes) => svg("g", { class: "split-cell", ...attributes },
  svg("rect", { rx: 2 }), svg("text", {}, token));

function sizeCell(cell, side, [x, y] = [0, 0]) {
  set(cell.firstChild, { x, y, width: side - 1.5, height: side - 1.5 });
  set(cell.lastChild, { x: x + side / 2 - 0.75, y: y + side / 2 + 3.5 });
}

/** A square of the matrix, as a part of its head's path: 6 paths are recoloured, not 72 squares. */
const square = ([x, y], side) => {
  const edge = side - 5.5;
  return `M${x + 2} ${y}h${edge}a2 2 0 0 1 2 2v${edge}a2 2 0 0 1-2 2h${-edge}a2 2 0 0 1-2-2` +
    `v${-edge}a2 2 0 0 1 2-2z`;
};

const moveCell = (cell, [x, y]) => { cell.style.transform = `translate(${x}px, ${y}px)`; };
const colourCell = (cell, head) => set(cell.firstChild, { class: `split-head-${head}` });

/** One of the two splits; what is returned draws it. */
export function makePanel(box, hand, which) {
  const code = html("code", {});
  const back = html("span", { class: "split-back" });
  const drawing = svg("svg", { role: "group", "aria-label": `${TITLES[which]} split` });
  box.append(html("div", { class: "split-panel" },
    html("p", { class: "split-code" }, html("b", {}, TITLES[which]), " ", code), back, drawing));
  const shows = which ? makeMerge(back, hand) : plainMerge(back);
  const numbers = [...Array(TOKENS * WIDTH).keys()];
  const tokenOf = n => Math.floor(n / WIDTH);
  const cells = numbers.map(n => makeCell(tokenOf(n), { "data-n": n }));
  const parts = numbers.map(n => makeCell(tokenOf(n), { "data-n": n }));
  cells.forEach(each => each.firstChild.classList.add("split-room"));
  parts.forEach(each => each.classList.add("ce-eased"));
  const titles = [...Array(6).keys()].map(head => svg("text", { class: "split-title" }, `head ${head}`));
  const grounds = titles.map((title, head) => svg("path", { class: `split-head-${head}` }));
  const name = svg("text", { class: "split-name", x: LEFT, y: 14 }, "x: a row for each token");
  const link = svg("path", { class: "split-link" });
  const frames = [0, 1].map(() => svg("rect", { class: "split-frame", rx: 3 }));
  const map = makeMap(drawing);
  drawing.append(name, ...grounds, ...cells, ...titles, ...parts, link, ...frames);
  pointing(drawing, event => {
    const cell = event.target.closest("[data-n]");
    if (cell && !event.buttons) hand.change({ number: Number(cell.dataset.n) });
  });
  const cut = which ? () => {} : makeCut(drawing, hand);
  let laidOut;
  let sized;
  const places = { cells: [], parts: [] };
  return (state, values, width) => {
    const side = clamp(Math.floor((width - 24 - 6 * 14) / WIDTH), 12, LARGEST);
    const { heads, number } = state;
    const size = WIDTH / heads;
    const top = ABOVE + TOKENS * side + BETWEEN;
    if (laidOut !== `${heads} ${width}`) {
      laidOut = `${heads} ${width}`;
      set(drawing, { width, height: top + TOKENS * side + 4 });
      if (sized !== side) {
        sized = side;
        places.cells = numbers.map(n => [LEFT + (n % WIDTH) * side, ABOVE + tokenOf(n) * side]);
        cells.forEach((each, n) => sizeCell(each, side, places.cells[n]));
        parts.forEach(each => sizeCell(each, side));
      }
      const placed = which ? state.wrong : state.right;
      const squares = titles.map(() => "");
      numbers.forEach(n => {
        const [head, row, column] = placed.slice(3 * n, 3 * n + 3);
        const gap = heads === 6 && side < 18 ? 4 : BLOCKS;
        places.parts[n] = [LEFT + (head * size + column) * side + head * gap, top + row * side];
        moveCell(parts[n], places.parts[n]);
        colourCell(parts[n], head);
        squares[head] += square(places.cells[n], side);
        if (row === 0 && column === 0) set(titles[head], { x: places.parts[n][0], y: top - 7 });
      });
      grounds.forEach((each, head) => set(each, { d: squares[head] }));
      titles.forEach((title, head) => {
        set(title, { text: size * side < 42 ? `${head}` : `head ${head}` });
        set(title, { display: head < heads ? false : "none" });
      });
      set(code, { text: which
        ? `x.view(${heads}, ${TOKENS}, ${size})`
        : `x.view(${TOKENS}, ${heads}, ${size}).transpose(0, 1)` });
    }
    [places.cells, places.parts].forEach((all, i) =>
      set(frames[i], { x: all[number][0] - 2, y: all[number][1] - 2, width: side + 2.5, height: side + 2.5 }));
    set(link, { d: curve(places.cells[number], places.parts[number], side) });
    shows(values.merge, heads > 1);
    const mapSide = clamp(Math.floor((width - LEFT - WIDTH * side - 34) / TOKENS), 12, 20);
    map(state.reach.slice(which * TOKENS * TOKENS), tokenOf(number), {
      left: width - TOKENS * mapSide - 2, side: mapSide, row: side });
    cut(heads, side);
  };
}

/** A line from a number's place in the matrix to its place in a head. */
function curve([x, y], [toX, toY], side) {
  const [from, to] = [[x + side / 2, y + side], [toX + side / 2, toY]];
  const bend = (to[1] - from[1]) / 2;
  return `M${from}C${from[0]} ${from[1] + bend} ${to[0]} ${to[1] - bend} ${to}`;
}

function plainMerge(back) {
  set(back, { text: "merge: transpose, reshape" });
  return () => {};
}

/** The wrong split's way back, as two radio buttons. */
function makeMerge(back, hand) {
  const { values, label } = hand.inputs.merge;
  const radios = values.map(value => {
    const radio = html("button", { type: "button", role: "radio" }, value);
    radio.addEventListener("click", () => hand.change({ merge: value }));
    return radio;
  });
  const group = html("span", { role: "radiogroup", "aria-label": label }, ...radios);
  group.addEventListener("keydown", event => {
    if (!/^Arrow/.test(event.key)) return;
    event.preventDefault();
    const next = 1 - values.indexOf(hand.values.merge);
    hand.change({ merge: values[next] });
    focusOn(radios[next]);
  });
  back.append("merge: ", group);
  return (merge, isFree) => radios.forEach((radio, i) => {
    const isChosen = values[i] === merge;
    set(radio, { "aria-checked": String(isChosen), tabindex: isChosen ? 0 : -1, disabled: !isFree });
  });
}

/** Which tokens each output depends on. */
function makeMap(drawing) {
  const name = svg("text", { class: "split-name", y: 14, "text-anchor": "end" }, "an output sees token");
  const kinds = ["unseen", "past", "future"].map(kind => svg("path", { class: `split-is-${kind}` }));
  const crosses = svg("path", { class: "split-cross" });
  const row = svg("rect", { class: "split-frame", rx: 3 });
  const future = svg("text", { class: "split-future", "text-anchor": "end" }, "× the future");
  const digits = [...Array(TOKENS).keys()].map(token =>
    svg("text", { y: ABOVE - 5, "text-anchor": "middle" }, token));
  drawing.append(name, ...digits, ...kinds, crosses, row, future);
  return (reach, token, { left, side, row: high }) => {
    const d = ["", "", "", ""]; // unseen, past, future, and the crosses
    reach.slice(0, TOKENS * TOKENS).forEach((isSeen, i) => {
      const [y, x] = [Math.floor(i / TOKENS), i % TOKENS];
      const [across, down] = [left + x * side, ABOVE + y * high];
      const kind = isSeen ? 1 + Number(x > y) : 0;
      d[kind] += `M${across} ${down}h${side - 1.5}v${high - 1.5}h${1.5 - side}z`;
      if (kind === 2) d[3] += `M${across + side / 2 - 3.75} ${down + high / 2 - 3.75}l6 6m-6 0l6-6`;
    });
    [...kinds, crosses].forEach((each, i) => set(each, { d: d[i] }));
    const right = left + TOKENS * side;
    set(name, { x: right });
    digits.forEach((each, i) => set(each, { x: left + (i + 0.5) * side }));
    set(future, { x: right, y: ABOVE + TOKENS * high + 13, display: d[2] ? false : "none" });
    set(row, { x: left - 2, y: ABOVE + token * high - 2, width: TOKENS * side + 2.5, height: high + 2.5 });
  };
}

/** The first cut through the matrix: dragged, it sets how wide a head is. */
function makeCut(drawing, hand) {
  const line = svg("path", { class: "split-cut" });
  const knob = svg("g", { class: "split-knob" },
  svg("rect", { class: "split-room", x: -16, y: -16, width: 32, height: 32 }),
  svg("circle", { r: 9 }), svg("path", { d: "M-2 -3l-3 3l3 3M2 -3l3 3l-3 3" }));
  const words = svg("text", { class: "split-count" });
  drawing.insertBefore(line, drawing.querySelector(".split-link")); // the frames cover it
  drawing.append(words, knob);
  let side = LARGEST;
  const hear = handle(knob, drawing, hand, "heads", { from: ({ x }) => WIDTH / ((x - LEFT) / side) });
  return (heads, pitch) => {
    side = pitch;
    const size = WIDTH / heads;
    const x = LEFT + size * side - 0.75;
    const all = [...Array(heads).keys()].slice(1).map(i => LEFT + i * size * side - 0.75);
    set(line, { d: all.map(each => `M${each} ${ABOVE - 3}V${ABOVE + TOKENS * side}`).join("") });
    knob.style.transform = `translate(${x}px, ${ABOVE - 9}px)`;
    const isLate = size > 6;
    set(words, { x: x + (isLate ? -15 : 15), y: ABOVE - 5, "text-anchor": isLate ? "end" : "start" });
    set(words, { text: heads === 1 ? "1 head: drag the cut" : `${heads} heads` });
    hear(`${heads} heads, ${size} numbers each`);
  };
}
