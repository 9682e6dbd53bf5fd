// How the block's parameters and its work are divided among the parts: two bars.

import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import { flopsInWords, percent } from "./block.compute.js";
import { nameOf } from "./block.drawing.js";
import { KEYS, PARTS } from "./block.parts.js";

const WIDE = 740;
const NAMED = 128; // pixels at the left for a bar's name, on a wide page
const [TOP, HIGH] = [18, 18]; // of the bar, below the words on the chosen part
const [LETTER, PLAIN] = [8.05, 7]; // pixels of a letter, bold and not, as wide as fonts have it
const APART = 4; // pixels between two names
const PROJECTIONS = ["W_Q", "W_K", "W_V", "W_O"];
const ASKED =
  "Guess first: which parts have the most parameters, and which do the most work? Press to see.";
const BARS = [
  {
    name: "parameters", field: "parameters", none: "no parameters",
    all: state => number(state.all_parameters), words: number,
    groups: [["attention", "pairs", PROJECTIONS], ["feed-forward", "wide", ["W₁", "W₂"]]],
  },
  {
    name: "FLOPs", field: "flops", none: "no matrix product",
    all: state => flopsInWords(state.all_flops), words: flopsInWords,
    groups: [["scores and mix", "pairs", ["scores", "mix"]],
      ["feed-forward", "wide", ["W₁", "W₂"]]],
  },
];

/** Both bars, under a cover until they are asked for; what is returned draws them. */
export function makeBars(stage, hand, near, chosen) {
  const cover = html("button", { type: "button", class: "block-cover" }, html("b", {}, "?"),
    html("span", {}, ASKED));
  const bars = BARS.map(bar => makeBar(bar, hand, near));
  const box = html("div", { class: "block-bars" }, ...bars.map(each => each.drawing), cover);
  stage.append(box);
  cover.addEventListener("click", () => {
    hand.change({ shares: true });
    chosen(hand.values.part); // the cover goes, and would take the focus with it
  });
  return {
    draw(state, width) {
      cover.hidden = state.shares;
      cover.style.left = `${width < WIDE ? 0 : NAMED}px`;
      bars.forEach(each => each.draw(state, width));
    },
    light: key => bars.forEach(each => each.light(key)),
  };
}

function makeBar(bar, hand, near) {
  const drawing = svg("svg", { role: "img" });
  const name = svg("text", { class: "block-bar-name" });
  const all = svg("text", { class: "block-bar-all" });
  const parts = PARTS.map(makeSegment);
  const call = makeCall(bar);
  const groups = bar.groups.map(makeGroup);
  const inside = svg("g", {}, ...parts.map(each => each.element), ...groups.map(each => each.element),
    call.element);
  drawing.append(name, all, inside);
  const at = event => event.target.closest?.("[data-part]")?.dataset.part;
  drawing.addEventListener("pointerover", event =>
    near(event.pointerType === "touch" ? undefined : at(event)));
  drawing.addEventListener("pointerleave", () => near(undefined));
  drawing.addEventListener("click", event => at(event) && hand.change({ part: at(event) }));
  const draw = (state, width) => {
    const isWide = width >= WIDE;
    const left = isWide ? NAMED : 0;
    const room = width - left;
    const counts = state[bar.field];
    const total = bar.all(state);
    set(drawing, { width, height: isWide ? 55 : 82 });
    const display = isWide || state.shares ? false : "none"; // the cover lies over them
    set(name, { y: isWide ? TOP + 8 : 12, text: bar.name, display });
    const many = state.tokens === 1 ? "1 token" : `${number(state.tokens)} tokens`;
    const behind = bar.field === "flops" && !isWide ? `, ${many}` : "";
    set(all, { display, x: isWide ? 0 : bar.name.length * 8.4 + 8, y: isWide ? TOP + 24 : 12,
      text: state.shares || bar.field === "parameters" ? `${total}${behind}` : many });
    set(inside, { transform: `translate(${left} ${isWide ? 0 : 18})`,
      display: state.shares ? false : "none" });
    set(drawing, { "aria-label": state.shares ? said(bar, state) : `${bar.name}, covered` });
    if (!state.shares) return;
    const sum = counts.reduce((one, other) => one + other);
    const ends = counts.reduce((known, each) => [...known, known.at(-1) + each], [0]);
    const place = i => (ends[i] / sum) * room;
    parts.forEach((each, i) => each.draw(place(i), place(i + 1), state.part === KEYS[i]));
    const now = KEYS.indexOf(state.part);
    call.draw(PARTS[now], counts[now], { share: counts[now] / sum, room,
      middle: (place(now) + place(now + 1)) / 2 });
    // From the right: a name gives way to the one after it.
    groups.reduceRight((end, each) => each.draw(counts, sum, { place, room, end }), room);
  };
  const light = key => parts.forEach((each, i) =>
    each.element.classList.toggle("block-near", KEYS[i] === key));
  return { drawing, draw, light };
}

