// The plane: parameters across, tokens up, both in powers of ten. A point and a budget to drag.

import { chart } from "../../../course_utils/explorers/kit/chart.js";
import { draggable, handle, placeIn } from "../../../course_utils/explorers/kit/hand.js";
import { around, boxOf, freePlace, meet } from "../../../course_utils/explorers/kit/labels.js";
import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { advised, describe, flopOf } from "./scaling_laws.compute.js";

export const LAWS = ["kaplan", "first", "again"];
export const NAMES = ["Kaplan 2020", "Chinchilla 2022", "refitted 2024"];
const NARROW = 480; // pixels under which names are shorter
const FITTED = [70e6, 16e9]; // parameters of the models that Chinchilla's law was fitted to
const PILL = [122, 22];
const LONG = 96; // pixels of a law's name
const ROUND = 20; // values are rounded to twentieths
// Where a model's name is: [along, down, anchor].
const BESIDE = { "GPT-3": [13, 14, "start"], Chinchilla: [11, 4, "start"],
  "Llama 2 7B": [-9, 5, "end"], "Llama 3 8B": [-9, 4, "end"], "Llama 3.1 405B": [9, -5, "start"] };
const ALONG = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

const log = Math.log10;
export const SIZES = { label: "parameters", domain: [6.5, 13.5], scale: log,
  ticks: [[1e7, "10 M"], [1e9, "1 B"], [1e11, "100 B"], [1e13, "10 T"]] };
const OURS = "parameters (this lecture's four sizes are far left: 4 to 119 thousand)";
const TOKENS = { label: "tokens of training", domain: [8.2, 15.5], scale: log,
  ticks: [[1e9, "1 B"], [1e11, "100 B"], [1e13, "10 T"], [1e15, "1,000 T"]] };

/** The plane: { draw }. */
export function makePlane(stage, hand) {
  const plane = chart(stage, { label: "parameters and tokens", x: SIZES, y: TOKENS,
    edge: { left: 58 } });
  set(plane.svg, { role: "group", class: "laws-plane" });
  const fitted = plane.mark("fitted", "rect", { class: "laws-fitted" });
  const to = (compute, ratio) => hand.change({
    compute: hand.clamp("compute", Math.round(compute * ROUND) / ROUND),
    ratio: hand.clamp("ratio", Math.round(ratio * ROUND) / ROUND),
  });
  const at = ({ x, y }) => {
    const [N, D] = [plane.xAt.inverse(x), plane.yAt.inverse(y)];
    return [log(6) + N + D, D - N];
  };
  LAWS.forEach(law => plane.mark(law, "path", { class: `ce-line laws-${law}`, fill: "none" }));
  hand.given.models.forEach(({ name }) => plane.mark(name, "circle"));
  LAWS.forEach(law => plane.mark(`${law} dot`, "circle"));
  const budget = makeBudget(plane, hand, place => at(place)[0]);
  for (const name of [...LAWS, ...hand.given.models.map(each => each.name)]) {
    plane.mark(`${name} name`, "text"); // over the budget's line
  }
  const point = makePoint(plane, hand, place => to(...at(place)), to);
  plane.svg.addEventListener("click", event => // a press anywhere brings the point there
    event.target.closest("[data-grab]") || to(...at(placeIn(plane.svg, event))));
  let laidOut;
  let laws; // where their names are
  return { draw(state, values, width) {
    const label = width < NARROW ? "parameters (this lecture's: far left)" : OURS;
    plane.fit(width, { x: { ...SIZES, label }, height: width < NARROW ? 330 : 400 });
    if (laidOut !== width) {
      laidOut = width;
      laws = layOut(plane, hand.given.models, fitted, width < NARROW);
    }
    state.best_sizes.forEach((N, i) =>
      plane.dot(`${LAWS[i]} dot`, N, state.best_tokens[i], { class: `laws-dot laws-${LAWS[i]}` }));
    const pill = budget(state);
    const [home, mine] = point(state, values, [pill, ...laws]);
    giveWay(plane, hand.given.models, [around(home, 10), mine, pill]);
  } };
}

/** A model's name is not written where the reader's own stands, or the budget's. */
function giveWay(plane, models, boxes) {
  for (const { name, parameters, tokens } of models) {
    const [dx, dy, anchor] = BESIDE[name];
    const own = boxOf(plane.atX(parameters) + dx, plane.atY(tokens) + dy, name, anchor);
    const isCovered = boxes.some(each => meet(each, own));
    set(plane.mark(`${name} name`, "text"), { display: isCovered ? "none" : false });
  }
}

/** What does not move: the laws' lines, models, where the fits come from. Returns the laws' boxes. */
function layOut(plane, models, fitted, isNarrow) {
  const { top, bottom } = plane.inner;
  const [from, until] = FITTED.map(each => plane.atX(each));
  set(fitted, { x: from, y: top, width: until - from, height: bottom - top });
  plane.mark("range", "text", { class: "laws-note", x: (from + until) / 2, y: top + 14,
    "text-anchor": "middle", text: "sizes that were fitted" });
  plane.mark("hint", "text", { class: "laws-note", x: plane.inner.right, y: top + 14,
    "text-anchor": "end", text: `drag “you”${isNarrow ? "" : " or the dotted line"}` });
  const ends = [18, 26].map(power => advised(10 ** power));
  LAWS.forEach((law, i) => {
    const sizes = ends.map(each => each[i]);
    plane.line(law, sizes, sizes.map((N, end) => 10 ** [18, 26][end] / 6 / N),
      { class: `ce-line laws-${law}` });
  });
  const place = (i, end, ...how) => nameLaw(plane, i, ends[end][i], [18, 26][end], ...how);
  const boxes = [
    place(0, 0, 8, -10, "end"),
    place(1, 1, -10, 4, "end"),
    place(2, 1, Math.min(2, plane.inner.right + 8 - LONG - plane.atX(ends[1][2])), 17, "start"),
  ];
  for (const { name, parameters, tokens } of models) {
    const [dx, dy, anchor] = BESIDE[name];
    plane.dot(name, parameters, tokens, { class: "laws-model", r: 4 });
    plane.text(`${name} name`, parameters, tokens, isNarrow ? name.replace("Llama 3.1 ", "") : name,
      { dx, dy, "text-anchor": anchor, class: "laws-model" });
  }
  return boxes;
}

