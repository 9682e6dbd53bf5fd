// The chip: one tile of q, k, v and of scores; m, l and acc of its rows.

import { pointing } from "../../../course_utils/explorers/kit/hand.js";
import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";

const [D, KEYS, MOST] = [2, 3, 6];
const [PAD, HEAD, TOP, ROOM] = [14, 32, 26, 144]; // TOP is the height of a row of k and v
const GAPS = [6, 14, 8, 5, 5]; // after q, scores, m, α, l
const NARROW = [4, 8, 3, 2, 2];
const COLUMNS = { q: 2, scores: 3, m: 1, alpha: 1, l: 1, acc: 2 };
const DARK = 0.6; // a weight from which ink would not be read
const BELOW = {
  q: ["q", ""], scores: ["scores", "then forgotten"], m: ["m", "max"], alpha: ["α", "factor"],
  l: ["l", "sum"], acc: ["acc", "output × l"],
};

/** The panel, its sheets of numbers, and `show(state, place, theme)`. */
export function makeChip({ q, k, v }) {
  const panel = svg("rect", { class: "tiles-chip", rx: 12 });
  const title = svg("text", { class: "tiles-title" }, "chip ",
    svg("tspan", { class: "tiles-light" }, "small, fast"));
  const hint = svg("text", { class: "tiles-light", "text-anchor": "end" }, "choose a score");
  const sheets = {
    q: sheet("q", MOST, D), k: sheet("k", D, KEYS), v: sheet("v", KEYS, D),
    scores: sheet("scores", MOST, KEYS), m: sheet("m", MOST, 1), alpha: sheet("alpha", MOST, 1),
    l: sheet("l", MOST, 1), acc: sheet("acc", MOST, D),
  };
  const names = Object.fromEntries(Object.entries(BELOW).map(([name, lines]) => [name,
    lines.map((line, i) => svg("text", { "text-anchor": "middle",
      class: i ? "tiles-light tiles-below" : `tiles-name tiles-${name}` }, line))]));
  const above = ["k", "v"].map(name =>
    svg("text", { class: `tiles-name tiles-${name}`, "text-anchor": "end" }, name));
  const group = svg("g", {}, title, hint, ...above, ...Object.values(names).flat(),
    ...Object.values(sheets).map(each => each.group));
  let boxes;
  let laidOut;
  point(sheets);

  function show(state, place, theme) {
    const key = [place.x, place.y, place.width, state.scores.shape].join();
    if (key !== laidOut) {
      laidOut = key;
      arrange(place, state.scores.shape);
    }
    write(state, theme);
  }

  function arrange(place, [rows, keys]) {
    boxes = lay(place, rows, keys);
    set(panel, { x: place.x + 1, y: place.y + 1, width: place.width - 2,
      height: place.height - 2 });
    set(title, { x: place.x + PAD, y: place.y + 22 });
    set(hint, { x: place.x + place.width - PAD, y: place.y + 22 });
    for (const [name, each] of Object.entries(sheets)) each.place(boxes[name]);
    for (const [name, lines] of Object.entries(names)) {
      const { x, y, width, height } = boxes[name];
      lines.forEach((line, i) => set(line, { x: x + width / 2, y: y + height + 16 + 15 * i }));
    }
    above.forEach((each, i) => {
      const { x, y, height } = boxes[["k", "v"][i]];
      set(each, { x: x - 8, y: y + height / 2 + 5 });
    });
  }

  function write(state, theme) {
    const { first_row: row, first_key: key, scores: { shape: [, keys] } } = state;
    sheets.q.write((r, c) => number(q[(row + r) * D + c], 1));
    sheets.k.write((r, c) => number(k[(key + c) * D + r], 1));
    sheets.v.write((r, c) => number(v[(key + r) * D + c], 1));
    sheets.scores.write((r, c, cell) => {
      const i = r * keys + c;
      cell.firstChild.style.fill = theme.weight(state.weights[i]);
      cell.classList.toggle("tiles-dark", state.weights[i] > DARK);
      return state.hidden[i] ? "×" : number(state.scores[i], 1);
    });
    [sheets.m, sheets.alpha].forEach(({ each }) => each((r, c, cell) =>
      cell.classList.toggle("tiles-rose", Boolean(state.rose[r]))));
    sheets.m.write(r => number(state.m[r], 1));
    sheets.alpha.write(r => number(state.alpha[r], state.rose[r] ? 2 : 0));
    sheets.l.write(r => number(state.l[r], 1));
    sheets.acc.write((r, c) => number(state.acc[r * D + c], 1));
  }

  const sums = [sheets.m, sheets.alpha, sheets.l, sheets.acc].map(each => each.group);
  return { panel, group, sheets, sums, show, places: () => boxes };
}

