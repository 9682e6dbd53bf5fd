// A query among points: what is near lights up, and the mean of its values follows.

import { explorer } from "../../../explorers/kit/explorer.js";
import { draggable, stepped } from "../../../explorers/kit/hand.js";
import { clamp, linear } from "../../../explorers/kit/scale.js";
import { html, path, set, svg } from "../../../explorers/kit/svg.js";
import { number } from "../../../explorers/kit/words.js";
import style from "./kernel_regression.css";
import { caption, compute } from "./kernel_regression.compute.js";

const HEIGHT = 404;
const PLOT = [24, 268]; // pixels, of the highest and the lowest value
const BELL = 74; // the height of the largest weight
const BASE = 352; // where the keys are
const EDGE = { left: 28, right: 16 };
const MOST = 2; // the highest value on the axis
const NEAR = 10; // pixels from a dot within which the hand takes it
const NARROW = 500; // pixels of width below which dots are too dense for a finger
const SHOULDER = Math.exp(-0.5); // a bell's height at one bandwidth from its middle
const STEP = 0.1;
const ROOM = 135; // pixels from the middle of a handle to the end of its name

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const check = html("input", { type: "checkbox" });
  check.addEventListener("change", () => hand.change({ chooses: check.checked }));
  const picture = svg("svg", { class: "kernel", role: "group", height: HEIGHT,
    "aria-label": "noisy points, a query, and the mean of the values near it" });
  stage.append(html("label", { class: "kernel-chooses" }, check, hand.inputs.chooses.label), picture);
  const place = { y: linear([MOST, -MOST], PLOT) };
  const parts = [makeFrame, makeArea, makeCurves, makeBell, makeDots, makeOutput, makePoint,
    makeBandwidth, makeQuery].map(make => make(picture, place, hand));
  let laidOut;
  return (state, values, theme) => {
    check.checked = values.chooses;
    if (laidOut !== hand.width) {
      laidOut = hand.width;
      set(picture, { width: hand.width });
      place.x = linear([0, 1], [EDGE.left, hand.width - EDGE.right]);
      parts.forEach(each => each.fit?.());
    }
    parts.forEach(each => each.draw?.(state, values, theme));
  };
}

/** Axes, their names, the keys' ticks. */
function makeFrame(picture, place, { given }) {
  const frame = svg("g", { "aria-hidden": "true" });
  picture.append(frame);
  return { fit() {
    const [left, right] = [place.x(0), place.x(1)];
    const rows = [-1, 0, 1].flatMap(value => [
      svg("line", { class: "ce-grid", x1: left, x2: right, y1: place.y(value), y2: place.y(value) }),
      svg("text", { x: left - 8, y: place.y(value) + 4, "text-anchor": "end" }, number(value)),
    ]);
    const columns = [0, 0.25, 0.5, 0.75, 1].map(value =>
      svg("text", { x: place.x(value), y: BASE + 32, "text-anchor": "middle" }, `${value}`));
    frame.replaceChildren(...rows, ...columns,
      svg("line", { class: "kernel-base", x1: left, x2: right, y1: BASE, y2: BASE }),
      svg("path", { class: "kernel-keys", d: Array.from(given.x, x => `M${place.x(x)} ${BASE}v8`).join("") }),
      svg("text", { class: "kernel-v", x: 0, y: 12 }, "values y"),
      svg("text", { class: "kernel-k", x: right, y: BASE + 49, "text-anchor": "end" },
        "keys: the points' positions x"),
      svg("text", { class: "kernel-name", x: left, y: BASE - BELL + 4 }, "weights"));
  } };
}

