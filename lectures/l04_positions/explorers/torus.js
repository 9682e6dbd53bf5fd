// A key that winds around a torus as its position grows, and its score: the sum of two pairs.

import { chart } from "../../../course_utils/explorers/kit/chart.js";
import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { draggable, handle } from "../../../course_utils/explorers/kit/hand.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import style from "./torus.css";
import { KEYS, caption, compute } from "./torus.compute.js";
import { camera, paint } from "./torus.space.js";

const WIDE = 600; // pixels from which torus and chart stand next to each other
const HEIGHT = 318;
const SEEN_FROM = { turn: -2.75, tilt: 0.72 };
const TURN = 0.01; // radians a pixel
const STEP = 0.09; // radians an arrow key
const HIDDEN = 500; // square pixels by which a bead on the far side is harder to take
const BEAD = 5;
const STRONG = 1.33; // times the usual colour of a score
const GAP = 15; // pixels between two names of lines
const XS = Array.from({ length: 4 * (KEYS - 1) + 1 }, (_, i) => i / 4);
const KINDS = { m: "query", n: "key" };
const NAMES = { fast: "fast pair", slow: "slow pair", scores: "score" };

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const box = html("div", { class: "torus" });
  stage.append(box);
  const space = makeSpace(box, hand);
  const sum = makeSum(box, hand);
  return (state, values, theme) => {
    const isWide = hand.width >= WIDE;
    box.classList.toggle("torus-wide", isWide);
    const width = isWide ? Math.floor((hand.width - 20) / 2) : hand.width;
    space(state, theme, width);
    sum(state, theme, width);
  };
}

/** The torus, which is turned, with the two handles on its beads. */
function makeSpace(box, hand) {
  const canvas = html("canvas", { "aria-hidden": "true" });
  const drawing = svg("svg", { role: "group", "aria-label": "torus" });
  const ground = svg("rect", { class: "torus-ground", role: "slider", tabindex: 0,
    "data-grab": "shared", "aria-label": "look around", fill: "transparent" });
  const title = html("p", { class: "torus-title" }, "one bead per position, coloured by its score");
  const hint = svg("text", { "text-anchor": "middle", y: HEIGHT - 2 }, "drag m, n, or the doughnut");
  drawing.append(ground, hint);
  box.append(html("div", {}, title, html("div", { class: "torus-space" }, canvas, drawing)));
  const eye = { ...SEEN_FROM };
  const beads = Array.from({ length: KEYS }, () => svg("circle", { class: "torus-bead" }));
  const string = svg("g", {}, ...beads);
  drawing.append(string);
  let last;
  let seen = []; // what the painted torus depends on
  const spots = () => {
    const place = camera(eye, last.state.tube, last.width, HEIGHT);
    return Array.from(last.state.scores, (_, i) =>
      place(last.state.fast_angles[i], last.state.slow_angles[i], 0.03));
  };
  const handles = Object.keys(KINDS).reverse().map(name => makeHandle(name, drawing, hand, spots));
  const paintAgain = ({ state, theme, width }) => {
    set(drawing, { width, height: HEIGHT });
    set(ground, { width, height: HEIGHT });
    set(hint, { x: width / 2 });
    paint(canvas, camera(eye, state.tube, width, HEIGHT), state, theme, width, HEIGHT);
    const all = spots();
    all.forEach(([cx, cy, depth, facing], i) =>
      set(beads[i], { cx, cy, r: BEAD + depth, opacity: facing > -0.1 ? 1 : 0.4 }));
    const order = [...beads.keys()].sort((one, other) => all[one][2] - all[other][2]);
    string.append(...order.map(i => beads[i]));
  };
  const draw = () => {
    const { state, theme, width } = last;
    const asked = [eye.turn, eye.tilt, state.tube, state.slow_angles[1], width, theme];
    if (asked.some((each, i) => each !== seen[i])) paintAgain(last);
    seen = asked;
    beads.forEach((each, i) => set(each, { fill: theme.signed(STRONG * state.scores[i]) }));
    const all = spots();
    handles.forEach(each => each(all, state));
    const degrees = [eye.turn, eye.tilt].map(each => Math.round((each * 180) / Math.PI));
    const around = ((degrees[0] % 360) + 360) % 360;
    set(ground, { "aria-valuenow": around, "aria-valuemin": 0, "aria-valuemax": 360,
      "aria-valuetext": `turned by ${around}°, seen from ${degrees[1]}° above` });
  };
  const look = (across, up) => {
    eye.turn += across;
    eye.tilt = clamp(eye.tilt + up, -Math.PI / 2, Math.PI / 2);
    draw();
  };
  looked(ground, drawing, look);
  return (state, theme, width) => {
    last = { state, theme, width };
    draw();
  };
}

/** Looking around, by pointer, touch and arrow keys. */
function looked(ground, drawing, look) {
  let from;
  let asked;
  const sum = [0, 0];
  draggable(ground, drawing, {
    start: place => { from = place; },
    move(place) { // several events may come before a frame
      sum[0] += place.x - from.x;
      sum[1] += place.y - from.y;
      from = place;
      asked ??= requestAnimationFrame(() => {
        asked = undefined;
        look(TURN * sum[0], TURN * sum[1]);
        sum.fill(0);
      });
    },
  });
  const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  ground.addEventListener("keydown", event => {
    const way = ways[event.key];
    if (!way) return;
    event.preventDefault();
    look(...way.map(each => each * STEP));
  });
}

