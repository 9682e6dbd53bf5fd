// A prediction that is drawn: by pointer over the picture, or with five handles by key; then the truth.

import { chart } from "./chart.js";
import {
  HANDLES, PLACES, caption, compute, heightsOf, joined, pulled, shareOf,
} from "./draw.compute.js";
import drawing from "./draw.css";
import { explorer } from "./explorer.js";
import { draggable, slider } from "./hand.js";
import prediction from "./predict.css";
import { onGuess, recall, remember } from "./remembered.js";
import { clamp } from "./scale.js";
import { html, path, set, svg } from "./svg.js";
import { unfold } from "./unfold.js";
import { number } from "./words.js";

const MIDDLE = 0.5;
const KEYS = 50; // steps of a key from the bottom to the top
const NARROW = 560;
const HIGH = 240;
const STRAYS = 24; // so far beside its handle a pointer draws

// It may be the first prediction of its page.
export default explorer({ mount, compute, caption, style: prediction + drawing });

function mount(stage, hand) {
  const { curve, key } = hand.given;
  const root = stage.closest(".ce");
  root.classList.replace("course-explorer", "predict");
  root.classList.add("predict-made"); // its line asks, too
  const drawn = makeDrawing(stage, curve);
  const done = html("button", { type: "button", class: "draw-done", disabled: true }, "That is my guess");
  const again = html("button", { type: "button", class: "draw-again" }, "Draw again");
  stage.append(done, again);
  const hear = (where, text) => where === key && hand.change({ guess: text });
  hand.onClose(onGuess(hear));
  const before = heightsOf(recall(key));
  if (before.length === PLACES && before.every(Number.isFinite)) hand.change({ guess: before.join(" ") });
  drawn.onDraw(() => set(done, { disabled: false }));
  done.addEventListener("click", () => {
    remember(key, drawn.heights().map(each => each.toPrecision(3)).join(" "));
    unfold(root);
  });
  again.addEventListener("click", () => {
    remember(key, "");
    set(done, { disabled: false });
  });
  return (state, values) => {
    done.hidden = Boolean(values.guess);
    again.hidden = !values.guess;
    drawn.show(state, hand.width);
  };
}

/** Axes, the guess with its handles, and over it what came out. */
function makeDrawing(stage, curve) {
  const [along, up] = [shareOf(curve.x), shareOf(curve.y)];
  const plot = chart(stage, {
    label: `${curve.y.label} against ${curve.x.label}`, height: HIGH,
    edge: { left: 58, right: 18 }, x: axisOf(curve.x, along), y: axisOf(curve.y, up),
  });
  const ground = svg("rect", { class: "draw-ground", "data-grab": "shared" });
  const gap = svg("path", { class: "draw-gap" });
  const line = svg("path", { class: "draw-guess" });
  set(plot.svg, { role: "group" }); // it has handles
  plot.svg.append(gap, ground, line);
  let shares = Array(PLACES).fill(MIDDLE);
  let isOver = false;
  let told = () => {};
  const change = drawn => {
    if (isOver) return;
    shares = drawn;
    told();
    redraw();
  };
  const heightOf = i => up.inverse(shares[i]);
  const shareAt = y => clamp(plot.yAt.inverse(y), 0, 1);
  const nameOf = place => `${curve.y.label} at ${curve.x.label} = ${written(along.inverse(place))}`;
  const handles = HANDLES.map((i, handle) => {
    const element = svg("g", { class: "draw-handle" },
      svg("circle", { class: "draw-reach", r: 20 }), svg("circle", { r: 9 }));
    plot.svg.append(element);
    let pointer; // where it is while it holds this handle, and where it was
    let before;
    const hear = slider(element, plot.svg, {
      label: nameOf(PLACE[i]), min: 0, max: KEYS, grab: "", at: () => Math.round(KEYS * shares[i]),
      start: place => { last = undefined; pointer = place; },
      end: () => { pointer = undefined; },
      from: place => { [before, pointer] = [pointer, place]; return KEYS * plot.yAt.inverse(place.y); },
      go(to) {
        if (pointer && (last || Math.abs(pointer.x - plot.xAt(PLACE[i])) > STRAYS)) {
          last ??= { i, share: shareAt(before.y) };
          follow(pointer);
        } else change(pulled(shares, handle, to / KEYS));
      },
    });
    return { i, element, hear };
  });
  let last; // where the pointer was
  const follow = ({ x, y }) => {
    const i = clamp(Math.round(plot.xAt.inverse(x) * (PLACES - 1)), 0, PLACES - 1);
    const now = { i, share: shareAt(y) };
    change(joined(shares, last ?? now, now));
    last = now;
  };
  draggable(ground, plot.svg, { start: place => { last = undefined; follow(place); }, move: follow });

  function redraw() {
    set(line, { d: path(PLACE.map(plot.xAt), shares.map(plot.yAt)) });
    for (const { i, element, hear } of handles) {
      const place = `translate(${plot.xAt(PLACE[i])} ${plot.yAt(shares[i])})`;
      set(element, { transform: place, display: isOver && "none" });
      hear(written(heightOf(i)));
    }
  }

  return {
    heights: () => shares.map((_, i) => heightOf(i)),
    onDraw: tell => { told = tell; },
    show({ heights, asked }, width) {
      isOver = heights.length > 0;
      if (isOver) shares = heights.map(each => clamp(up(each), 0, 1));
      plot.fit(width);
      drawLevels(plot, curve.levels, up);
      const { left, right, top, bottom } = plot.inner;
      set(ground, { x: left, y: top, width: right - left, height: bottom - top });
      redraw();
      const truth = isOver ? { xs: curve.at.map(along), ys: curve.truth.map(up) } : { xs: [], ys: [] };
      set(gap, { d: isOver ? between(plot, truth, { xs: PLACE, ys: shares }) : "" });
      drawTruth(plot, truth, asked.map(up), width < NARROW);
    },
  };
}

