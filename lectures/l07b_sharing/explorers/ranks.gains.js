// What is learned, upward, and what is forgotten, downward: by rank, and without LoRA.

import { chart } from "../../../course_utils/explorers/kit/chart.js";
import { draggable } from "../../../course_utils/explorers/kit/hand.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";

const [HEIGHT, BAR] = [262, 0.72];
const RIVALS = [7.6, 9.2]; // where the fine-tunes without LoRA lie, in ranks
const NARROW = 420; // pixels below which a bar has no room for two decimals
const median = values => [...values].sort((one, other) => one - other)[values.length >> 1];

export function makeGains(hand, rank) {
  const { learned, forgotten, cut } = hand.given;
  const [, runs] = learned.shape;
  const places = [...rank.all.keys(), ...RIVALS];
  const box = html("div", {});
  const plot = chart(box, {
    label: "what each rank learns and forgets",
    x: { label: "", domain: [-0.6, 10], ticks: rank.all.map((each, i) => [i, String(each)]) },
    y: { label: "nats", domain: [-1.45, 2.6], ticks: [-1, 0, 1, 2].map(each =>
      [each, number(Math.abs(each))]) },
    edge: { left: 24, right: 2, top: 24, bottom: 42 },
  });
  set(plot.svg, { role: "img" });
  const near = ({ x }) => rank.go(Math.round(plot.xAt.inverse(x)));
  const room = svg("rect", { class: "lora-room lora-pick", "data-grab": "shared" });
  const value = (table, i) => median(table.subarray(i * runs, (i + 1) * runs));
  const bar = (name, i, height, kind) => {
    const [left, right] = [plot.atX(places[i] - BAR / 2), plot.atX(places[i] + BAR / 2)];
    plot.mark(`${name}${i}`, "path", { class: kind,
      d: `M${left} ${plot.atY(0)}H${right}V${plot.atY(height)}H${left}Z` });
  };
  const whisker = (name, i, table, sign) => {
    const all = [...table.subarray(i * runs, (i + 1) * runs)].map(each => sign * each);
    const x = plot.atX(places[i]);
    plot.mark(`${name}${i}`, "path", { class: "lora-runs",
      d: `M${x} ${plot.atY(Math.min(...all))}V${plot.atY(Math.max(...all))}` });
  };
  const below = (name, at, words, row) =>
    plot.text(name, at, -1.45, words, { dy: row, "text-anchor": "middle" });
  const show = (state, width) => {
    plot.fit(width, { height: width < NARROW ? 214 : HEIGHT });
    const { inner } = plot;
    places.forEach((_, i) => {
      const now = rank.all[i] === state.rank ? "lora-now" : "";
      const kind = i < rank.all.length ? now : "lora-rival";
      bar("up", i, value(learned, i), `lora-learned ${kind}`);
      bar("down", i, -value(forgotten, i), `lora-forgotten ${kind}`);
      whisker("runs up", i, learned, 1);
      whisker("runs down", i, forgotten, -1);
    });
    cut.forEach((gain, i) => {
      const [x, y] = [plot.atX(i), plot.atY(gain)];
      plot.mark(`cut${i}`, "path", { class: "lora-cut",
        d: `M${x} ${y - 5}L${x + 5} ${y}L${x} ${y + 5}L${x - 5} ${y}Z` });
    });
    plot.text("learned", -0.55, 2.6, "learned: code", { dy: 4, class: "lora-up" });
    plot.text("forgotten", -0.55, -1.45, "forgotten: prose", { dy: -4, class: "lora-low" });
    below("rank", 3, "rank of LoRA ↔", 38);
    below("without", (RIVALS[0] + RIVALS[1]) / 2, "without LoRA", 38);
    ["blocks", "full"].forEach((each, i) => below(each, RIVALS[i], each, 18));
    const [at, digits] = [rank.all.indexOf(state.rank), width < NARROW ? 1 : 2];
    plot.text("now up", at, state.learned, number(state.learned, digits),
      { dy: 16, "text-anchor": "middle", class: "lora-count" });
    plot.text("now down", at, -state.forgotten, number(state.forgotten, digits),
      { dy: -7, "text-anchor": "middle", class: "lora-count" });
    set(room, { x: inner.left, y: inner.top, height: inner.bottom - inner.top + 24,
      width: plot.atX(6.5) - inner.left });
    plot.layer.append(room);
  };
  draggable(room, plot.svg, { start: near, move: near });
  const title = html("p", { class: "lora-title" }, "after 60 training steps on code ",
    html("span", {}, "◇ full, cut to the rank"));
  return { element: html("div", {}, title, box), show };
}
