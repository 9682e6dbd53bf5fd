// A table with the code of each position, and how far each code is from that of one position.

import { chart } from "../../../course_utils/explorers/kit/chart.js";
import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { focusOn, handle, placeIn } from "../../../course_utils/explorers/kit/hand.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { heatMap } from "../../../course_utils/explorers/kit/heat.js";
import { around, freePlace } from "../../../course_utils/explorers/kit/labels.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import style from "./codes.css";
import { KINDS, POSITIONS, caption, codeOf, compute } from "./codes.compute.js";

const EDGE = { left: 32, right: 14 };
const TABLE = 120; // pixels
const WORD = Math.sqrt(12); // the length of twelve numbers of size 1
const TICKS = [0, 8, 16, 24, 32, 40, 48, 56];
const LAST = POSITIONS - 1;
const NARROW = 560; // pixels below which a name has less room
const SHADES = 12; // on each side of 0: more look the same
const ROWS = {
  [KINDS[0]]: "each column is a code: one number",
  [KINDS[1]]: "each column is a code: six digits, the last on top",
  [KINDS[2]]: "each column is a code: cosine and sine of six hands, the fastest on top",
};
// They begin below 0, where a handle would cover a position's number.
const AXES = {
  [KINDS[0]]: { domain: [-4, 64], ticks: [0, 20, 40, 60] },
  [KINDS[1]]: { domain: [-0.3, 5], ticks: [0, 1, 2, 3, 4, 5] },
  [KINDS[2]]: { domain: [-0.3, 5], ticks: [0, 1, 2, 3, 4, 5] },
};
const HANDLES = { m: "query", n: "key" };

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const kinds = makeKinds(stage, hand);
  const table = makeTable(stage, hand);
  const curve = makeCurve(stage, hand);
  return (state, values, theme) => {
    kinds(state.code);
    table(state, theme, hand.width);
    curve(state, hand.width);
  };
}

/** The three ways to write a position, as radio buttons. */
function makeKinds(stage, hand) {
  const group = html("div", { class: "codes-kinds", role: "radiogroup",
    "aria-label": hand.inputs.code.label });
  const buttons = KINDS.map(kind => html("button", { type: "button", role: "radio" }, kind));
  buttons.forEach((button, i) =>
    button.addEventListener("click", () => hand.change({ code: KINDS[i] })));
  group.addEventListener("keydown", event => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const next = (KINDS.indexOf(hand.values.code) + by + KINDS.length) % KINDS.length;
    hand.change({ code: KINDS[next] });
    focusOn(buttons[next]);
  });
  group.append(...buttons);
  stage.append(group);
  return code => buttons.forEach((button, i) => {
    const chosen = KINDS[i] === code;
    set(button, { "aria-checked": String(chosen), tabindex: chosen ? 0 : -1 });
  });
}

/** The codes of all positions, a column each, with a frame around the two that are compared. */
function makeTable(stage, hand) {
  const rows = html("p", { class: "codes-rows" });
  const box = html("div", { class: "codes-table" });
  stage.append(rows, box);
  const map = heatMap(box, "the code of each position, a column each");
  map.canvas.style.marginLeft = `${EDGE.left}px`;
  const frames = Object.entries(HANDLES).map(([name, kind]) =>
    [name, svg("rect", { class: `codes-column codes-${kind}`, y: -1, height: TABLE + 2 })]);
  const over = svg("svg", { height: TABLE, "aria-hidden": "true" },
    ...frames.map(([, frame]) => frame).reverse());
  box.append(over);
  map.canvas.addEventListener("click", event => { // a press on a column compares it
    const column = (placeIn(map.canvas, event).x * POSITIONS) / map.canvas.clientWidth;
    hand.change({ n: hand.clamp("n", Math.floor(column)) });
  });
  let painted = [];
  return (state, theme, width) => {
    const inner = width - EDGE.left - EDGE.right;
    set(rows, { text: ROWS[state.code] });
    const asked = [state.code, width, theme];
    if (asked.some((each, i) => each !== painted[i])) {
      const columns = Array.from({ length: POSITIONS }, (_, at) => codeOf(state.code, at));
      const rows = columns[0].length;
      const values = columns[0].flatMap((_, row) => columns.map(column => column[row]));
      map.draw(values, rows, POSITIONS, inner, TABLE, colourOf(state.code, theme));
      set(over, { width });
    }
    painted = asked;
    frames.forEach(([name, frame]) =>
      set(frame, { x: EDGE.left + (state[name] * inner) / POSITIONS, width: inner / POSITIONS }));
  };
}