const PLACE = Array.from({ length: PLACES }, (_, i) => i / (PLACES - 1));

const axisOf = ({ label, ticks }, share) => ({
  label, domain: [0, 1], ticks: ticks.map(each => [share(each), written(each)]),
});

/** What came out, with both curves' names at the end where they are further apart. */
function drawTruth(plot, { xs, ys }, asked, isNarrow) {
  plot.line("truth", xs, ys, { class: "draw-truth" });
  const dots = ys.map((y, i) => `M${plot.xAt(xs[i])} ${plot.yAt(y)}h0`).join("");
  plot.mark("dots", "path", { class: "draw-dots", d: dots });
  const gapAt = i => Math.abs(ys[i] - asked[i]);
  const last = xs.length - 1;
  const i = last > 0 && gapAt(0) > gapAt(last) ? 0 : last;
  const isHigher = ys[i] > asked[i];
  const name = (mark, y, words, isAbove) => plot.text(mark, xs[i] ?? 0, y ?? 0, last < 0 ? "" : words, {
    class: `draw-${mark}`, dy: isAbove ? -12 : 20, "text-anchor": i === 0 ? "start" : "end",
  });
  name("its", ys[i], "what came out", isHigher);
  name("yours", asked[i], isNarrow ? "yours" : "your guess", !isHigher);
}

/** Heights to draw against, each a dotted line with its name; names of neighbours stand apart. */
function drawLevels(plot, levels, up) {
  Object.entries(levels).forEach(([name, height], i) => {
    plot.line(`level-${name}`, [0, 1], [up(height), up(height)], { class: "draw-level" });
    plot.text(`name-${name}`, i % 2 ? 0.7 : 0.98, up(height), `${name} ${written(height)}`,
      { class: "draw-level-name", dy: -5, "text-anchor": "end" });
  });
}

/** The area between two curves. */
function between(plot, one, other) {
  const along = [...one.xs, ...[...other.xs].reverse()];
  const heights = [...one.ys, ...[...other.ys].reverse()];
  return `${path(along.map(plot.xAt), heights.map(plot.yAt))}Z`;
}

const written = value =>
  number(value, value !== 0 && Math.abs(value) < 10 && !Number.isInteger(value) ? 2 : 0);
