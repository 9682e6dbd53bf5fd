// The layers above the words, and the paths from the words up to the chosen output.

import { focusOn } from "../../../course_utils/explorers/kit/hand.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { PAD } from "./masks.compute.js";
import { cross } from "./masks.grid.js";

const LEFT = 56; // pixels for the names of rows
const ROOM = { answer: 36, sign: 53, output: 73, input: 36, word: 8 }; // down to, and up to
const DENSE = 30; // lines of a layer beyond which they are drawn thinner
const GROWING = 380; // milliseconds
const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };

/** The layers in a box: `draw(state, words, size)`, and `point(pair)`, which lights two words. */
export function makePaths(box, hand, all) {
  const most = hand.inputs.layers.max;
  const drawing = svg("svg", { role: "radiogroup", "aria-label": "word whose output is traced" });
  const layers = makeLayers(hand, most);
  box.append(html("div", {}, layers.row, drawing));
  const texts = (count, kind) => Array.from({ length: count }, () =>
    svg("text", { class: kind, "text-anchor": kind ? "middle" : "end" }));
  const columns = all.map(() => svg("rect", { class: "mask-column", role: "radio", rx: 9 }));
  const lines = makeLines(all);
  const nodes = Array.from({ length: most + 1 }, () => all.map(makeNode));
  const rows = texts(most + 3, "");
  const [answers, signs, words] = ["mask-answer", "mask-sign", "mask-word"]
    .map(kind => texts(all.length, kind));
  const verdict = svg("text", { class: "mask-verdict", y: 13 });
  drawing.append(...columns, ...Object.values(lines.drawn), ...nodes.flat().map(each => each.node),
    ...rows, ...answers, ...signs, ...words, verdict);
  columns.forEach((each, t) => each.addEventListener("click", () => hand.change({ word: t })));
  chosenByKeys(drawing, columns, () => hand.values.word, word => hand.change({ word }));

  const draw = (state, told, { width, height }) => {
    const column = (width - LEFT) / all.length;
    const step = (height - ROOM.input - ROOM.output) / state.layers;
    const at = (l, t) => [LEFT + (t + 0.5) * column, height - ROOM.input - l * step];
    set(drawing, { width, height });
    layers.show(state.layers);
    rows.forEach((row, l) => {
      const [name, y] = l > most + 1 ? ["answer", ROOM.answer]
        : l > most ? ["word", height - ROOM.word]
          : [0 < l && l <= state.layers ? `layer ${l - 1}` : "", at(l, 0)[1] + 4];
      set(row, { x: LEFT - 8, y, text: name });
    });
    all.forEach(t => {
      const [x] = at(0, t);
      const isChosen = t === state.word;
      const far = state.answered[t] ? "mask-far" : "";
      const next = told[t + 1] === PAD ? "–" : told[t + 1];
      set(columns[t], {
        x: x - column / 2 + 1, y: 20, width: column - 2, height: height - 20,
        "aria-checked": String(isChosen), tabindex: isChosen ? 0 : -1,
        "aria-label": `${told[t]}, answer ${next}${far && ", which it can read"}`,
      });
      write(answers[t], x, ROOM.answer, next, `mask-answer ${far}`);
      write(signs[t], x, ROOM.sign, far ? "×" : next === "–" ? "" : "↑", `mask-sign ${far}`);
      write(words[t], x, height - ROOM.word, told[t], `mask-word ${wordKind(state, t)}`);
      nodes.forEach((row, l) => row[t].show(l <= state.layers && at(l, t), nodeKind(state, l, t)));
    });
    lines.draw(state, at);
    drawVerdict(verdict, state, told, at(0, state.word)[0], width);
  };
  return { draw, point: lines.point };
}

function write(element, x, y, words, kind) {
  set(element, { x, y, class: kind, text: words });
}

/** One of several by arrow keys, as radio buttons do it. */
function chosenByKeys(holder, buttons, chosen, choose) {
  holder.addEventListener("keydown", event => {
    if (!(event.key in STEPS)) return;
    event.preventDefault();
    const next = (chosen() + STEPS[event.key] + buttons.length) % buttons.length;
    choose(next);
    focusOn(buttons[next]);
  });
}

/** How many layers: radio buttons in a row. */
function makeLayers(hand, most) {
  const name = { class: "mask-layers", role: "radiogroup", "aria-label": "layers" };
  const buttons = Array.from({ length: most }, (_, i) => {
    const button = html("button", { type: "button", role: "radio" }, String(i + 1));
    button.addEventListener("click", () => hand.change({ layers: i + 1 }));
    return button;
  });
  const row = html("div", name, html("span", {}, "layers"), ...buttons);
  chosenByKeys(row, buttons, () => hand.values.layers - 1, i => hand.change({ layers: i + 1 }));
  const show = layers => buttons.forEach((each, i) =>
    set(each, { "aria-checked": String(i + 1 === layers), tabindex: i + 1 === layers ? 0 : -1 }));
  return { row, show };
}

