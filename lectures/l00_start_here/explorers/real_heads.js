// A sentence whose words attend to each other, a wall of all heads, and the chosen head large.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { focusOn, placeIn, pointing } from "../../../course_utils/explorers/kit/hand.js";
import { heatMap } from "../../../course_utils/explorers/kit/heat.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { readableOn } from "../../../course_utils/explorers/kit/theme.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import style from "./real_heads.css";
import { caption, compute, HEADS, readingOf, weightsOf } from "./real_heads.compute.js";

const LAYERS = 6;
const WIDE = 800; // pixels from which wall and map are next to each other
const STRONG = 0.05; // weights from here on have a number and an arc
const SIZES = [21, 20, 19, 18, 17, 16, 15]; // of letters: the largest that fits one line, or last
const GAP = 5; // pixels between words
const AROUND = 12; // pixels beside the letters of a word
const LEAST = 34; // pixels of a word at least
const ARCS = 34; // pixels above the words for arcs
const MAP = { side: 286, left: 82, top: 56, right: 30, largest: 60 };
const WALL = { left: 20, top: 34, wide: 38, narrow: 48 };
const LONGEST = 10; // letters of a word beside the map
const TIGHT = 16; // pixels of a column under which its word is upright and shorter
const ALONG = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export default explorer({ mount, compute, caption, style });

/** Prepare the picture; what is returned draws a state, part by part. */
function mount(stage, hand) {
  const body = stage.parentElement;
  body.classList.add("heads-body");
  const box = html("div", { class: "heads" });
  stage.append(box);
  const pointed = { column: -1 }; // the column of the map that the pointer is over
  let { sentence } = hand.values;
  const choose = (_, values) => {
    // Choosing a prepared sentence lays one's own aside.
    if (values.sentence !== sentence && values.own_text) {
      queueMicrotask(() => hand.change({ own_text: "" }));
    }
    ({ sentence } = values);
  };
  const parts = [makeWords, makeWall, makeMap].map(make => {
    let draw;
    return (state, values, theme) => {
      draw ??= make(box, hand, pointed);
      draw(state, readingOf(values, hand.given), theme);
    };
  });
  return [choose, ...parts];
}

/** Pointing shows, leaving brings back what was chosen, pressing or dragging chooses. */
function leafed(area, hand, at, left = () => {}) {
  let chosen;
  let shown;
  const isShown = () => shown && Object.entries(shown).every(([name, value]) =>
    hand.values[name] === value);
  const show = (event, keep) => {
    const values = at(event);
    if (!values) return;
    if (!keep || !isShown()) chosen = undefined;
    const { layer, head, word } = hand.values;
    if (keep) chosen ??= "word" in values ? { word } : { layer, head };
    shown = values;
    hand.change(values);
  };
  pointing(area, event => show(event, event.type !== "click" && !event.buttons), () => {
    left();
    hand.change(chosen && isShown() ? chosen : {});
    chosen = undefined;
  });
}

/** What all radio buttons of a group need: one of them is a tab stop. */
function mark(radio, isChosen) {
  if (radio.getAttribute("aria-checked") === String(isChosen)) return;
  set(radio, { "aria-checked": String(isChosen), tabindex: isChosen ? 0 : -1 });
}

/** So many elements. */
const several = (count, make) => Array.from({ length: count }, (_, index) => make(index));

/** A group of radio buttons. */
const group = (kind, label, ...children) =>
  html("div", { class: kind, role: "radiogroup", "aria-label": label }, ...children);

