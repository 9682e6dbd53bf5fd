// How the points are split among the experts, from the first step on; it plays and is scrubbed.

import { chart } from "../../../course_utils/explorers/kit/chart.js";
import { slider } from "../../../course_utils/explorers/kit/hand.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";

const HEIGHT = 202;
const BEAT = 170; // ms between two steps while it plays
const THIN = 0.07; // share of a band that has no room for its number
const ICONS = { play: "M2 1L13 7.5L2 14Z", pause: "M2 1h4v13H2ZM9 1h4v13H9Z" };

export function makeTraining(hand) {
  const { steps, chosen, ground } = hand.given;
  const experts = ground[0].map((_, i) => i);
  const last = steps.length - 1;
  const box = html("div", {});
  const plot = chart(box, {
    label: "share of the points that each expert takes",
    x: { label: "training steps", domain: [0, Math.sqrt(steps[last])], scale: Math.sqrt,
      ticks: [0, 100, 500, 1000, 2000, 3000].map(each => [each, number(each)]) },
    y: { label: "share of the points", domain: [0, 1],
      ticks: [[0, "0"], [0.5, "50 %"], [1, "100 %"]] },
    height: HEIGHT, edge: { left: 46, right: 22, top: 22 },
  });
  set(plot.svg, { role: "group" });
  const room = svg("rect", { class: "moe-room" });
  const line = svg("path", { class: "moe-now" });
  const knob = svg("circle", { class: "moe-knob", r: 8 });
  const edge = svg("g", { class: "moe-scrub" }, room, line, knob);
  plot.svg.append(edge);
  let now = 0;
  const go = index => {
    now = index; // a second key may come before the next frame
    hand.change({ step: steps[now] });
  };
  const from = ({ x }) => {
    const gaps = steps.map(each => Math.abs(Math.sqrt(each) - plot.xAt.inverse(x)));
    return gaps.indexOf(Math.min(...gaps));
  };
  const hear = slider(edge, plot.svg,
    { label: "training step", min: 0, max: last, at: () => now, go, from, jumps: true });
  let expected; // the step that playing has asked for
  const player = makePlayer(hand, () => {
    go(now === last ? 0 : now + 1);
    expected = steps[now];
    return now < last;
  });
  let drawn = "";
  const bands = run => {
    const shares = steps.map((_, at) => {
      const counts = experts.map(() => 0);
      for (const each of chosen[run * steps.length + at]) counts[each] += 1;
      return counts.map(each => each / chosen[0].length);
    });
    const below = shares.map(row => row.reduce((sums, each) => [...sums, sums.at(-1) + each], [0]));
    const place = (at, level) => `${plot.atX(steps[at]).toFixed(1)} ${plot.atY(level).toFixed(1)}`;
    experts.forEach(i => {
      const up = steps.map((_, at) => place(at, below[at][i + 1]));
      const down = steps.map((_, at) => place(at, below[at][i])).reverse();
      plot.mark(`band ${i}`, "path", { class: `moe-band moe-e${i}`,
        d: `M${[...up, ...down].join("L")}Z` });
      const end = shares[last][i];
      const text = plot.text(`end ${i}`, steps[last], below[last][i] + end / 2, String(i + 1),
        { dx: 7, dy: 5, class: `moe-end moe-e${i}` });
      set(text, { display: end < THIN ? "none" : undefined });
    });
  };
  const show = (state, values, width) => {
    plot.fit(width);
    const run = Math.floor(state.frame / steps.length);
    now = steps.indexOf(values.step);
    if (values.step !== expected) player.stop(); // somebody took it in hand
    if (`${run} ${width}` !== drawn) bands(run);
    drawn = `${run} ${width}`;
    const { left, right, top, bottom } = plot.inner;
    const x = plot.atX(state.step);
    set(room, { x: left - 14, width: right - left + 28, y: top - 10, height: bottom - top + 20 });
    set(line, { d: `M${x} ${top - 4}V${bottom}` });
    set(knob, { cx: x, cy: top - 4 });
    hear(`step ${number(state.step)}`, { "aria-valuemax": steps[last], "aria-valuenow": state.step });
    player.show(`step ${number(state.step)}`);
  };
  return { element: html("div", { class: "moe-training" }, player.element, box), show };
}

/** A button that calls `tick` until that says there is no more. */
function makePlayer(hand, tick) {
  const icon = svg("path");
  const words = html("span");
  const button = html("button", { type: "button", class: "moe-play" },
    svg("svg", { width: 15, height: 15, "aria-hidden": "true" }, icon), words);
  const where = html("output", {});
  const element = html("div", { class: "moe-player" }, button, where);
  let timer;
  const label = () => {
    set(icon, { d: timer ? ICONS.pause : ICONS.play });
    set(words, { text: timer ? "Pause" : "Play" });
  };
  const stop = () => {
    clearTimeout(timer);
    timer = undefined;
    label();
  };
  const next = () => {
    timer = undefined;
    if (element.isConnected && tick()) timer = setTimeout(next, BEAT);
    label();
  };
  button.addEventListener("click", () => (timer ? stop() : next()));
  hand.onClose(stop);
  label();
  return { element, stop, show: text => set(where, { text }) };
}
