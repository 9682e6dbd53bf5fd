// A prediction that is drawn: by pointer over the picture, or with five handles by key; then the truth.

import { chart } from "./chart.js";
import {
  HANDLES, PLACES, caption, compute, heightAt, heightsOf, shareOf,
} from "./draw.compute.js";
import style from "./draw.css";
import { explorer } from "./explorer.js";
import { draggable, slider } from "./hand.js";
import { onGuess, recall, remember } from "./remembered.js";
import { clamp } from "./scale.js";
import { html, path, set, svg } from "./svg.js";
import { unfold } from "./unfold.js";
import { number } from "./words.js";

const MIDDLE = 0.5;
const KEYS = 50; // steps of a key from the bottom to the top
const NARROW = 560;

export default explorer({ mount, compute, caption, style });

function mount(stage, hand) {
  const { curve, key } = hand.given;
  const root = stage.closest(".ce");
  root.classList.replace("course-explorer", "predict");
  root.classList.add("predict-made"); // its line asks, too
  const drawn = makeDrawing(stage, curve);
  const done = html("button", { type: "button", class: "draw-done", disabled: true }, "That is my guess");
  stage.append(done);
  const hear = (where, text) => where === key && hand.change({ guess: text });
  hand.onClose(onGuess(hear));
  const before = recall(key);
  if (before && heightsOf(before).length === PLACES) hand.change({ guess: before });
  drawn.onDraw(() => set(done, { disabled: false }));
  done.addEventListener("click", () => {
    remember(key, drawn.heights().map(each => each.toPrecision(3)).join(" "));
    unfold(root);
  });
  return (state, values) => {
    done.hidden = Boolean(values.guess);
    drawn.show(state, hand.width);
  };
}

/** Axes, the guess with its handles, and over it what came out. */
function makeDrawing(stage, { x, y, at, truth }) {
  const [along, up] = [shareOf(x), shareOf(y)];
  const axis = ({ label, ticks }, share) => ({
    label, domain: [0, 1], ticks: ticks.map(each => [share(each), written(each)]),
  });
  const plot = chart(stage, {
    label: `${y.label} against ${x.label}`, x: axis(x, along), y: axis(y, up), edge: { left: 54, right: 16 },
  });
  const ground = svg("rect", { class: "draw-ground", "data-grab": "shared" });
  const gap = svg("path", { class: "draw-gap" });
  const line = svg("path", { class: "draw-guess" });
  plot.svg.append(gap, ground, line);
  let shares = Array(PLACES).fill(MIDDLE);
  let isOver = false;
  let told = () => {};
  const heightOf = i => up.inverse(shares[i]);
  const put = (i, share) => { shares[i] = clamp(share, 0, 1); };
  const touched = () => {
    told();
    redraw();
  };
  const handles = HANDLES.map((place, i) => {
    const element = svg("circle", { class: "draw-handle", r: 9 });
    plot.svg.append(element);
    const hear = slider(element, plot.svg, {
      label: `${y.label} at ${x.label} = ${written(along.inverse(place / (PLACES - 1)))}`,
      min: 0, max: KEYS, grab: "", at: () => Math.round(KEYS * shares[place]),
      go: to => {
        put(place, to / KEYS);
        for (const other of [HANDLES[i - 1], HANDLES[i + 1]]) if (other !== undefined) straighten(place, other);
        touched();
      },
      from: ({ y: top }) => KEYS * plot.yAt.inverse(top),
    });
    return { element, hear };
  });
  let last; // where the pointer was
  const go = place => {
    if (isOver) return;
    const now = {
      i: clamp(Math.round(plot.xAt.inverse(place.x) * (PLACES - 1)), 0, PLACES - 1),
      share: plot.yAt.inverse(place.y),
    };
    const from = last ?? now;
    for (let i = Math.min(from.i, now.i); i <= Math.max(from.i, now.i); i += 1) {
      put(i, from.i === now.i ? now.share : heightAt(...inOrder(from, now), i));
    }
    last = now;
    touched();
  };
  draggable(ground, plot.svg, { start: place => { last = undefined; go(place); }, move: go });

  /** A straight line between two handles. */
  function straighten(one, other) {
    const ends = inOrder({ i: one, share: shares[one] }, { i: other, share: shares[other] });
    for (let i = Math.min(one, other); i <= Math.max(one, other); i += 1) put(i, heightAt(...ends, i));
  }

  function redraw() {
    const places = shares.map((_, i) => plot.xAt(i / (PLACES - 1)));
    set(line, { d: path(places, shares.map(plot.yAt)) });
    handles.forEach(({ element, hear }, i) => {
      const place = HANDLES[i];
      set(element, { cx: places[place], cy: plot.yAt(shares[place]), display: isOver && "none" });
      hear(written(heightOf(place)));
    });
  }

  return {
    heights: () => shares.map((_, i) => heightOf(i)),
    onDraw: tell => { told = tell; },
    show({ heights, asked }, width) {
      isOver = heights.length > 0;
      if (isOver) shares = heights.map(up).map(each => clamp(each, 0, 1));
      plot.fit(width);
      const { left, right, top, bottom } = plot.inner;
      set(ground, { x: left, y: top, width: right - left, height: bottom - top });
      redraw();
      const xs = at.map(along);
      const truths = isOver ? truth.map(up) : [];
      plot.line("truth", isOver ? xs : [], truths, { class: "draw-truth" });
      truths.forEach((share, i) => plot.dot(`dot ${i}`, xs[i], share, { class: "draw-dot", r: 4.5 }));
      if (!isOver) plot.layer.querySelectorAll(".draw-dot").forEach(dot => set(dot, { r: 0 }));
      set(gap, { d: isOver ? between(plot, [xs, truths], [shares.map((_, i) => i / (PLACES - 1)), shares]) : "" });
      name(plot, isOver, xs, truths, asked.map(up), width < NARROW);
    },
  };
}

/** The names of both curves, each at the end where they are further apart. */
function name(plot, isOver, xs, truths, asked, isNarrow) {
  const gapAt = i => Math.abs(truths[i] - asked[i]);
  const i = isOver && gapAt(0) > gapAt(xs.length - 1) ? 0 : xs.length - 1;
  const side = i === 0 ? "start" : "end";
  const isHigher = isOver && truths[i] > asked[i];
  const lift = above => (above ? -12 : 20);
  const words = { "text-anchor": side };
  const [x, first, second] = isOver ? [xs[i], truths[i], asked[i]] : [0, 0, 0];
  const texts = isOver ? ["what came out", isNarrow ? "yours" : "your guess"] : ["", ""];
  plot.text("its name", x, first, texts[0], { ...words, class: "draw-its", dy: lift(isHigher) });
  plot.text("your name", x, second, texts[1], { ...words, class: "draw-yours", dy: lift(!isHigher) });
}

/** The area between two curves, each with its places along x and its heights. */
function between(plot, one, [xs, ys]) {
  const [along, heights] = [[...one[0], ...[...xs].reverse()], [...one[1], ...[...ys].reverse()]];
  return `${path(along.map(plot.xAt), heights.map(plot.yAt))}Z`;
}

/** Two points as the arguments of `heightAt`, the left one first. */
function inOrder(one, other) {
  const [left, right] = one.i <= other.i ? [one, other] : [other, one];
  return [[left.i, right.i], [left.share, right.share]];
}

const written = value =>
  number(value, value !== 0 && Math.abs(value) < 10 && !Number.isInteger(value) ? 2 : 0);