/** A node is far if it knows a later word; for words themselves, if the chosen output does. */
function nodeKind({ ahead, feeds, word, layers, mask }, l, t) {
  const index = l * Math.sqrt(mask.length) + t;
  const isFar = ahead[index] || (l === 0 && t > word && feeds[index]);
  const isOutput = l === layers && t === word;
  return [feeds[index] ? "on" : "off", isFar ? "far" : "", isOutput ? "top" : ""].join(" ");
}

function wordKind({ feeds, word }, t) {
  if (t === word) return "mask-q";
  if (!feeds[t]) return "mask-out";
  return t > word ? "mask-far" : "mask-k";
}

function makeNode() {
  const [circle, mark] = [svg("circle"), svg("path")];
  const node = svg("g", {}, circle, mark);
  let shown = "";
  const show = (place, kind) => {
    const key = `${place} ${kind}`;
    if (key === shown) return;
    shown = key;
    const [on, far, top] = kind.split(" ").map(each => (each ? `mask-node-${each}` : ""));
    set(node, { class: `mask-node ${place ? "" : "mask-gone"} ${on} ${far} ${top}` });
    if (!place) return;
    const [x, y] = place;
    set(circle, { cx: x, cy: y, r: top ? 10 : far ? 7.5 : on.endsWith("on") ? 6 : 4 });
    set(mark, { d: far ? cross({ x, y }, 3.5) : "" });
  };
  return { node, show };
}

/** All lines of a kind as one path. */
function makeLines(all) {
  const kinds = ["off", "ahead", "on", "far", "pointed"];
  const drawn = Object.fromEntries(kinds.map(kind =>
    [kind, svg("path", { class: `mask-line mask-line-${kind}` })]));
  let shown;
  let pair;
  let changed = -Infinity;
  let growths = [];
  const point = next => {
    pair = next;
    let d = "";
    for (let l = 1; pair && l <= shown.state.layers; l += 1) d += line(shown.at, l, ...pair);
    const isOpen = pair && shown.state.mask[pair[0] * all.length + pair[1]];
    set(drawn.pointed, { d, "stroke-dasharray": isOpen ? "none" : "2 6" });
  };
  const draw = (state, at) => {
    const key = `${state.word} ${state.layers}`;
    const isOther = shown && shown.key !== key;
    const goesOn = performance.now() - changed < GROWING; // a hand that moves on needs no show
    shown = { state, at, key };
    const paths = { off: "", ahead: "", on: "", far: "" };
    let count = 0;
    for (let l = 1; l <= state.layers; l += 1) {
      for (const t of all) {
        for (const s of all) {
          if (s === t || state.mask[t * all.length + s]) {
            const kind = lineKind(state, l, t, s, all.length);
            paths[kind] += line(at, l, t, s);
            count += kind === "on" || kind === "far";
          }
        }
      }
    }
    for (const [kind, d] of Object.entries(paths)) set(drawn[kind], { d });
    const isDense = count > DENSE * state.layers;
    const leading = [drawn.on, drawn.far];
    leading.forEach(each => each.classList.toggle("mask-dense", isDense));
    if (isOther) {
      growths.forEach(each => each?.cancel());
      growths = goesOn ? [] : leading.map(grow);
      changed = performance.now();
    }
    point(pair);
  };
  return { drawn, draw, point };
}

/** Paths grow from the words up, unless the reader has asked for less motion. */
function grow(element) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return undefined;
  const from = share => ({ clipPath: `inset(${share}% -9px -9px -9px)` });
  return element.animate([from(100), from(-3)], { duration: GROWING, easing: "ease-out" });
}

/** A line is on where it feeds the chosen output, far where it then carries a later word. */
function lineKind({ feeds, carries }, l, t, s, count) {
  if (feeds[l * count + t]) return carries[(l - 1) * count + s] ? "far" : "on";
  return s > t ? "ahead" : "off";
}

function line(at, l, t, s) {
  const [[x1, y1], [x2, y2]] = [at(l - 1, s), at(l, t)];
  const bend = (y1 - y2) * 0.45;
  return `M${x1} ${y1}C${x1} ${y1 - bend} ${x2} ${y2 + bend} ${x2} ${y2}`;
}

/** Whether the chosen position can read its answer, in words above it. */
function drawVerdict(verdict, { answered, word }, told, x, width) {
  const far = answered[word] > 0;
  const isGraded = told[word + 1] !== PAD;
  const words = far ? "× can read its own answer"
    : isGraded ? "cannot read its answer" : "has nothing to predict";
  const side = x > width - 90 ? "end" : x < 90 ? "start" : "middle";
  const edge = { end: width, start: 0, middle: x }[side];
  write(verdict, edge, 13, words, `mask-verdict ${far ? "mask-far" : ""}`);
  set(verdict, { "text-anchor": side });
}
