// RoPE in the hand: two clock hands, the score over the distance, all pairs as small clocks.

import { chart } from "../../../course_utils/explorers/kit/chart.js";
import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { focusOn, handle, slider } from "../../../course_utils/explorers/kit/hand.js";
import { clamp, fromSignedLog, signedLog } from "../../../course_utils/explorers/kit/scale.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import style from "./rope.css";
import {
  ALONG, DISTANCES, TURNS_DRAWN, caption, compute, speeds, wrapped,
} from "./rope.compute.js";

const FACE = { size: 250, middle: 125, radius: 108 };
const HANDS = { m: { kind: "q", reach: 92 }, n: { kind: "k", reach: 62 } };
const MARKS = [-1000, -100, -10, 0, 10, 100, 1000];
const WIDE = 540; // pixels from which clock and curve stand next to each other
const LONG = "score of all 32 pairs, as a share of its maximum";
const SHORT = "score, share of its maximum";
const HEAD = 26; // pixels above the small clocks
const FEWEST_DEGREES = 5; // closer ticks would be a grey ring

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const box = html("div", { class: "rope" });
  stage.append(box);
  const face = makeFace(box, hand);
  const curve = makeCurve(box, hand);
  const clocks = makeClocks(box, hand);
  return (state, values, theme) => {
    const isWide = hand.width >= WIDE;
    box.classList.toggle("rope-wide", isWide);
    face(state, values);
    curve(state, isWide ? hand.width - FACE.size - 20 : hand.width);
    clocks(state, theme);
  };
}

/** Move both positions by the same number, as far as both have room. */
function moveBoth(hand, by) {
  const { m, n } = hand.values;
  const most = hand.inputs.m.max;
  const step = clamp(by, -Math.min(m, n), most - Math.max(m, n));
  hand.change({ m: m + step, n: n + step });
}

/** Set m − n; the key moves, and the query only where the key has no room. */
function setDistance(hand, distance) {
  const n = hand.clamp("n", hand.values.m - distance);
  hand.change({ n, m: hand.clamp("m", n + distance) });
}

/** The large clock. */
function makeFace(box, hand) {
  const { size, middle, radius } = FACE;
  const ticks = svg("path", { class: "rope-tick" });
  const between = svg("path", { class: "rope-between" });
  const angle = svg("text", { class: "rope-strong", "text-anchor": "middle" });
  const name = svg("text", { class: "ce-axis", x: middle, y: size + 14, "text-anchor": "middle" });
  const plate = svg("circle", { class: "rope-face", cx: middle, cy: middle, r: radius });
  const both = svg("g", {}, plate);
  const arms = Object.entries(HANDS).map(([letter, kind]) => makeArm(letter, kind));
  const drawing = svg("svg", { width: size, height: size + 42, role: "group" });
  set(drawing, { "aria-label": "clock of one pair" });
  const hint = svg("text", { x: middle, y: size + 34, "text-anchor": "middle" });
  set(hint, { text: "turn a hand, or the face for both" });
  drawing.append(both, ticks, between, angle, ...arms.map(each => each.arm).reverse(), name, hint);
  box.append(drawing);
  const hear = slider(both, drawing, { label: "both positions", ...turning(hand),
    min: 0, max: hand.inputs.m.max,
    at: () => hand.values.m, go: m => moveBoth(hand, m - hand.values.m) });
  const hears = arms.map(({ arm, letter }) => handle(arm, drawing, hand, letter,
    { label: `${hand.inputs[letter].label}, as a hand`, grab: true, ...turning(hand) }));
  return (state, values) => {
    arms.forEach((each, i) => {
      each.show(state);
      hears[i](number(values[each.letter]));
    });
    set(between, { d: wedge(state.k_angles[state.pair], state.q_angles[state.pair], 40) });
    const half = state.k_angles[state.pair] + gap(state) / 2;
    set(angle, { x: middle + 58 * Math.cos(half), y: middle - 54 * Math.sin(half) + 5 });
    set(angle, { text: Math.abs(state.apart) < 25 ? "" : `${number(state.apart)}°` });
    set(ticks, { d: tickMarks(speeds(values.base)[state.pair]) });
    set(name, { text: `pair ${state.pair}: one turn in ${number(state.turn, 1)} positions` });
    hear(`m ${number(values.m)}, n ${number(values.n)}`);
  };
}

const gap = ({ q_angles, k_angles, pair }) => wrapped(q_angles[pair] - k_angles[pair]);