/** The sentence; its darker words get more weight from the chosen one. */
function makeWords(box, hand, pointed) {
  const arcs = svg("svg", { class: "heads-arcs", height: ARCS, "aria-hidden": "true" });
  const words = several(hand.inputs.word.max + 1, makeWord);
  const lines = words.map(() => svg("path"));
  arcs.append(...lines);
  const row = group("heads-words", "word that asks", arcs, ...words.map(each => each.button));
  box.append(row);
  leafed(row, hand, event => {
    const word = words.findIndex(each => each.button.contains(event.target));
    return word < 0 ? undefined : { word };
  });
  row.addEventListener("keydown", event => {
    const last = words.findLastIndex(each => !each.button.hidden);
    const now = Math.min(hand.values.word, last);
    const next = { Home: 0, End: last }[event.key] ?? now + (ALONG[event.key] ?? NaN);
    if (Number.isNaN(next)) return;
    event.preventDefault();
    const word = clamp(next, 0, last);
    hand.change({ word });
    focusOn(words[word].button);
  });
  const laidOut = [];
  let middles = [];
  return ({ row: asks, weights }, reading, theme) => {
    const { tokens } = reading;
    if (isNew(laidOut, [reading, hand.width])) middles = layOut(row, words, tokens);
    tokens.forEach((_, index) => {
      const share = weights[asks * tokens.length + index];
      words[index].show(share, index === asks, index === pointed.column, theme);
      const isDrawn = share >= STRONG && index !== asks && middles.length;
      set(lines[index], isDrawn
        ? { d: arc(middles[asks], middles[index]), "stroke-width": 1 + 5 * share } : { d: "" });
    });
    lines.slice(tokens.length).forEach(each => set(each, { d: "" }));
  };
}

/** A word, its background, and its weight below. */
function makeWord() {
  const text = html("span", { class: "heads-text", dir: "auto" });
  const share = html("span", { class: "heads-share" });
  const kind = { type: "button", role: "radio", class: "heads-word" };
  const button = html("button", kind, text, share);
  const write = token => {
    button.hidden = token === undefined;
    set(text, { text: token ?? "" });
    text.classList.toggle("heads-mark", /^\[\w+\]$/.test(token));
  };
  const show = (weight, isAsking, isPointed, theme) => {
    mark(button, isAsking);
    button.classList.toggle("heads-pointed", isPointed);
    const colour = theme.weight(weight);
    text.style.backgroundColor = colour;
    text.style.color = weight < 0.12 ? "" : readableOn(colour);
    set(share, { text: weight >= STRONG || isPointed ? number(weight, 2) : "" });
  };
  return { button, write, show };
}

/** Write the words, as large as fits; the middles of those in a single line, else none. */
function layOut(row, words, tokens) {
  words.forEach(({ write }, index) => write(tokens[index]));
  row.classList.add("heads-line");
  const shown = words.slice(0, tokens.length).map(each => each.button);
  const isOneLine = () => shown.every(each => each.offsetTop === shown[0].offsetTop);
  const needed = widths(shown, getComputedStyle(row).fontFamily);
  const fits = SIZES.filter(size => needed(size) <= row.clientWidth + GAP).some(size => {
    row.style.fontSize = `${size}px`;
    return isOneLine();
  });
  if (!fits) row.style.fontSize = `${SIZES.at(-1)}px`;
  row.classList.toggle("heads-line", fits);
  return fits ? shown.map(each => each.offsetLeft + each.offsetWidth / 2) : [];
}

/** The pixels that words need side by side at a size; every look at the page would lay it out. */
function widths(words, family) {
  const context = html("canvas").getContext("2d");
  context.font = `500 ${SIZES[0]}px ${family}`;
  const letters = words.map(each => context.measureText(each.firstChild.textContent).width);
  return size => letters.reduce((sum, wide) =>
    sum + Math.max(LEAST, (wide * size) / SIZES[0] + AROUND) + GAP, 0);
}

/** From one word over the others to the next. */
function arc(from, to) {
  const high = ARCS - Math.min(ARCS - 3, 10 + Math.abs(to - from) / 9);
  return `M${from} ${ARCS}C${from} ${high} ${to} ${high} ${to} ${ARCS}`;
}

/** Whether something has changed since the last time; `last` keeps what there is now. */
function isNew(last, now) {
  const isSame = now.every((each, i) => each === last[i]);
  Object.assign(last, now);
  return !isSame;
}