function colourOf(code, theme) {
  if (code === KINDS[2]) return value => theme.signed(Math.round(SHADES * value) / SHADES);
  const most = code === KINDS[0] ? LAST : 1;
  return value => theme.weight(value / most);
}

/** The distances from the code of m, with a handle at m and one at n. */
function makeCurve(stage, hand) {
  const drawn = chart(stage, {
    label: "distance from the code of the first position",
    height: 240,
    edge: { ...EDGE, top: 40 },
    x: { label: "position", domain: [-0.5, LAST + 0.5], ticks: TICKS },
    y: { label: "", ...AXES[KINDS[0]] },
  });
  set(drawn.svg, { role: "group", class: "codes-curve" });
  drawn.mark("word", "line", { class: "codes-word" });
  drawn.mark("curve", "path");
  const handles = Object.keys(HANDLES).reverse().map(name => makeHandle(name, drawn, hand));
  return (state, width) => {
    const label = `how far from the code of position ${state.m}`;
    drawn.fit(width, { y: { label, ...AXES[state.code] } });
    const { left, right } = drawn.inner;
    const y = drawn.atY(WORD);
    const tooLong = state.code === KINDS[0]; // the other codes are no longer than a word's vector
    set(drawn.mark("word", "line"),
      { x1: left, x2: right, y1: y, y2: y, visibility: !tooLong && "hidden" });
    const ofWidth = width < NARROW ? "" : " of width 12";
    const words = tooLong ? `length of a word's vector${ofWidth}` : "";
    const line = [...state.apart].map((far, at) => around([drawn.atX(at), drawn.atY(far)], 3));
    const knobs = Object.keys(HANDLES).map(name =>
      around([drawn.atX(state[name]), drawn.atY(state.apart[state[name]])], 14));
    const [x, , anchor] = freePlace(
      [[right, y - 6, "end"], [left + 4, y - 6, "start"]], words, [...knobs, ...line]);
    drawn.mark("word-name", "text", { class: "codes-name", x, y: y - 6,
      "text-anchor": anchor, text: words });
    drawn.line("curve", [...state.apart.keys()], state.apart);
    handles.forEach(show => show(state));
  };
}

const knobOf = kind => (kind === "query"
  ? svg("circle", { r: 12 })
  : svg("rect", { x: -11, y: -11, width: 22, height: 22, rx: 6 }));

/** A position to drag along the line. */
function makeHandle(name, drawn, hand) {
  const kind = HANDLES[name];
  const mark = drawn.mark(name, "g", { class: `codes-handle codes-${kind} ce-eased` });
  mark.append(svg("circle", { class: "codes-reach", r: 20 }), knobOf(kind), svg("text", { y: 4.5 }));
  const hear = handle(mark, drawn.svg, hand, name,
    { from: ({ x }) => drawn.xAt.inverse(x), anywhere: name === "n" });
  return state => {
    const at = state[name];
    set(mark.lastChild, { text: at });
    const aside = state.m === state.n ? (name === "m" ? -12 : 12) : 0;
    const x = clamp(drawn.atX(at) + aside, 12, drawn.inner.right + EDGE.right - 12);
    mark.style.transform = `translate(${x}px, ${drawn.atY(state.apart[at])}px)`;
    hear(`${at}, at a distance of ${number(state.apart[at], 2)}`);
  };
}