const knobOf = kind => (kind === "query"
  ? svg("circle", { r: 13 })
  : svg("rect", { x: -12, y: -12, width: 24, height: 24, rx: 6 }));

/** A letter on a bead, dragged along the path, or moved by arrow keys. */
function makeHandle(name, drawing, hand, spots) {
  const kind = KINDS[name];
  const mark = svg("g", { class: `torus-handle torus-${kind}` },
    svg("circle", { class: "torus-reach", r: 22 }), knobOf(kind), svg("text", { y: 5 }, name));
  drawing.append(mark);
  const hear = handle(mark, drawing, hand, name, { grab: true, from({ x, y }) {
    const far = spots().map(([atX, atY, , facing]) =>
      (atX - x) ** 2 + (atY - y) ** 2 + (facing < 0 ? HIDDEN : 0));
    return far.indexOf(Math.min(...far));
  } });
  return (all, state) => {
    const [x, y, , facing] = all[state[name]];
    const aside = state.m === state.n ? (name === "m" ? -13 : 13) : 0;
    mark.style.transform = `translate(${x + aside}px, ${y}px)`;
    mark.classList.toggle("torus-behind", facing < -0.1);
    hear(number(state[name]));
  };
}

/** The score at each position as the sum of two lines, with the key's place to drag. */
function makeSum(box, hand) {
  const holder = html("div");
  box.append(holder);
  const drawn = chart(holder, {
    label: "score over the key's position",
    height: HEIGHT + 24,
    edge: { left: 28, right: 66, top: 34 },
    x: { label: "key's position n", domain: [0, KEYS - 1], ticks: [0, 10, 20, 30, 40, 50, 60] },
    y: { label: "what each pair adds to the score", domain: [-1, 1], ticks: [-1, 0, 1] },
  });
  set(drawn.svg, { role: "group" });
  const here = drawn.mark("here", "path", { class: "torus-here" });
  ["fast", "slow", "scores"].forEach(name => drawn.mark(name, "path"));
  const knob = svg("rect", { x: -10, y: -10, width: 20, height: 20, rx: 5 });
  const dot = drawn.mark("dot", "g", { class: "torus-handle torus-key torus-dot ce-eased" });
  dot.append(svg("circle", { class: "torus-reach", r: 22 }), knob, svg("text", { y: 4.5 }, "n"));
  const hear = handle(dot, drawn.svg, hand, "n", { label: "key's position, on the curve",
    from: ({ x }) => drawn.xAt.inverse(x), anywhere: true });
  set(drawn.svg, { class: "torus-sum" });
  const beads = Array.from({ length: KEYS }, () => svg("circle", { r: 3.4, class: "torus-bead" }));
  dot.before(...beads);
  return (state, theme, width) => {
    drawn.fit(width);
    drawLines(drawn, state);
    beads.forEach((each, i) => set(each, { cx: drawn.atX(i), cy: drawn.atY(state.scores[i]),
      fill: theme.signed(STRONG * state.scores[i]) }));
    nameEnds(drawn, state);
    const [x, y] = [drawn.atX(state.n), drawn.atY(state.scores[state.n])];
    dot.style.transform = `translate(${x}px, ${y}px)`;
    hear(`${state.n}, score ${number(state.scores[state.n], 2)}`);
    set(here, { d: `M${drawn.atX(state.m)} ${drawn.inner.top}V${drawn.inner.bottom}` });
    drawn.text("m", state.m, 1, "m", { class: "torus-m", dy: -5, "text-anchor": "middle" });
  };
}

/** Both parts and their sum; between positions too, for the eye. */
function drawLines(drawn, { tube, slow_angles: angles, m }) {
  const fast = XS.map(x => tube ** 2 * Math.cos(x - m));
  const slow = XS.map(x => (1 - tube ** 2) * Math.cos((x - m) * angles[1]));
  const lines = { fast, slow, scores: fast.map((each, i) => each + slow[i]) };
  Object.entries(lines).forEach(([name, ys]) =>
    drawn.line(name, XS, ys, { class: `ce-line torus-line-${name}` }));
}

/** The names of the three lines at their ends, apart from each other. */
function nameEnds(drawn, state) {
  const ends = Object.keys(NAMES)
    .map(name => ({ name, y: drawn.atY(state[name].at(-1)) }))
    .sort((one, other) => one.y - other.y);
  ends.forEach((each, i) => {
    if (i) each.y = Math.max(each.y, ends[i - 1].y + GAP);
  });
  const over = Math.max(0, ends[2].y - drawn.inner.bottom);
  ends.forEach(({ name, y }) => drawn.text(`${name}-name`, KEYS - 1, 0, NAMES[name], {
    class: `torus-name-${name}`, dx: state.n > KEYS - 3 ? 12 : 7, // beside the key's handle
    dy: y - over - drawn.atY(0) + 4,
  }));
}