/** All heads, a layer to a row; one is chosen. */
function makeWall(box, hand) {
  const canvas = html("canvas", { "aria-hidden": "true" });
  const frame = html("div", { class: "heads-frame ce-eased" });
  const cells = several(LAYERS * HEADS, index => {
    const [layer, head] = placeOf(index);
    const label = `layer ${layer}, head ${head}`;
    return html("div", { role: "radio", class: "heads-cell", "aria-label": label });
  });
  const grid = group("heads-grid", "layer and head", canvas, ...cells, frame);
  const names = svg("svg", { "aria-hidden": "true" });
  const layers = several(LAYERS, layer => svg("text", { "text-anchor": "end" }, layer));
  const heads = several(HEADS, head => svg("text", { "text-anchor": "middle" }, head));
  const title = svg("text", { class: "ce-axis", y: 12 }, "all 72 heads: choose one");
  const name = svg("text", { class: "heads-strong", y: 12, "text-anchor": "end" });
  names.append(title, name, ...layers, ...heads);
  box.append(html("div", { class: "heads-wall" }, names, grid));
  let pitch = 0;
  leafed(grid, hand, event => {
    const { x, y } = placeIn(grid, event);
    const head = clamp(Math.floor(x / pitch), 0, HEADS - 1);
    return { layer: clamp(Math.floor(y / pitch), 0, LAYERS - 1), head };
  });
  grid.addEventListener("keydown", event => {
    const step = ALONG[event.key];
    if (!step) return;
    event.preventDefault();
    const isDown = /Up|Down/.test(event.key);
    const layer = clamp(hand.values.layer + (isDown ? step : 0), 0, LAYERS - 1);
    const head = clamp(hand.values.head + (isDown ? 0 : step), 0, HEADS - 1);
    hand.change({ layer, head });
    focusOn(cells[layer * HEADS + head]);
  });
  const painted = [];
  return ({ layer, head }, reading, theme) => {
    const isWide = hand.width >= WIDE;
    const room = isWide ? hand.width - MAP.left - MAP.side - MAP.right - 24 : hand.width;
    pitch = Math.min(isWide ? WALL.wide : WALL.narrow, (room - WALL.left) / HEADS);
    if (isNew(painted, [reading, theme, pitch])) {
      paint(canvas, reading, pitch, theme);
      set(names, { width: WALL.left + HEADS * pitch, height: WALL.top + LAYERS * pitch });
      grid.style.setProperty("--heads-pitch", `${pitch}px`);
      set(name, { x: WALL.left + HEADS * pitch });
      const middle = i => (i + 0.5) * pitch;
      layers.forEach((each, i) => set(each, { x: WALL.left - 7, y: WALL.top + middle(i) + 4 }));
      heads.forEach((each, i) => set(each, { x: WALL.left + middle(i), y: WALL.top - 6 }));
    }
    frame.style.transform = `translate(${head * pitch}px, ${layer * pitch}px)`;
    set(name, { text: `layer ${layer}, head ${head}` });
    cells.forEach((each, index) => mark(each, index === layer * HEADS + head));
    layers.forEach((each, i) => each.classList.toggle("heads-strong", i === layer));
    heads.forEach((each, i) => each.classList.toggle("heads-strong", i === head));
  };
}

const placeOf = index => [Math.floor(index / HEADS), index % HEADS];

/** Every head's weights as a small square: first a pixel for each weight, then enlarged. */
function paint(canvas, reading, pitch, theme) {
  const count = reading.tokens.length;
  const small = html("canvas", { width: count, height: count });
  const pixels = small.getContext("2d").createImageData(count, count);
  const colours = several(256, level => {
    const [red, green, blue] = theme.weight(level / 255).match(/\d+/g);
    return 0xff000000 + blue * 0x10000 + green * 0x100 + Number(red);
  });
  const words = new Uint32Array(pixels.data.buffer);
  const sharp = window.devicePixelRatio || 1;
  const width = Math.round(HEADS * pitch * sharp);
  set(canvas, { width, height: (width * LAYERS) / HEADS });
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  for (let index = 0; index < LAYERS * HEADS; index += 1) {
    const [layer, head] = placeOf(index);
    weightsOf(reading, layer, head).forEach((weight, i) => {
      words[i] = colours[Math.round(255 * weight)];
    });
    small.getContext("2d").putImageData(pixels, 0, 0);
    const [left, top] = [head, layer].map(each => Math.round((each * pitch + 2) * sharp));
    const side = Math.round((pitch - 4) * sharp);
    context.drawImage(small, left, top, side, side);
  }
}

