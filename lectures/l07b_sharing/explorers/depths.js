// The words of a text, each with its way through the blocks; what that saves, and what it costs.

import { chart } from "../../../course_utils/explorers/kit/chart.js";
import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { handle, pointing } from "../../../course_utils/explorers/kit/hand.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import picks from "../../../course_utils/explorers/kit/radios.css";
import { radios } from "../../../course_utils/explorers/kit/radios.js";
import style from "./depths.css";

const SHARES = { 0.125: "⅛", 0.25: "¼", 0.5: "½", 0.75: "¾", 1: "all" };
const NARROW = 440; // pixels of width under which the chart is lower
const WIDE = 700; // pixels from which chart and bars lie next to each other
const HEIGHT = 208;
const LABELS = {
  chance: ["by chance", 4, -9, "start", 2], predictor: ["predictor", 12, 2, "start", 0],
  router: ["router", -8, 20, "end", 1],
};

export default explorer({ mount, style: picks + style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const { inputs, given: { capacities } } = hand;
  const rows = {
    capacity: radios("each block takes", capacities, to("capacity"),
      capacities.map(each => SHARES[each])),
    chooser: radios("chosen by the", inputs.chooser.values, to("chooser")),
    text: radios("text", inputs.text.values, to("text"),
      inputs.text.values.map((_, i) => String(i + 1))),
  };
  function to(name) {
    return value => hand.change({ [name]: value });
  }
  const words = makeWords();
  const losses = makeLosses(hand);
  const work = makeWork();
  const below = html("div", { class: "mod-below" }, losses.element, work.element);
  stage.append(html("div", { class: "mod" },
    html("div", { class: "mod-picks" }, ...Object.values(rows).map(each => each.element)),
    words.element, words.told, below));
  return (state, values) => {
    for (const [name, row] of Object.entries(rows)) row.show(values[name]);
    below.classList.toggle("mod-wide", hand.width >= WIDE);
    words.show(state);
    losses.show(state, hand.width >= WIDE ? hand.width * 0.58 : hand.width);
    work.show(state);
  };
}

/** The words, a column each. */
function makeWords() {
  const element = html("div", { class: "mod-words", role: "list", "aria-label": "tokens" });
  const told = html("p", { class: "mod-told" });
  let [shown, columns, ways] = ["", [], []];
  const tell = i => {
    set(told, { text: ways[i] ?? "Choose a word to follow it up through the blocks." });
  };
  pointing(element, event => tell(columns.indexOf(event.target.closest(".mod-token"))),
    () => tell(-1));
  const build = (tokens, blocks) => {
    columns = tokens.map(token => html("div", { role: "listitem", class: "mod-token" },
      ...Array.from({ length: blocks }, () => html("i")),
      html("span", {}, token.trim() || (token.includes("\n") ? "↵" : "␣"))));
    columns.forEach((each, i) => each.classList.toggle("mod-joined", !/^\s/.test(tokens[i])));
    const names = Array.from({ length: blocks }, (_, i) =>
      html("b", {}, `block ${blocks - 1 - i}`));
    element.replaceChildren(html("div", { class: "mod-names", "aria-hidden": "true" }, ...names),
      ...columns);
  };
  const show = ({ tokens, passes }) => {
    const [blocks, T] = passes.shape;
    const text = tokens.join("\0");
    if (text !== shown) build(tokens, blocks);
    shown = text;
    ways = columns.map((column, t) => {
      const taken = Array.from({ length: blocks }, (_, b) => passes[b * T + t]);
      taken.forEach((each, b) =>
        column.children[blocks - 1 - b].classList.toggle("mod-on", Boolean(each)));
      column.classList.toggle("mod-idle", !taken.some(Boolean));
      const way = wayOf(tokens[t].trim(), taken);
      set(column, { "aria-label": way });
      return way;
    });
    tell(-1);
  };
  return { element, told, show };
}

function wayOf(word, taken) {
  const list = kind => taken.flatMap((each, b) => (Boolean(each) === kind ? [b] : []));
  const [on, off] = [list(true), list(false)];
  const name = `“${word || "a blank"}”`;
  if (!off.length) return `${name} is computed by every block.`;
  if (!on.length) return `${name} skips every block.`;
  const named = blocks => `block${blocks.length > 1 ? "s" : ""} ${blocks.join(" and ")}`;
  return `${name} is computed by ${named(on)}, and skips ${named(off)}.`;
}

/** Losses against the share of tokens, with a ring to drag. */
function makeLosses(hand) {
  const { lines, capacities } = hand.given;
  const box = html("div", { class: "mod-losses" });
  const every = lines.flatMap(each => [...each.runs]);
  const plot = chart(box, {
    label: "loss by share of tokens",
    x: { label: "share of the tokens that a block takes", domain: [0, 1.02],
      ticks: [[0, "0"], [0.25, "¼"], [0.5, "½"], [0.75, "¾"], [1, "all"]] },
    y: { label: "loss on unseen text (nats)", domain: [3.6, Math.max(...every) + 0.2],
      ticks: [4, 4.5, 5, 5.5, 6].filter(each => each < Math.max(...every) + 0.2) },
    edge: { left: 34 },
  });
  set(plot.svg, { role: "group" });
  const ring = svg("g", { class: "mod-ring ce-eased" }, svg("circle", { r: 22, class: "mod-room" }),
    svg("circle", { r: 9 }), svg("path", { class: "mod-grip", d: "M-14 -4l-4 4l4 4M14 -4l4 4l-4 4" }));
  plot.svg.append(ring);
  const hear = handle(ring, plot.svg, hand, "capacity",
    { label: "share of the tokens", from: ({ x }) => plot.xAt.inverse(x), anywhere: true });
  const show = (state, width) => {
    plot.fit(Math.floor(width), { height: width < NARROW ? 168 : HEIGHT });
    lines.forEach(({ name, shares, runs, medians }) => {
      const kind = `mod-line mod-${name} ${name === state.chooser ? "mod-now" : ""}`;
      plot.line(name, shares, medians, { class: kind });
      const each = runs.length / shares.length;
      [...runs].forEach((loss, i) => plot.dot(`${name}${i}`, shares[Math.floor(i / each)], loss,
        { r: 2, class: `mod-run mod-${name}` }));
      const [words, dx, dy, anchor, where] = LABELS[name];
      plot.text(`label ${name}`, shares[where], medians[where], words,
        { dx, dy, "text-anchor": anchor, class: `mod-label ${kind}` });
    });
    set(ring, { transform: `translate(${plot.atX(state.share)} ${plot.atY(state.loss)})` });
    hear(`${SHARES[state.capacity]}, loss ${number(state.loss, 2)}`, { "aria-valuemin": 1,
      "aria-valuemax": capacities.length, "aria-valuenow": capacities.indexOf(state.capacity) + 1 });
  };
  return { element: box, show };
}

/** How much of the multiplications is left. */
function makeWork() {
  const names = ["feed-forward, projections", "scores, mixing of values",
    "all, with router and predictor"];
  const bars = names.map(() => html("i"));
  const counts = names.map(() => html("b"));
  const element = html("div", { class: "mod-work" },
    html("p", {}, "multiplications that are left"),
    ...names.map((name, i) => html("div", { class: "mod-bar" },
      html("span", {}, name), counts[i], html("div", { class: "mod-rail" }, bars[i]))));
  const show = ({ work }) => bars.forEach((bar, i) => {
    bar.style.width = `${Math.min(100 * work[i], 100)}%`;
    set(counts[i], { text: `${number(100 * work[i])} %` });
  });
  return { element, show };
}
