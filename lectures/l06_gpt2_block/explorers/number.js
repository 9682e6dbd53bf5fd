// A block as small matrices, every number in sight; at the top what the chosen one was made of.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { draggable, stepsOf } from "../../../course_utils/explorers/kit/hand.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { readableOn } from "../../../course_utils/explorers/kit/theme.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import style from "./number.css";
import { caption, compute, tensorsOf } from "./number.compute.js";
import { makeTerms } from "./number.terms.js";

const [WIDE, HIGH, TOP] = [28, 17, 17]; // of a number, and above the first, in pixels
const STRONG = 3.5; // a number of this size has the full colour
const COLUMNS = [
  ["x"], ["LN₁"], ["q", "k", "v"], ["score"], ["weight"], ["mix", "attention"], ["x + attention"],
  ["LN₂"], ["hidden"], ["GELU"], ["feed-forward"], ["output"],
];
const KIND = { q: "q", k: "k", v: "v" };

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const box = html("div", { class: "num" });
  stage.parentElement.classList.add("num-body");
  stage.append(box);
  const terms = makeTerms(box, hand);
  const all = new Map();
  let first = 0;
  for (const [name, heads, rows, columns] of tensorsOf(hand.given)) {
    const matrices = Array.from({ length: heads }, (_, head) => {
      const made = makeMatrix(hand, { name, head, heads, rows, columns, first });
      first += rows * columns;
      return made;
    });
    all.set(name, matrices);
  }
  box.append(...COLUMNS.map(names => html("div", { class: "num-column" },
    ...names.flatMap(name => all.get(name).map(each => each.drawing)))));
  const draws = [...all.values()].flat().map(each => each.draw);
  return (state, values, theme) => {
    terms(state);
    const sources = new Set(state.terms.flatMap(([one, other]) => [one, other]));
    draws.forEach(draw => draw(state, sources, theme));
  };
}

/** One matrix: its numbers, chosen by pointer and by arrow keys. */
function makeMatrix(hand, { name, head, heads, rows, columns, first }) {
  const cells = Array.from({ length: rows * columns }, (_, n) => {
    const [x, y] = [1 + (n % columns) * WIDE, TOP + Math.floor(n / columns) * HIGH];
    return {
      isLater: heads > 1 && n % columns > Math.floor(n / columns),
      rect: svg("rect", { class: "num-cell", x, y, width: WIDE, height: HIGH }),
      text: svg("text", { class: "num-text", x: x + WIDE / 2, y: y + 12.5 }),
      edge: svg("rect", { class: "num-edge", x, y, width: WIDE, height: HIGH }),
    };
  });
  const title = heads > 1 ? `${name}, head ${head}` : name;
  const words = `${title}, ${rows} by ${columns}`;
  const table = svg("g", { role: "slider", tabindex: 0, "data-grab": "shared", "aria-label": words,
    "aria-valuemin": first, "aria-valuemax": first + cells.length - 1 },
  ...["rect", "text", "edge"].flatMap(part => cells.map(each => each[part])));
  const drawing = svg("svg", { class: `num-matrix num-${KIND[name] ?? "plain"}`, role: "group", "aria-label": words,
    width: columns * WIDE + 2, height: TOP + rows * HIGH + 2 },
  svg("text", { class: "num-title", x: 1, y: 12 }, title), table);
  const within = (value, count) => Math.min(Math.max(value, 0), count - 1);
  const go = (row, column) => hand.change({ cell: first + within(row, rows) * columns + within(column, columns) });
  const at = ({ x, y }) => [Math.floor((y - TOP) / HIGH), Math.floor((x - 1) / WIDE)];
  draggable(table, drawing, { start: place => go(...at(place)), move: place => go(...at(place)) });
  let last = 0; // the number that was chosen in it, where a key goes on
  table.addEventListener("keydown", event => {
    const by = Math.sign(stepsOf(event));
    if (!by) return;
    event.preventDefault();
    const isAcross = ["ArrowLeft", "ArrowRight"].includes(event.key);
    go(Math.floor(last / columns) - (isAcross ? 0 : by), (last % columns) + (isAcross ? by : 0));
  });
  let painted;
  const draw = ({ numbers, cell }, sources, theme) => {
    if (painted !== theme) cells.forEach((each, n) => paint(each, numbers[first + n], theme));
    painted = theme;
    cells.forEach(({ edge }, n) => {
      edge.classList.toggle("num-source", sources.has(first + n));
      edge.classList.toggle("num-chosen", first + n === cell);
    });
    if (cell >= first && cell < first + cells.length) last = cell - first;
    set(table, { "aria-valuenow": first + last, "aria-valuetext":
      `row ${Math.floor(last / columns)}, column ${last % columns}: ${number(numbers[first + last], 2)}` });
  };
  return { drawing, draw };
}

/** A number and its colour; where a head does not look, nothing. */
function paint({ rect, text, isLater }, value, theme) {
  const fill = isLater ? "none" : theme.signed(Math.max(-1, Math.min(1, value / STRONG)));
  rect.style.fill = fill;
  text.style.fill = isLater ? "" : readableOn(fill);
  set(text, { text: isLater ? "" : number(value, 1) });
}
