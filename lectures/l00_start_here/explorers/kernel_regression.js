// A query among points: what is near lights up, and the mean of its values follows.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { linear } from "../../../course_utils/explorers/kit/scale.js";
import { html, path, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import style from "./kernel_regression.css";
import { caption, compute } from "./kernel_regression.compute.js";
import { BASE, BELL, HEIGHT, MOST, NARROW, PLOT } from "./kernel_regression.hand.js";
import { makeArea, makeBandwidth, makePoint, makeQuery } from "./kernel_regression.hand.js";

const EDGE = { left: 28, right: 16 };

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
    makeBandwidth, makeQuery, makeHint].map(make => make(picture, place, hand));
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
        "keys: the points' positions x"));
  } };
}

/** What the hand can take here. */
function makeHint(picture, place, hand) {
  const hint = svg("text", { class: "kernel-name", y: 12, "text-anchor": "end" });
  picture.append(hint);
  return { draw(_, { chooses }) {
    set(hint, { x: place.x(1) });
    const things = ["the line", ...(chooses ? [] : ["h"]), ...(hand.width < NARROW ? [] : ["a dot ↕"])];
    const last = things.length > 1 ? ` or ${things.pop()}` : "";
    set(hint, { text: `drag ${things.join(", ")}${last}` });
  } };
}

/** The true curve, the output of every query, and what one bandwidth would give. */
function makeCurves(picture, place, { given }) {
  const truth = svg("path", { class: "kernel-truth" });
  const [fixed, curve] = ["kernel-fixed", "kernel-curve"].map(name => svg("path", { class: name }));
  const name = svg("text", { class: "kernel-name", "text-anchor": "end" }, "true curve");
  picture.append(truth, fixed, curve, name);
  let drawn = [];
  const through = ys => path(Array.from(given.grid, place.x), Array.from(ys, place.y));
  return {
    fit() {
      set(truth, { d: through(given.truth) });
      set(name, { x: place.x(0.715), y: place.y(1.08) });
    },
    draw(state) {
      const paths = [through(state.curve), state.chooses ? through(state.fixed) : ""];
      [curve, fixed].forEach((each, i) => {
        if (drawn[i] !== paths[i]) set(each, { d: paths[i] }); // a moved query changes neither
      });
      drawn = paths;
    },
  };
}

/** The weights as stems over their keys, under the query's bell. */
function makeBell(picture, place, { given }) {
  const [bell, stems] = ["kernel-bell", "kernel-stems"].map(name => svg("path", { class: name }));
  const most = svg("text", { class: "kernel-most" });
  const name = svg("text", { class: "kernel-name", y: BASE - BELL + 4 }, "weights");
  picture.append(bell, stems, most, name);
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
    const isTaken = at < 0.2; // the largest weight is written where the name is
    set(name, { x: place.x(isTaken ? 1 : 0), "text-anchor": isTaken ? "end" : "start" });
    const isLeft = at > 0.5;
    set(most, { x: place.x(nearest) + (isLeft ? -8 : 8), y: BASE - BELL + 4,
      "text-anchor": isLeft ? "end" : "start" });
    set(most, { text: `largest ${number(largest, 2)}` });
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
  const text = svg("text", { class: "kernel-said", y: PLOT[0] + 11 }); // below what names the axis
  const mark = svg("circle", { class: "kernel-out ce-eased", r: 8 });
  picture.append(mark, text);
  return { draw({ out }, { at }) {
    mark.style.transform = `translate(${place.x(at)}px, ${place.y(out)}px)`;
    const isLeft = at > 0.5; // what belongs to the query is written beside its line, over the points
    set(text, { x: place.x(at) + (isLeft ? -8 : 8), "text-anchor": isLeft ? "end" : "start" });
    set(text, { text: `output ${number(out, 2)}` });
  } };
}