/** The boxes of all sheets: k over the scores, v over acc, as the products ask for. */
function lay({ x, y, width }, rows, keys) {
  const narrow = width < 420;
  const between = narrow ? NARROW : GAPS;
  const gaps = between.reduce((sum, each) => sum + each);
  const pad = narrow ? 6 : PAD;
  const unit = Math.floor((width - 2 * pad - gaps) / 10);
  const tall = Math.min(36, Math.floor(ROOM / rows));
  const top = y + HEAD + KEYS * TOP + 6 + (ROOM - rows * tall) / 2;
  let at = x + (width - 10 * unit - gaps) / 2;
  const boxes = {};
  Object.entries(COLUMNS).forEach(([name, n], i) => {
    boxes[name] = { x: at, y: top, width: n * unit, height: rows * tall, unit, tall, rows,
      columns: n };
    at += n * unit + between[i];
  });
  // Causal, the last tile of a row ends with its last query: it has fewer keys.
  const scores = { ...boxes.scores, width: keys * unit, columns: keys };
  const over = ({ x: left, width: wide, columns }, count) => ({ x: left, y: top - 6 - count * TOP,
    width: wide, height: count * TOP, unit, tall: TOP, rows: count, columns });
  return { ...boxes, scores, k: over(scores, D), v: over(boxes.acc, keys) };
}

/** Rows and columns of numbers in cells. */
function sheet(kind, rows, columns) {
  const cells = Array.from({ length: rows * columns }, () =>
    svg("g", { class: "tiles-cell" }, svg("rect", { rx: 3 }), svg("text")));
  const group = svg("g", { class: `tiles-${kind}` }, ...cells);
  const each = act => cells.forEach((cell, i) => act(Math.floor(i / columns), i % columns, cell));
  let shown;
  const place = box => {
    set(group, { transform: `translate(${box.x} ${box.y})` });
    shown = box;
    each((row, column, cell) => {
      cell.style.display = row < box.rows && column < box.columns ? "" : "none";
      set(cell.firstChild, { x: column * box.unit + 1, y: row * box.tall + 1,
        width: box.unit - 2, height: box.tall - 2 });
      set(cell.lastChild, { x: (column + 0.5) * box.unit, y: (row + 0.5) * box.tall + 4.5 });
    });
  };
  const write = words => each((row, column, cell) => {
    if (row >= shown.rows || column >= shown.columns) return;
    set(cell.lastChild, { text: words(row, column, cell) });
  });
  return { group, each, place, write };
}

/** Pointing at a score lights up what it is made of and what it goes into. */
function point(sheets) {
  const light = (row, column) => Object.entries(sheets).forEach(([name, { each }]) =>
    each((r, c, cell) => {
      const own = { k: c === column, v: r === column, scores: r === row && c === column };
      cell.classList.toggle("tiles-lit", row >= 0 && (own[name] ?? r === row));
    }));
  const { group, each } = sheets.scores;
  const none = () => light(-1, -1);
  pointing(group, event => each((row, column, cell) =>
    cell.contains(event.target) && light(row, column)), none);
}
