// The scores as bars that are dragged, and the weights below them, a column for each key.

import { chart } from "../../../course_utils/explorers/kit/chart.js";
import { draggable, focusOn, placeIn, pointing } from "../../../course_utils/explorers/kit/hand.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";

const ZOOMS = [3, 6, 12, 25, 60]; // scores from 0 to the edge
const EDGE = { left: 34, right: 6 };
const GRIP = 9;
const NARROW = 440; // pixels of width from which both are higher
const ROOM = 1.14; // for the grips, and the number at one

/** `point` tells which key is pointed at; draw(now, width), light(now, pointed). */
export function makeScores(box, hand, point) {
  const { min, max, label } = hand.inputs.scores;
  const count = hand.values.scores.length;
  const domain = [-0.6, count - 0.4];
  const scores = chart(box, { label: "scores", edge: { ...EDGE, top: 32, bottom: 22 },
    x: { label: "", domain, ticks: [] }, y: { label: "", domain: [-3, 3], ticks: [] } });
  const weights = chart(box, { label: "weights", edge: { ...EDGE, top: 36, bottom: 10 },
    x: { label: "", domain, ticks: [] },
    y: { label: "", domain: [0, 1], ticks: [[0, "0"], [0.5, "½"], [1, "1"]] } });
  set(scores.svg, { role: "group" });
  const lit = [scores, weights].map(each => {
    const column = svg("rect", { class: "soft-column" });
    each.svg.insertBefore(column, each.frame);
    return column;
  });
  const grips = Array.from({ length: count }, (_, key) => makeGrip(scores, hand, key, {
    min, max, name: `${label} ${key}`, point, focus: other => grips[other].focus() }));
  const told = svg("text", { class: "soft-number", "text-anchor": "middle" });
  scores.svg.append(told);
  for (const each of [scores, weights]) {
    pointing(each.svg, event => {
      if (event.buttons) return;
      const key = Math.round(each.xAt.inverse(placeIn(each.svg, event).x));
      point(key >= 0 && key < count ? { score: key } : {});
    }, event => event.buttons || point());
  }
  scores.svg.addEventListener("focusout", () => point());
  let active = 0;
  scores.svg.addEventListener("focusin", event => {
    active = grips.findIndex(each => each.element === event.target);
    grips.forEach((each, key) => set(each.element, { tabindex: key === active ? 0 : -1 }));
    point({ score: active });
  });

  const draw = ({ state, values }, width) => {
    const far = ZOOMS.find(each => Math.max(...state.scores.map(Math.abs)) <= each + 1e-9);
    scores.fit(width, { y: { label: "scores: drag them", domain: [-far * ROOM, far * ROOM],
      ticks: [-far, 0, far].map(each => [each, number(each)]) }, height: width < NARROW ? 174 : 208 });
    const told = number(state.effective, 1);
    weights.fit(width, { y: { ...weights.y, label: `weights: effective tokens ${told}` },
      height: width < NARROW ? 128 : 158 });
    const seen = state.scores.map(each => clamp(each / values.temperature, -far * ROOM, far * ROOM));
    scores.bars("raw", state.scores, { class: "soft-raw" });
    scores.bars("seen", seen, { class: "soft-seen" });
    const pitch = scores.atX(1) - scores.atX(0);
    grips.forEach((each, key) => each.show(state.scores[key], key === active, pitch));
    state.scores.forEach((_, key) => scores.text(`key ${key}`, key, -far * ROOM, String(key),
      { dy: 16, "text-anchor": "middle", class: "soft-key" }));
    weights.bars("bars", state.weights);
    weights.line("equal", domain, [1 / count, 1 / count], { class: "soft-equal" });
  };

  const light = ({ state }, { score, weight }) => {
    const pitch = scores.atX(1) - scores.atX(0);
    lit.forEach((each, i) => {
      const key = i ? weight ?? score : score;
      const { top, bottom } = [scores, weights][i].inner;
      set(each, { x: scores.atX(key ?? 0) - pitch / 2, y: top, width: pitch, height: bottom - top,
        class: `soft-column ${key === undefined ? "soft-gone" : ""}` });
    });
    const key = score ?? state.scores.indexOf(Math.max(...state.scores));
    const value = state.scores[key];
    set(told, { x: scores.atX(key), y: scores.atY(value) + (value < 0 ? 26 : -14) });
    set(told, { text: number(value, 1) });
    drawShares(weights, state, score, weight);
    const shown = weight ?? key;
    const { left, right } = weights.inner;
    const slope = score === undefined ? 0 : state.jacobian[shown * count + score];
    weights.text("share", shown, state.weights[shown] + Math.max(slope, 0), number(state.weights[shown], 2),
      { dy: -7, "text-anchor": "middle", class: "soft-number" });
    weights.mark("share", "text", { x: clamp(weights.atX(shown), left + 14, right - 14) });
  };
  return { draw, light };
}