/** A bar in words. */
function said(bar, state) {
  const counts = state[bar.field];
  const sum = counts.reduce((one, other) => one + other);
  const shares = bar.groups.map(([name, , keys]) => `${name} ${percent(sumOf(counts, keys) / sum)}`);
  return `${bar.name}, ${bar.all(state)}: ${shares.join(", ")}`;
}

const sumOf = (counts, keys) => keys.reduce((sum, key) => sum + counts[KEYS.indexOf(key)], 0);

/** The piece of a part, with its name where there is room. */
function makeSegment(part) {
  const piece = svg("rect", { class: "ce-eased", y: TOP, width: 1, height: HIGH });
  const title = svg("text", { class: "block-inside", y: TOP + 13.5 }, ...nameOf(part));
  const element = svg("g", { class: `block-piece block-${part.kind}`, "data-part": part.key },
    piece, title);
  const needed = part.base.length * PLAIN + 10 * part.index.length + 8;
  const draw = (from, to, isChosen) => {
    const width = to - from;
    set(element, { display: width > 0 ? false : "none" });
    if (!width) return;
    // A thin page shines through between two pieces, where both are wide enough.
    const shown = width > 4 ? width - 1.5 : Math.max(width, 1);
    piece.style.transform = `translateX(${from}px) scaleX(${shown})`;
    set(title, { x: (from + to) / 2, display: width > needed ? false : "none" });
    element.classList.toggle("block-chosen", isChosen);
  };
  return { element, draw };
}

/** Above the bar: what the chosen part has of it, with a point down to its piece. */
function makeCall(bar) {
  const point = svg("path", { class: "block-point ce-eased", d: "M-4.5 -5.5H4.5L0 -0.5Z" });
  const words = svg("text", { y: 9.5 });
  const element = svg("g", { class: "block-call" }, point, words);
  let shown;
  const draw = (part, count, { share, middle, room }) => {
    const text = count ? ` ${bar.words(count)}, ${percent(share)}` : `: ${bar.none}`;
    if (shown !== part) {
      shown = part;
      const named = part.kind === "sum" ? [svg("tspan", {}, "⊕")] : nameOf(part);
      words.replaceChildren(...named, svg("tspan", { dy: part.index ? -3 : 0 }, ""));
    }
    set(words.lastChild, { text });
    const half = ((part.base.length + text.length + 1) * LETTER) / 2;
    set(words, { x: Math.min(Math.max(middle, half), room - half) });
    set(point, { display: count ? false : "none" });
    point.style.transform = `translate(${middle}px, ${TOP}px)`;
  };
  return { element, draw };
}

/** Below the bar: parts that belong together, and their share. */
function makeGroup([name, kind, keys]) {
  const line = svg("path");
  const words = svg("text", { y: TOP + HIGH + 18 });
  const element = svg("g", { class: `block-group block-${kind}` }, line, words);
  const indices = keys.map(key => KEYS.indexOf(key));
  const draw = (counts, sum, { place, room, end }) => {
    const [from, to] = [place(indices[0]), place(indices.at(-1) + 1)];
    set(line, { d: `M${from + 1} ${TOP + HIGH + 4}H${Math.max(to - 2, from + 2)}` });
    const text = `${name} ${percent(sumOf(counts, keys) / sum)}`;
    const half = (text.length * LETTER) / 2;
    const x = Math.min(Math.max((from + to) / 2, half), room - half, end - half);
    set(words, { text, x });
    return x - half - APART;
  };
  return { element, draw };
}