function nameLaw(plane, i, N, power, dx, dy, anchor) {
  const tokens = 10 ** power / 6 / N;
  plane.text(`${LAWS[i]} name`, N, tokens, NAMES[i],
    { dx, dy, "text-anchor": anchor, class: `laws-${LAWS[i]}` });
  return boxOf(plane.atX(N) + dx, plane.atY(tokens) + dy, NAMES[i], anchor);
}

/** The budget's line, and its name at the lower right, which is dragged. */
function makeBudget(plane, hand, from) {
  const wide = plane.mark("wide", "path", { class: "laws-wide-line", "data-grab": "shared" });
  const line = plane.mark("budget", "path", { class: "laws-budget" });
  const pill = svg("rect", { rx: 11, width: PILL[0], height: PILL[1], x: -PILL[0] / 2, y: -PILL[1] / 2 });
  const words = svg("text", { y: 4.5, "text-anchor": "middle" });
  const grip = plane.mark("grip", "g", { class: "laws-grip" });
  grip.append(pill, words);
  const hear = handle(grip, plane.svg, hand, "compute", { from, keeps: true, grab: true });
  draggable(wide, plane.svg, { move: place =>
    hand.change({ compute: hand.clamp("compute", Math.round(from(place) * ROUND) / ROUND) }) });
  return state => {
    const sum = state.power - log(6);
    const [left, right] = plane.x.domain;
    const [low, high] = plane.y.domain;
    const from = Math.max(left, sum - high);
    const until = Math.min(right, sum - low);
    const d = `M${plane.xAt(from)} ${plane.yAt(sum - from)}L${plane.xAt(until)} ${plane.yAt(sum - until)}`;
    set(line, { d });
    set(wide, { d });
    const place = Math.min(until - 0.35, sum - low - 0.6);
    const home = [plane.xAt(place), plane.yAt(sum - place)];
    const x = Math.min(home[0], plane.inner.right - 56);
    const [pointX, pointY] = [plane.atX(state.parameters), plane.atY(state.tokens)];
    const isNear = Math.abs(x - pointX) < PILL[0] / 2 + 14; // then it is below the point
    const least = pointY + PILL[1] / 2 + 16;
    const most = plane.inner.bottom - PILL[1] / 2 - 4;
    const y = !isNear || least <= home[1] ? Math.min(home[1], most)
      : least <= most ? least : pointY - PILL[1] / 2 - 16;
    grip.style.transform = `translate(${x}px, ${y}px)`;
    set(words, { text: flopOf(state.power) });
    hear(flopOf(state.power));
    return around([x, y], PILL[0] / 2, PILL[1] / 2);
  };
}

/** The reader's point: dragged anywhere, or moved along and across the budget's line by keys. */
function makePoint(plane, hand, move, to) {
  const reach = svg("circle", { r: 22, class: "laws-reach" });
  const point = plane.mark("point", "g", { class: "laws-point ce-eased", role: "slider", tabindex: 0,
    "data-grab": true, "aria-label": "your model", "aria-valuemin": hand.inputs.ratio.min,
    "aria-valuemax": hand.inputs.ratio.max });
  const name = svg("text", { class: "laws-mine" }, "you");
  point.append(reach, svg("circle", { class: "laws-ring", r: 10 }), name);
  let home = [0, 0];
  let off = [0, 0];
  draggable(point, plane.svg, {
    start: ({ x, y }) => { off = [home[0] - x, home[1] - y]; },
    move: ({ x, y }) => move({ x: x + off[0], y: y + off[1] }),
  });
  point.addEventListener("keydown", event => {
    const by = ALONG[event.key];
    if (!by) return;
    event.preventDefault();
    const far = (event.shiftKey ? 5 : 1) / ROUND;
    // Right is a larger model, up is more text.
    to(hand.values.compute + far * (by[0] + by[1]), hand.values.ratio + far * (by[1] - by[0]));
  });
  return (state, values, boxes) => {
    home = [plane.atX(state.parameters), plane.atY(state.tokens)];
    const [x, y] = home;
    point.style.transform = `translate(${x}px, ${y}px)`;
    const isLeft = x > plane.inner.right - 40;
    const right = [[x + 12, y - 12, "start"], [x + 14, y + 20, "start"]];
    const left = [[x - 12, y - 12, "end"], [x - 14, y + 20, "end"]];
    const over = [[x, y - 18, "middle"], [x, y + 28, "middle"], [x, y - 32, "middle"]];
    const at = freePlace([...(isLeft ? [] : right), ...left, ...over], "you", boxes);
    set(name, { x: at[0] - x, y: at[1] - y, "text-anchor": at[2] });
    set(point, { "aria-valuenow": values.ratio,
      "aria-valuetext": `${describe(state.parameters)} parameters, ${describe(state.tokens)} tokens` });
    return [home, boxOf(...at.slice(0, 2), "you", at[2])];
  };
}
