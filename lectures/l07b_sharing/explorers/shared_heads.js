// Query heads above the keys and values that they read, and the cache cut to what is left.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { pointing, slider } from "../../../course_utils/explorers/kit/hand.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import { caption, compute, describeBytes } from "./shared_heads.compute.js";
import style from "./shared_heads.css";

const MOST = 128; // query heads
const ROWS = { queries: 34, keys: 168, name: 214, bar: 262, height: 340 };
const [EDGE, BAR] = [4, 34]; // pixels beside the row; of the bar's height
const NARROW = 480;
const MEMORIES = [[16e9, "laptop, 16 GB"], [80e9, "H100, 80 GB"]];

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const drawing = svg("svg", { height: ROWS.height, role: "group",
    "aria-label": "query heads, key/value heads, cache" });
  const formula = html("p", { class: "gqa-formula" });
  stage.append(drawing, formula);
  let now;
  const setTo = count => hand.change({ key_value_heads: count });
  const held = (element, options) => slider(element, drawing, {
    get values() { return now.state.counts; }, // of this model
    at: () => now.state.key_value_heads, go: setTo, ...options,
  });
  const heads = makeHeads(() => now, held, drawing);
  const bar = makeBar(() => now, held, setTo, drawing);
  drawing.append(heads.group, bar.group);
  return state => {
    now = { state, width: hand.width };
    set(drawing, { width: hand.width });
    heads.show(now);
    bar.show(now);
    const { layers, key_value_heads: groups, head_width, length, batch, cache } = state;
    const factors = [`${layers} layers`, `${groups} ${groups === 1 ? "head" : "heads"}`,
      `${head_width} wide`,
      `${number(length)} tokens`, `${batch} ${batch === 1 ? "text" : "texts"}`, "2 bytes"];
    set(formula, { text: `keys and values: 2 × ${factors.join(" × ")} = ${describeBytes(cache)}` });
  };
}

const told = ({ heads, key_value_heads: groups, cache }) =>
  `${groups} of ${heads}, ${describeBytes(cache)}`;

/** The middle of a head among so many. */
const middle = (index, count, width) => EDGE + ((index + 0.5) * (width - 2 * EDGE)) / count;

/** Circles of queries, squares of keys and values, lines between them. */
function makeHeads(now, held, drawing) {
  const lines = Array.from({ length: MOST }, () => svg("path", { class: "gqa-line" }));
  const queries = Array.from({ length: MOST }, () => svg("circle", { class: "gqa-query" }));
  const pairs = Array.from({ length: MOST }, () => svg("g", { class: "gqa-pair ce-eased" },
    svg("rect", { class: "gqa-key" }), svg("rect", { class: "gqa-value" })));
  const room = svg("rect", { class: "gqa-room", y: ROWS.keys - 24, height: 48, x: 0 });
  const title = svg("text", { class: "gqa-title", x: 0, y: 13 });
  const name = svg("text", { class: "gqa-title", x: 0, y: ROWS.name });
  const row = svg("g", { class: "gqa-row" }, room, ...pairs);
  const group = svg("g", {}, title, ...lines, ...queries, row, name);
  let taken; // the square in hand: its place from the nearer edge
  const hear = held(row, {
    label: "key/value heads",
    start: ({ x }) => {
      const { state: { key_value_heads: count }, width } = now();
      const right = x > width / 2;
      const from = right ? width - x : x;
      const index = Math.floor(((from - EDGE) / (width - 2 * EDGE)) * count);
      taken = { right, index: clamp(index, 0, count - 1) };
    },
    from: ({ x }) => {
      const { state, width } = now();
      const from = taken.right ? width - x : x;
      const gap = count => (count > taken.index
        ? Math.abs(middle(taken.index, count, width) - from) : Infinity);
      return state.counts.reduce((best, count) => (gap(count) < gap(best) ? count : best));
    },
  });
  let lit = -1;
  const light = pair => {
    const { reads } = now().state;
    lit = pair;
    queries.forEach((each, h) => each.classList.toggle("gqa-lit", reads[h] === pair));
    lines.forEach((each, h) => each.classList.toggle("gqa-lit", reads[h] === pair));
    pairs.forEach((each, g) => each.classList.toggle("gqa-lit", g === pair));
  };
  pointing(drawing, event => {
    const box = drawing.getBoundingClientRect();
    const { state: { key_value_heads: count }, width } = now();
    const share = (event.clientX - box.left - EDGE) / (width - 2 * EDGE);
    const inside = event.clientY - box.top < ROWS.name;
    light(inside ? clamp(Math.floor(share * count), 0, count - 1) : -1);
  }, () => light(-1));
  const show = ({ state, width }) => {
    const { reads, heads, key_value_heads: count } = state;
    const radius = Math.min(11, (width - 2 * EDGE) / heads / 2 - 0.6);
    const side = Math.min(30, ((width - 2 * EDGE) / count) * 0.86);
    for (let h = 0; h < MOST; h += 1) {
      const isShown = h < heads;
      [lines[h], queries[h]].forEach(each => set(each, { display: isShown ? undefined : "none" }));
      set(pairs[h], { display: h < count ? undefined : "none" });
      if (h < count) placePair(pairs[h], middle(h, count, width), side);
      if (!isShown) continue;
      const [x, to] = [middle(h, heads, width), middle(reads[h], count, width)];
      set(queries[h], { cx: x, cy: ROWS.queries, r: Math.max(radius, 1) });
      const [top, low] = [ROWS.queries + radius + 2, ROWS.keys - side / 2 - 2];
      set(lines[h], { d: `M${x} ${top}C${x} ${top + 50} ${to} ${low - 50} ${to} ${low}` });
    }
    set(lines[0].parentNode, { class: heads > 64 ? "gqa-dense" : "" });
    set(room, { width });
    set(title, { text: `${heads} query heads` });
    const readers = count === heads || width < NARROW ? ""
      : `, each read by ${heads / count} query heads`;
    name.replaceChildren(
      ...named(count === 1 ? "1 head of " : `${count} heads of `, "gqa-k", "keys"),
      ...named(" and ", "gqa-v", "values"), ...named(readers, "gqa-hint", "  ↔ drag"));
    hear(told(state));
    if (lit >= 0) light(lit);
  };
  return { group, show };
}