/** Where there is nothing else, a pointer moves the query; near a dot it takes the dot. */
function makeArea(picture, place, hand) {
  const area = svg("rect", { class: "kernel-area", y: 0, x: 0, height: BASE - 16, "data-grab": true });
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
    if (event.buttons) return;
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

/** The true curve, the output of every query, and what one bandwidth would give. */
function makeCurves(picture, place, { given }) {
  const truth = svg("path", { class: "kernel-truth" });
  const [fixed, curve] = ["kernel-fixed", "kernel-curve"].map(name => svg("path", { class: name }));
  const name = svg("text", { class: "kernel-name", "text-anchor": "end" }, "true curve");
  picture.append(truth, fixed, curve, name);
  const through = ys => path(Array.from(given.grid, place.x), Array.from(ys, place.y));
  return {
    fit() {
      set(truth, { d: through(given.truth) });
      set(name, { x: place.x(0.715), y: place.y(1.08) });
    },
    draw(state) {
      set(curve, { d: through(state.curve) });
      set(fixed, { d: state.chooses ? through(state.fixed) : "" });
    },
  };
}

/** The weights as stems over their keys, under the query's bell. */
function makeBell(picture, place, { given }) {
  const [bell, stems] = ["kernel-bell", "kernel-stems"].map(name => svg("path", { class: name }));
  const most = svg("text", { class: "kernel-most" });
  picture.append(bell, stems, most);
  return { draw({ weights, bandwidth }, { at }) {
    const largest = Math.max(...weights);
    const nearest = given.x[weights.indexOf(largest)];
    // The bell is as high as the stems: the largest weight fills the band.
    const height = x => Math.exp(((nearest - at) ** 2 - (x - at) ** 2) / (2 * bandwidth ** 2));
    const xs = Array.from({ length: 121 }, (_, i) => at + (i / 60 - 1) * 3.2 * bandwidth)
      .filter(x => x >= 0 && x <= 1);
    const up = share => BASE - BELL * Math.min(share, 1.12);
    const ends = [xs.at(-1), xs[0]].map(x => `L${place.x(x)} ${BASE}`).join("");
    set(bell, { d: `${path(xs.map(place.x), xs.map(x => up(height(x))))}${ends}Z` });
    set(stems, { d: Array.from(weights, (each, i) => (each > 0.004 * largest
      ? `M${place.x(given.x[i]).toFixed(1)} ${BASE}V${up(each / largest).toFixed(1)}` : "")).join(""),
    "stroke-width": place.x(1) < NARROW ? 1.4 : 2.4 });
    const isLeft = at > 0.5;
    set(most, { x: place.x(nearest) + (isLeft ? -8 : 8), y: BASE - BELL + 4,
      "text-anchor": isLeft ? "end" : "start" });
    most.textContent = `largest ${number(largest, 2)}`;
  } };
}

/** The points, lit by their weights. */
function makeDots(picture, place, { given }) {
  const dots = Array.from(given.x, () => svg("circle", { class: "kernel-dot" }));
  const drawn = [];
  picture.append(svg("g", { "aria-hidden": "true" }, ...dots));
  return {
    fit: () => dots.forEach((dot, i) => set(dot, { cx: place.x(given.x[i]) })),
    draw({ weights, values }, _, theme) {
      const largest = Math.max(...weights);
      const small = place.x(1) < NARROW ? 0.75 : 1;
      dots.forEach((dot, i) => {
        const share = Math.round((100 * weights[i]) / largest) / 100;
        const key = `${share} ${values[i]} ${small} ${theme.dark}`;
        if (drawn[i] === key) return; // most points have no weight, before and after
        drawn[i] = key;
        set(dot, { cy: place.y(values[i]), r: small * (4 + 2.5 * share), fill: theme.weight(share),
          opacity: share > 0 ? 1 : 0.55 });
      });
    },
  };
}

/** The output: the weighted mean, on the query's line. */
function makeOutput(picture, place) {
  const text = svg("text", { class: "kernel-said", y: PLOT[0] + 4 });
  const mark = svg("circle", { class: "kernel-out ce-eased", r: 8 });
  picture.append(mark, text);
  return { draw({ out }, { at }) {
    mark.style.transform = `translate(${place.x(at)}px, ${place.y(out)}px)`;
    const isLeft = at > 0.5; // what belongs to the query is written beside its line, over the points
    set(text, { x: place.x(at) + (isLeft ? -8 : 8), "text-anchor": isLeft ? "end" : "start" });
    text.textContent = `output ${number(out, 2)}`;
  } };
}

/** The one point whose value is in hand, and where it came from. */
function makePoint(picture, place, hand) {
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
function makeChip(picture, letter, label, kind) {
  const chip = svg("g", { class: `kernel-chip kernel-${kind}`, role: "slider", "aria-label": label,
    "data-grab": true, tabindex: 0 },
  svg("rect", { class: "kernel-reach", x: -22, y: -22, width: 44, height: 44 }),
  svg("circle", { r: 13 }), svg("text", { y: 4.5 }, letter));
  picture.append(chip);
  return chip;
}

/** The bandwidth, taken at the bell's shoulder. */
function makeBandwidth(picture, place, hand) {
  const bar = svg("path", { class: "kernel-bar" });
  const name = svg("text", { class: "kernel-most", y: BASE - BELL * SHOULDER + 4.5 });
  picture.append(bar, name);
  const { min, max, step, label, digits } = hand.inputs.bandwidth;
  const chip = makeChip(picture, "h", label, "h");
  const y = BASE - BELL * SHOULDER;
  const side = () => (hand.values.at > 0.75 ? -1 : 1);
  const to = value => hand.change({ bandwidth: hand.clamp("bandwidth", rounded(value, step)) });
  let off;
  draggable(chip, picture, {
    start: ({ x }) => { off = place.x.inverse(x) - side() * hand.values.bandwidth; },
    move: ({ x }) => hand.values.chooses || to(side() * (place.x.inverse(x) - off)),
  });
  stepped(chip, by => hand.values.chooses || to(hand.values.bandwidth + by * step),
    key => hand.values.chooses || to(key === "Home" ? min : max));
  return { draw({ bandwidth }, { at, chooses }) {
    const end = place.x(at + side() * bandwidth);
    const x = clamp(end + side() * 20, 15, hand.width - 15);
    set(bar, { d: `M${place.x(at)} ${y}H${end}` });
    const isCut = x + side() * ROOM < 0 || x + side() * ROOM > hand.width;
    set(name, { x: x + side() * 19, "text-anchor": side() < 0 ? "end" : "start" });
    name.textContent = isCut ? "" : `${label} ${number(bandwidth, digits)}`;
    chip.style.transform = `translate(${x}px, ${y}px)`;
    set(chip, { tabindex: chooses ? -1 : 0, "data-grab": !chooses, "aria-disabled": chooses && "true",
      "aria-valuenow": number(bandwidth, digits), "aria-valuemin": min, "aria-valuemax": max,
      "aria-valuetext": number(bandwidth, digits) });
  } };
}

/** The query: a line through the picture, held on the axis of the keys. */
function makeQuery(picture, place, hand) {
  const line = svg("path", { class: "kernel-line" });
  picture.prepend(line);
  const { min, max, step, label } = hand.inputs.at;
  const chip = makeChip(picture, "q", label, "q");
  const to = value => hand.change({ at: hand.clamp("at", rounded(value, step)) });
  let off;
  draggable(chip, picture, {
    start: ({ x }) => { off = place.x(hand.values.at) - x; },
    move: ({ x }) => moveQuery(hand, place, x + off),
  });
  stepped(chip, by => to(hand.values.at + by * step), key => to(key === "Home" ? min : max));
  return { draw(_, { at }) {
    const x = place.x(at);
    chip.style.transform = `translate(${x}px, ${BASE}px)`;
    set(line, { d: `M${x} ${PLOT[0] - 8}V${BASE}` });
    set(chip, { "aria-valuenow": at, "aria-valuemin": min, "aria-valuemax": max,
      "aria-valuetext": number(at, 3) });
  } };
}
