// The text as tiles; the weights of head 1 rise above it, those of head 2 hang below.

import { slider } from "../../../course_utils/explorers/kit/hand.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { ASKED, LETTERS, PLACES } from "./two_places.compute.js";

const LONG = 108; // pixels of a bar of 100 %
const TILE = 38;
const REACH = 40; // pixels around a bar's end in which a finger has it at once
const TOP = 44; // where a full bar of head 1 ends
const TILES = TOP + LONG + 6;
const BELOW = TILES + TILE + 26; // where the bars of head 2 begin
const HEIGHT = BELOW + LONG + 40;
const MORE = 34; // pixels below, of the button that gives a second head
const SIDES = [
  { name: "first", base: TOP + LONG, way: -1, title: 12 },
  { name: "second", base: BELOW, way: 1, title: HEIGHT - 4 },
];

/** The weights of a head when one place gets so many percent: the others share the rest. */
export function shared(weights, place, percent) {
  const others = weights.map((each, i) => (i === place ? 0 : each));
  const known = others.reduce((sum, each) => sum + each, 0);
  const rest = 100 - percent;
  const partner = place === ASKED[0] ? ASKED[1] : ASKED[0];
  const exact = others.map((each, i) => (known ? (each * rest) / known : i === partner && rest));
  const whole = exact.map(Math.floor);
  const byPart = [...exact.keys()].sort((a, b) => exact[b] - whole[b] - (exact[a] - whole[a]));
  const missing = Math.round(rest - whole.reduce((sum, each) => sum + each, 0));
  byPart.slice(0, missing).forEach(i => { whole[i] += 1; });
  whole[place] = percent;
  return whole;
}

/** The text with its heads; what is returned draws them. */
export function makeHeads(box, hand) {
  const drawing = svg("svg", { class: "places-heads", role: "group",
    "aria-label": "the text and the weights of each head" });
  const press = html("button", { type: "button", class: "places-more" });
  press.addEventListener("click", () => hand.change({ two: !hand.values.two }));
  const column = html("div", { class: "places-column" }, drawing, press);
  box.append(column);
  const sides = SIDES.map(side => makeSide(drawing, hand, side));
  const tiles = Array.from({ length: PLACES }, (_, place) => makeTile(drawing, hand, place));
  const here = svg("g", { class: "places-here" },
    svg("rect", { width: TILE, height: TILE, x: -TILE / 2, y: TILES, rx: 7 }),
    svg("text", { y: TILES + 25 }, "?"), svg("text", { y: TILES + TILE + 16 }, "here"));
  drawing.append(here);
  return (values, width) => {
    const slot = width / (PLACES + 1);
    set(drawing, { width, height: HEIGHT }); // with one head too: what is below stays in its place
    const middle = place => (place + 0.5) * slot;
    tiles.forEach((show, place) => show(values.text, middle(place)));
    here.style.transform = `translateX(${middle(PLACES)}px)`;
    sides[0](values.first, slot, true);
    sides[1](values.second, slot, values.two);
    if (press.classList.contains("places-less") === values.two && press.textContent) return;
    set(press, { text: values.two ? "take head 2 away" : "+ give it a second head" });
    press.style.top = `${values.two ? HEIGHT - 24 : BELOW + MORE}px`;
    press.classList.toggle("places-less", values.two);
  };
}

/** A letter of the text; a press changes it to the next. */
function makeTile(drawing, hand, place) {
  const letter = svg("text", { y: TILES + 26, class: "places-letter" });
  const isAsked = ASKED.includes(place);
  const back = `${PLACES - place} back`;
  const tile = svg("g", { class: "places-tile", role: "button", tabindex: 0 },
    svg("rect", { width: TILE + 6, height: TILE, x: -TILE / 2 - 3, y: TILES, rx: 7 }), letter,
    svg("text", { y: TILES + TILE + 16, class: isAsked ? "places-asked" : "places-back" }, back));
  drawing.append(tile);
  const turn = by => {
    const letters = [...hand.values.text];
    const next = (LETTERS.indexOf(letters[place]) + by + LETTERS.length) % LETTERS.length;
    letters[place] = LETTERS[next];
    hand.change({ text: letters.join("") });
  };
  tile.addEventListener("click", () => turn(1));
  tile.addEventListener("keydown", event => {
    const by = { Enter: 1, " ": 1, ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    turn(by);
  });
  let shown;
  return (text, x) => {
    if (shown === `${text[place]} ${x}`) return;
    shown = `${text[place]} ${x}`;
    set(letter, { text: text[place] });
    tile.style.transform = `translateX(${x}px)`;
    set(tile, { "aria-label": `letter ${back}: ${text[place]}, press for another` });
  };
}

/** The weights of one head as bars. */
function makeSide(drawing, hand, { name, base, way, title }) {
  const { label } = hand.inputs[name];
  const heading = svg("text", { y: title, x: 2, class: "places-title" },
    name === "first" ? "head 1: drag its weights" : "head 2");
  const group = svg("g", { class: "places-side" }, heading);
  drawing.append(group);
  const bars = Array.from({ length: PLACES }, (_, place) => {
    const rail = svg("rect", { class: "places-rail", height: LONG, rx: 5, y: Math.min(base, base + way * LONG) });
    const bar = svg("rect", { class: "places-bar", rx: 5 });
    const knob = svg("rect", { class: "places-knob", height: 4, rx: 2 });
    const share = svg("text", { class: "places-share" });
    const room = svg("rect", { class: "places-room", height: LONG + 24, y: way < 0 ? base - LONG - 22 : base - 2 });
    const reach = svg("rect", { class: "places-room", height: REACH, "data-grab": true });
    const column = svg("g", { "aria-orientation": "vertical" }, rail, bar, knob, share, room, reach);
    group.append(column);
    let before; // the weights when it was taken
    const hear = slider(column, drawing, {
      label: `${label}, ${PLACES - place} back`, min: 0, max: 100, jumps: true,
      at: () => hand.values[name][place],
      go: percent => hand.change({ [name]: shared(before ?? hand.values[name], place, percent) }),
      from: ({ y }) => (100 * way * (y - base)) / LONG,
      start: () => { before = hand.values[name]; },
      end: () => { before = undefined; },
    });
    let shown;
    return (percent, middle, wide) => {
      if (shown === `${percent} ${middle}`) return;
      shown = `${percent} ${middle}`;
      const end = base + (way * LONG * percent) / 100;
      const x = { x: middle - wide / 2, width: wide };
      set(rail, x);
      set(room, { x: middle - wide / 2 - 8, width: wide + 16 });
      set(reach, { ...x, y: end - REACH / 2 });
      set(bar, { ...x, y: Math.min(base, end), height: Math.abs(end - base) });
      set(knob, { x: middle - wide / 2 + 4, width: wide - 8, y: end - 2 });
      set(share, { x: middle, y: end + (way < 0 ? -7 : 17) });
      set(share, { text: `${percent} %` });
      hear(`${percent} %`);
    };
  });
  return (weights, slot, isOn) => {
    const hidden = isOn ? false : "none";
    set(group, { display: hidden });
    bars.forEach((show, place) => show(weights[place], (place + 0.5) * slot, Math.min(44, slot - 14)));
  };
}