/** The chosen head: rows are words that ask, columns words that are asked. */
function makeMap(box, hand, pointed) {
  const area = html("div", { class: "heads-map" });
  const heat = heatMap(area, "weights of the chosen head");
  const drawing = svg("svg", { "aria-hidden": "true" });
  const count = hand.inputs.word.max + 1;
  const rows = several(count, () => svg("text", { "text-anchor": "end" }));
  const columns = several(count, () => svg("text"));
  const edge = svg("rect", { class: "heads-edge" });
  const band = svg("rect", { class: "heads-band ce-eased" });
  const cross = svg("rect", { class: "heads-cross ce-eased" });
  const asking = svg("text", { class: "heads-asks", "text-anchor": "end" }, "query ↓");
  const asked = svg("text", { class: "heads-asked", "text-anchor": "end" }, "key →");
  drawing.append(edge, ...rows, ...columns, asking, asked, band, cross);
  area.append(drawing);
  box.append(area);
  const laidOut = [];
  const drawn = [];
  let size = {};
  leafed(area, hand, event => {
    const { x, y } = placeIn(area, event);
    const at = place => Math.floor(place / size.cell);
    const word = at(y - MAP.top);
    const column = at(x - size.left);
    if (word < 0 || word >= size.count || column >= size.count) return undefined;
    pointed.column = column;
    return { word };
  }, () => { pointed.column = -1; });
  return (state, reading, theme) => {
    const { tokens } = reading;
    if (isNew(laidOut, [reading, hand.width])) {
      size = layOutMap(drawing, { rows, columns, edge, asking, asked }, tokens, hand.width);
    }
    const { cell, left, side } = size;
    if (isNew(drawn, [state.layer, state.head, reading, theme, hand.width])) {
      heat.draw(state.weights, tokens.length, tokens.length, side, side, theme.weight);
    }
    const start = state.row * tokens.length;
    const shares = state.weights.subarray(start, start + tokens.length);
    const column = pointed.column < 0 ? shares.indexOf(Math.max(...shares)) : pointed.column;
    const y = MAP.top + state.row * cell;
    set(band, { width: side, height: cell });
    set(cross, { width: cell, height: cell });
    band.style.transform = `translate(${left}px, ${y}px)`;
    cross.style.transform = `translate(${left + column * cell}px, ${y}px)`;
    rows.forEach((each, i) => each.classList.toggle("heads-asks", i === state.row));
    columns.forEach((each, i) => each.classList.toggle("heads-asked", i === column));
  };
}

/** Write the words at both edges of the map. */
function layOutMap(drawing, { rows, columns, edge, asking, asked }, tokens, width) {
  const { left, top } = MAP;
  const room = Math.min(MAP.side, width - left - MAP.right);
  const side = Math.min(MAP.largest * tokens.length, room);
  const cell = side / tokens.length;
  const isTight = cell < TIGHT;
  set(drawing, { width: left + room + MAP.right, height: top + room + 2 });
  set(edge, { x: left - 0.5, y: top - 0.5, width: side + 1, height: side + 1 });
  set(asking, { x: left - 8, y: top - 6 });
  set(asked, { x: left - 8, y: top - 24 });
  rows.forEach((each, i) => {
    set(each, { text: short(tokens[i] ?? "", LONGEST) });
    set(each, { x: left - 8, y: top + (i + 0.5) * cell + 4 });
  });
  columns.forEach((each, i) => {
    set(each, { text: short(tokens[i] ?? "", isTight ? LONGEST - 3 : LONGEST) });
    const place = `translate(${left + (i + 0.5) * cell + (isTight ? 4 : 3)} ${top - 6})`;
    set(each, { transform: `${place} rotate(${isTight ? -90 : -50})` });
  });
  return { cell, left, side, count: tokens.length };
}

const short = (word, most) => (word.length > most ? `${word.slice(0, most - 1)}…` : word);