/** One hand of the clock. */
function makeArm(letter, { kind, reach }) {
  const { middle } = FACE;
  const knob = kind === "q"
    ? svg("circle", { class: "rope-knob", r: 15 })
    : svg("rect", { class: "rope-knob", x: -14, y: -14, width: 28, height: 28, rx: 6 });
  const upright = svg("g", { class: "ce-eased" }, knob, svg("text", { y: 5 }, letter));
  const touch = svg("circle", { class: "rope-reach", r: 24 });
  const top = svg("g", { transform: `translate(${reach} 0)` }, touch, upright);
  const line = svg("line", { x1: 0, y1: 0, x2: reach, y2: 0 });
  const turned = svg("g", { class: "ce-eased" }, line, top);
  let shown = 0; // the angle in all, so that a hand that moves by itself goes the shorter way
  const arm = svg("g", { class: `rope-hand rope-${kind}`, transform: `translate(${middle} ${middle})` }, turned);
  const show = state => {
    shown += wrapped(state[`${kind}_angles`][state.pair] - shown);
    turned.style.transform = `rotate(${-shown}rad)`;
    upright.style.transform = `rotate(${shown}rad)`;
  };
  return { arm, letter, show };
}

/** Turned around the middle, a slider moves by as many positions as the angle is worth. */
function turning(hand) {
  let last;
  let turned;
  const angleAt = ({ x, y }) => Math.atan2(FACE.middle - y, x - FACE.middle);
  return {
    keeps: true,
    start(place) {
      last = angleAt(place);
      turned = 0;
    },
    from(place) {
      const { base, pair } = hand.values;
      turned += wrapped(angleAt(place) - last);
      last = angleAt(place);
      return turned / speeds(base)[pair];
    },
  };
}

/** A wedge of the face, by the shorter way from one angle to another. */
function wedge(from, to, radius) {
  const { middle } = FACE;
  const at = angle => `${middle + radius * Math.cos(angle)} ${middle - radius * Math.sin(angle)}`;
  const sweep = wrapped(to - from) > 0 ? 0 : 1;
  return `M${middle} ${middle}L${at(from)}A${radius} ${radius} 0 0 ${sweep} ${at(to)}Z`;
}

/** A tick for each position of one turn, where they are not too close. */
function tickMarks(speed) {
  const { middle, radius } = FACE;
  const step = (speed * 180) / Math.PI < FEWEST_DEGREES ? Math.PI / 12 : speed;
  let d = "";
  for (let angle = 0; angle < 2 * Math.PI - step / 2; angle += step) {
    const at = far => `${middle + far * Math.cos(angle)} ${middle - far * Math.sin(angle)}`;
    d += `M${at(radius - 5)}L${at(radius)}`;
  }
  return d;
}

/** The score over the distance, with the dot that is dragged along it. */
function makeCurve(box, hand) {
  const holder = html("div");
  box.append(holder);
  const far = signedLog(hand.inputs.m.max);
  const drawn = chart(holder, {
    label: "score over the distance m − n",
    height: 288,
    edge: { left: 30, top: 46, right: 12 },
    x: { label: "key after  ←  m − n, log scale  →  key before", scale: signedLog,
      domain: [-far, far], ticks: MARKS.map(mark => [mark, number(mark)]) },
    y: { label: LONG, domain: [-1, 1], ticks: [-1, 0, 1] },
  });
  set(drawn.svg, { role: "group" });
  drawn.mark("area", "path");
  drawn.line("wave", [], [], { class: "rope-wave" });
  drawn.line("curve", [], []);
  drawn.mark("drop", "line", { class: "rope-drop" });
  const dot = drawn.mark("dot", "g");
  const reach = svg("circle", { r: 22, fill: "transparent" });
  dot.append(reach, svg("circle", { class: "rope-dot", r: 9 }),
    svg("path", { class: "rope-grip", d: "M-2 -3L-5 0L-2 3M2 -3L5 0L2 3" }));
  const { max } = hand.inputs.m;
  const hear = slider(dot, drawn.svg, {
    label: "distance m − n", min: -max, max, anywhere: true,
    at: () => hand.values.m - hand.values.n, go: distance => setDistance(hand, distance),
    from: ({ x }) => fromSignedLog(drawn.xAt.inverse(x)),
  });
  drawn.svg.classList.add("rope-pressed");
  return (state, width) => {
    drawCurve(drawn, dot, hand, state, width);
    hear(`${number(state.m - state.n)}, score ${number(state.score, 3)}`);
  };
}

function drawCurve(drawn, dot, hand, state, width) {
  const marks = width < 460 ? MARKS.filter(mark => Math.abs(mark) !== 100) : MARKS;
  drawn.fit(width, {
    x: { ...drawn.x, ticks: marks.map(mark => [mark, number(mark)]) },
    y: { ...drawn.y, label: width < 420 ? SHORT : LONG },
  });
  const distance = state.m - state.n;
  drawLines(drawn, hand, state, distance, width);
  const [x, y] = [drawn.atX(distance), drawn.atY(state.score)];
  drawn.mark("drop", "line", { x1: x, x2: x, y1: y, y2: drawn.atY(-1) });
  dot.style.transform = `translate(${x}px, ${y}px)`;
  dot.classList.add("ce-eased");
  const side = x > width - 70 ? "end" : x < 80 ? "start" : "middle";
  drawn.text("score", distance, state.score, number(state.score, 3), {
    class: "rope-score", dy: -15, "text-anchor": side,
  });
  const isCut = state.wave.length < ALONG.length;
  const what = isCut ? `, ${TURNS_DRAWN} turns` : "";
  drawn.text("each", 0, -1, `thin: only pair ${state.pair}${what}`, {
    class: "rope-each", dx: drawn.inner.right - drawn.atX(0), dy: -6, "text-anchor": "end",
  });
}