const named = (before, kind, words) => [before, svg("tspan", { class: kind }, words)];

function placePair(pair, x, side) {
  set(pair, { transform: `translate(${x} ${ROWS.keys})` });
  const [key, value] = pair.children;
  const look = { y: -side / 2, width: side / 2, height: side };
  set(key, { ...look, x: -side / 2 });
  set(value, { ...look, x: 0 });
}

/** The cache: a cell for each query head, as many of them full as there are squares. */
function makeBar(now, held, setTo, drawing) {
  const whole = svg("rect", { class: "gqa-whole", y: ROWS.bar, height: BAR, x: EDGE });
  const full = ["gqa-key", "gqa-value"].map((kind, i) =>
    svg("rect", { class: kind, x: EDGE, y: ROWS.bar + (i * BAR) / 2, height: BAR / 2 }));
  const cells = svg("path", { class: "gqa-cells" });
  const knob = svg("rect", { class: "gqa-knob", y: ROWS.bar - 5, height: BAR + 10, width: 8,
    rx: 4 });
  const room = svg("rect", { class: "gqa-room", y: ROWS.bar - 8, height: BAR + 16, width: 40 });
  const edge = svg("g", { class: "gqa-edge" }, room, knob);
  const title = svg("text", { class: "gqa-title", x: 0, y: ROWS.bar - 14 }, "cache");
  const [size, most] = [0, 1].map(() => svg("text", { y: ROWS.bar + BAR + 21 }));
  set(size, { class: "gqa-size" });
  const marks = MEMORIES.map(([, words]) => svg("g", { class: "gqa-memory" },
    svg("path", { d: `M0 ${ROWS.bar - 9}V${ROWS.bar + BAR + 9}` }),
    svg("text", { y: ROWS.bar - 14 }, words)));
  const group = svg("g", {}, title, whole, ...full, cells, ...marks, size, most, edge);
  const from = ({ x }) => {
    const { state: { counts, heads }, width } = now();
    const share = ((x - EDGE) / (width - 2 * EDGE)) * heads;
    const gap = count => Math.abs(count - share);
    return counts.reduce((best, count) => (gap(count) < gap(best) ? count : best));
  };
  const hear = held(edge, { label: "bytes of the cache", from });
  for (const each of [whole, ...full]) {
    each.addEventListener("click", event =>
      setTo(from({ x: event.clientX - drawing.getBoundingClientRect().left })));
  }
  const show = ({ state, width }) => {
    const { heads, key_value_heads: count, cache, bytes } = state;
    const inner = width - 2 * EDGE;
    const end = EDGE + (inner * count) / heads;
    set(whole, { width: inner });
    full.forEach(each => set(each, { width: end - EDGE }));
    let d = "";
    for (let i = 1; i < heads; i += 1) d += `M${EDGE + (inner * i) / heads} ${ROWS.bar}v${BAR}`;
    set(cells, { d });
    set(knob, { x: end - 4 });
    set(room, { x: end - 20 });
    const right = end > width - 190;
    set(size, { x: right ? end : Math.max(end - 4, 0), "text-anchor": right ? "end" : "start",
      text: describeBytes(cache) });
    set(most, { x: width, "text-anchor": "end", display: right ? "none" : undefined,
      text: `${describeBytes(bytes.at(-1))} unshared` });
    let last = 50; // pixels: labels of memories neither meet each other nor the title
    marks.forEach((mark, i) => {
      const at = EDGE + (inner * MEMORIES[i][0]) / bytes.at(-1);
      const isThere = at <= width - EDGE;
      set(mark, { display: isThere ? undefined : "none", transform: `translate(${at})` });
      if (!isThere) return;
      const x = clamp(at - 40, last, width - 82);
      last = x + 96;
      set(mark.lastChild, { x: x - at });
    });
    hear(told(state));
  };
  return { group, show };
}
