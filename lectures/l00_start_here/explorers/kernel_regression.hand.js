// What can be taken in hand: the query, its bandwidth, one point's value.

import { draggable, handle } from "../../../course_utils/explorers/kit/hand.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";

export const HEIGHT = 384;
export const PLOT = [20, 254]; // pixels, of the highest and the lowest value
export const BELL = 70; // the height of the largest weight
export const BASE = 332; // where the keys are
export const MOST = 2; // the highest value on the axis
export const NARROW = 500; // pixels of width below which dots are too dense for a finger
const NEAR = 10; // pixels from a dot within which the hand takes it
const SHOULDER = Math.exp(-0.5); // a bell's height at one bandwidth from its middle
const STEP = 0.1;
const ROOM = 135; // pixels from the middle of a handle to the end of its name

/** Where there is nothing else, a pointer moves the query; near a dot it takes the dot. */
export function makeArea(picture, place, hand) {
  const area = svg("rect", { class: "kernel-area", y: 0, x: 0, height: BASE - 16, "data-grab": "shared" });
  const hovered = svg("circle", { class: "kernel-hovered", r: 0 });
  picture.append(area, hovered);
  let taken;
  const valueOf = i => {
    const { point, shift } = hand.values;
    return clamp(hand.given.y[i] + (i === point ? shift : 0), -MOST, MOST);
  };
  const nearest = at => {
    if (hand.width < NARROW) return undefined;
    const far = Array.from(hand.given.x, (each, i) =>
      Math.hypot(place.x(each) - at.x, place.y(valueOf(i)) - at.y));
    const least = Math.min(...far);
    return least < NEAR ? far.indexOf(least) : undefined;
  };
  const move = at => {
    if (taken === undefined) moveQuery(hand, place, at.x);
    else moveValue(hand, taken, place.y.inverse(at.y) - hand.given.y[taken]);
  };
  draggable(area, picture, {
    start: at => {
      taken = nearest(at);
      if (taken === undefined) move(at);
      else if (taken !== hand.values.point) hand.change({ point: taken, shift: 0 });
    },
    move,
  });
  area.addEventListener("pointermove", event => {
    const box = picture.getBoundingClientRect();
    const near = nearest({ x: event.clientX - box.left, y: event.clientY - box.top });
    if (event.buttons || event.pointerType === "touch") return;
    area.style.cursor = near === undefined ? "ew-resize" : "ns-resize";
    if (near === undefined) set(hovered, { r: 0 });
    else set(hovered, { r: 10, cx: place.x(hand.given.x[near]), cy: place.y(valueOf(near)) });
  });
  for (const over of ["pointerdown", "pointerleave"]) {
    area.addEventListener(over, () => set(hovered, { r: 0 }));
  }
  return { fit: () => set(area, { width: hand.width }) };
}

const rounded = (value, step) => Number((Math.round(value / step) * step).toFixed(6));

function moveQuery(hand, place, x) {
  hand.change({ at: hand.clamp("at", rounded(place.x.inverse(x), hand.inputs.at.step)) });
}

function moveValue(hand, point, shift) {
  hand.change({ point, shift: hand.clamp("shift", rounded(shift, hand.inputs.shift.step)) });
}

/** The one point whose value is in hand, and where it came from. */
export function makePoint(picture, place, hand) {
  const { given, inputs } = hand;
  const from = svg("path", { class: "kernel-from" });
  const ring = svg("circle", { class: "kernel-ring", r: 10, role: "slider", tabindex: 0,
    "aria-label": "value of one point; left and right choose the point",
    "aria-valuemin": -MOST, "aria-valuemax": MOST });
  picture.append(from, ring);
  ring.addEventListener("keydown", event => {
    const { point, shift } = hand.values;
    const way = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!way || event.altKey || event.metaKey) return;
    event.preventDefault();
    if (way[0]) hand.change({ point: clamp(point + way[0], 0, inputs.point.max), shift: 0 });
    else moveValue(hand, point, shift + way[1] * STEP);
  });
  return { draw({ values, weights, point, moved }) {
    const [x, y] = [place.x(given.x[point]), place.y(values[point])];
    set(ring, { cx: x, cy: y, "aria-valuenow": values[point].toFixed(2),
      "aria-valuetext": `${number(values[point], 2)}, at x = ${number(given.x[point], 2)}, weight ` +
        `${number(weights[point], 3)}` });
    ring.classList.toggle("kernel-moved", moved !== 0);
    set(from, { d: moved ? `M${x} ${y}V${place.y(given.y[point])}m-5 0h10` : "" });
  } };
}

/** A round handle with a letter. */
function makeChip(picture, letter) {
  const chip = svg("g", { class: `kernel-chip kernel-${letter}` },
    svg("rect", { class: "kernel-reach", x: -22, y: -22, width: 44, height: 44 }),
    svg("circle", { r: 13 }), svg("text", { y: 4.5 }, letter));
  picture.append(chip);
  return chip;
}

/** The bandwidth, taken at the bell's shoulder. */
export function makeBandwidth(picture, place, hand) {
  const bar = svg("path", { class: "kernel-bar" });
  const name = svg("text", { class: "kernel-most", y: BASE - BELL * SHOULDER + 4.5 });
  picture.append(bar, name);
  const { label, digits } = hand.inputs.bandwidth;
  const chip = makeChip(picture, "h");
  const y = BASE - BELL * SHOULDER;
  const side = () => (hand.values.at > 0.75 ? -1 : 1);
  const hear = handle(chip, picture, hand, "bandwidth", {
    from: ({ x }) => side() * place.x.inverse(x), keeps: true,
    go: bandwidth => hand.values.chooses || hand.change({ bandwidth }),
  });
  return { draw({ bandwidth }, { at, chooses }) {
    const end = place.x(at + side() * bandwidth);
    const x = clamp(end + side() * 20, 15, hand.width - 15);
    set(bar, { d: `M${place.x(at)} ${y}H${end}` });
    const isCut = x + side() * ROOM < 0 || x + side() * ROOM > hand.width;
    set(name, { x: x + side() * 19, "text-anchor": side() < 0 ? "end" : "start" });
    set(name, { text: isCut ? "" : `${label} ${number(bandwidth, digits)}` });
    chip.style.transform = `translate(${x}px, ${y}px)`;
    set(chip, { tabindex: chooses ? -1 : 0, "data-grab": !chooses && "shared", "aria-disabled": chooses && "true" });
    hear(number(bandwidth, digits), { "aria-valuenow": number(bandwidth, digits) });
  } };
}

/** The query: a line through the picture, held on the axis of the keys. */
export function makeQuery(picture, place, hand) {
  const line = svg("path", { class: "kernel-line" });
  picture.prepend(line);
  const chip = makeChip(picture, "q");
  const hear = handle(chip, picture, hand, "at", { from: ({ x }) => place.x.inverse(x), keeps: true });
  return { draw(_, { at }) {
    const x = place.x(at);
    chip.style.transform = `translate(${x}px, ${BASE}px)`;
    set(line, { d: `M${x} ${PLOT[0] - 8}V${BASE}` });
    hear(number(at, 3));
  } };
}