/** What one point more on the pointed score gives and takes: the column of the Jacobian. */
function drawShares(weights, { jacobian, weights: shares }, score, weight) {
  const [up, down] = [[], []];
  const half = (weights.atX(1) - weights.atX(0)) * 0.4;
  shares.forEach((share, row) => {
    if (score === undefined || (weight !== undefined && weight !== row)) return;
    const slope = jacobian[row * shares.length + score];
    const [from, to] = [weights.atY(share), weights.atY(clamp(share + slope, 0, 1))];
    (slope > 0 ? up : down).push(`M${weights.atX(row) - half} ${from}V${to}h${2 * half}V${from}Z`);
  });
  weights.mark("up", "path", { class: "soft-up", d: up.join("") });
  weights.mark("down", "path", { class: "soft-down", d: down.join("") });
}

/** One score's handle. */
function makeGrip(scores, hand, key, { min, max, name, point, focus }) {
  const reach = svg("rect", { class: "soft-reach", y: -24, height: 48 });
  const element = svg("g", { class: "soft-grip ce-eased", role: "slider", "aria-label": name,
    "aria-valuemin": min, "aria-valuemax": max, "data-grab": true, tabindex: -1 },
  reach, svg("circle", { r: GRIP }), svg("path", { d: "M-3 -2.5L0 -5.5L3 -2.5M-3 2.5L0 5.5L3 2.5" }));
  scores.svg.append(element);
  const now = () => hand.values.scores[key];
  const to = value => hand.change({ scores: hand.values.scores.map((old, i) =>
    (i === key ? clamp(Math.round(value * 10) / 10, min, max) : old)) });
  let from;
  draggable(element, scores.svg, {
    start: ({ y }) => {
      const scale = scores.yAt; // while it is dragged, a new zoom must not move it
      const off = now() - scale.inverse(y);
      from = place => scale.inverse(place.y) + off;
      point({ score: key });
    },
    move: place => to(from(place)),
  });
  element.addEventListener("keydown", event => {
    const step = event.shiftKey ? 1 : 0.1;
    const act = {
      ArrowUp: () => to(now() + step), ArrowDown: () => to(now() - step),
      PageUp: () => to(now() + 1), PageDown: () => to(now() - 1),
      Home: () => to(0), End: () => to(Math.max(...hand.values.scores)),
      ArrowRight: () => focus(Math.min(key + 1, hand.values.scores.length - 1)),
      ArrowLeft: () => focus(Math.max(key - 1, 0)),
    }[event.key];
    if (!act || event.altKey || event.metaKey) return;
    event.preventDefault();
    act();
  });
  return { element, focus: () => focusOn(element), show(value, isActive, pitch) {
    element.style.transform = `translate(${scores.atX(key)}px, ${scores.atY(value)}px)`;
    const r = Math.min(GRIP, pitch / 2 - 1);
    set(element.children[1], { r });
    set(reach, { x: -pitch / 2, width: pitch });
    set(element, { tabindex: isActive ? 0 : -1, "aria-valuenow": value, "aria-valuetext": number(value, 1) });
  } };
}