/** Curve and wave: half of the time of an event, so only when they change. */
function drawLines(drawn, hand, state, distance, width) {
  const { base, aim, pair } = hand.values;
  const [xs, ys] = withPoint(state.curve, distance, state.score);
  const key = [width, base, aim, pair, xs.length > state.curve.length ? distance : ""].join();
  if (key === drawn.linesFor) return;
  drawn.linesFor = key;
  drawn.line("curve", xs, ys);
  drawn.line("area", [xs[0], ...xs, xs.at(-1)], [0, ...ys, 0], { class: "rope-area" });
  const places = ALONG.slice(0, state.wave.length);
  const right = places.map(each => aim + each);
  const left = places.map(each => aim - each);
  const wave = [...state.wave];
  const [along, up] = [[...left.reverse(), ...right], [...[...wave].reverse(), ...wave]];
  drawn.line("wave", along, up, { class: "rope-wave" });
}

/** The curve skips far distances; it has to go through the one that is shown. */
function withPoint(curve, distance, score) {
  const at = DISTANCES.findIndex(each => each >= distance);
  const xs = [...DISTANCES];
  const ys = [...curve];
  if (xs[at] !== distance) {
    xs.splice(at, 0, distance);
    ys.splice(at, 0, score);
  }
  return [xs, ys];
}

/** All pairs, as radio buttons. */
function makeClocks(box, hand) {
  const drawing = svg("svg", { role: "radiogroup", "aria-label": "pair shown large" });
  const title = svg("text", { class: "ce-axis", x: 0, y: 14 });
  const legend = svg("text", { y: 14, "text-anchor": "end" },
    svg("tspan", { class: "rope-together" }, "same way"), " · ",
    svg("tspan", { class: "rope-opposite" }, "opposite"));
  const count = hand.inputs.pair.max + 1;
  const clocks = Array.from({ length: count }, (_, pair) => makeClock(pair, hand));
  drawing.append(title, legend, ...clocks.map(each => each.clock));
  box.append(drawing);
  drawing.addEventListener("keydown", event => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const pair = (hand.values.pair + by + count) % count;
    hand.change({ pair });
    focusOn(clocks[pair].clock);
  });
  const hands = ["k", "q"].map(kind => svg("path", { class: `rope-small rope-${kind}` }));
  drawing.append(...hands);
  let laidOut;
  return (state, theme) => {
    const columns = hand.width < 520 ? 8 : 16;
    const cell = Math.min(hand.width / columns, 52);
    const middles = clocks.map((_, pair) => [
      ((pair % columns) + 0.5) * cell, HEAD + (Math.floor(pair / columns) + 0.5) * cell,
    ]);
    if (laidOut !== hand.width) {
      laidOut = hand.width;
      set(drawing, { width: hand.width, height: HEAD + (cell * count) / columns });
      set(legend, { x: cell * columns });
      set(title, { text: `all 32 pairs, fastest first${columns < 16 ? "" : ": choose one"}` });
      clocks.forEach((each, pair) => each.place(...middles[pair], 0.43 * cell));
    }
    clocks.forEach(each => each.show(state, theme));
    set(hands[0], { d: handsAt(middles, state.k_angles, 0.27 * cell) });
    set(hands[1], { d: handsAt(middles, state.q_angles, 0.37 * cell) });
  };
}

/** A clock's face, which chooses its pair. */
function makeClock(pair, hand) {
  const face = svg("circle");
  const name = { role: "radio", "aria-label": `pair ${pair}` };
  const clock = svg("g", { class: "rope-clock", ...name }, face);
  clock.addEventListener("click", () => hand.change({ pair }));
  const place = (cx, cy, r) => set(face, { cx, cy, r });
  const show = (state, theme) => {
    const chosen = pair === state.pair;
    set(face, { fill: theme.signed(0.75 * state.shares[pair]) });
    set(clock, { "aria-checked": String(chosen), tabindex: chosen ? 0 : -1 });
  };
  return { clock, place, show };
}

/** All small hands of one colour as one path. */
const handsAt = (middles, angles, length) =>
  middles.map(([x, y], pair) => {
    const [across, down] = [length * Math.cos(angles[pair]), -length * Math.sin(angles[pair])];
    return `M${x.toFixed(1)} ${y.toFixed(1)}l${across.toFixed(1)} ${down.toFixed(1)}`;
  }).join("");
