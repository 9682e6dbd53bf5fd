// One answer: where a head's outputs land, and the straight cuts that a linear readout makes.

import { draggable } from "../../../course_utils/explorers/kit/hand.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import { ASKED, LETTERS, TEXTS, VALUES } from "./two_places.compute.js";

const TITLES = ["one back", "three back"];
const TOP = 42; // pixels above the triangle
const BOTTOM = 40;
const APART = 21; // pixels between letters that land at one place
const ROUNDS = 30;
const STEP = 0.01;
const NARROW = 30; // percent of a bar in which a letter and its share have room
const TINY = 8; // and the letter only
// The pairs: [letter three back, letter one back].
const PAIRS = VALUES.flatMap((_, three) => VALUES.map((__, one) => [three, one]));
const indexOf = letters => letters.reduce((index, letter) => 3 * index + letter, 0);

/** The plane of one answer; what is returned draws it. */
export function makeBoard(box, hand, name, index) {
  const heading = html("p", { class: "places-question" }, "What is ",
    html("b", {}, TITLES[index]), "?");
  const says = html("p", {}, html("span", { class: "places-head" }), html("b"),
    html("span", { class: "places-of" }));
  const drawing = svg("svg", { class: "places-board", role: "group",
    "aria-label": `answers for ${TITLES[index]}` });
  const mixture = makeMixture();
  box.append(html("div", { class: "places-answer" }, heading, mixture.box, drawing, says));
  const add = (tag, attributes, ...parts) => {
    const made = svg(tag, attributes, ...parts);
    drawing.append(made);
    return made;
  };
  const stamps = VALUES.map((_, i) => add("text", { class: "places-stamp" }, LETTERS[i]));
  const edge = add("path", { class: "places-edge" });
  const cuts = add("path", { class: "places-cut" });
  const bands = VALUES.map(() => add("path", { class: "places-band" }));
  const cloud = add("path", { class: "places-cloud" });
  const corners = VALUES.map((_, i) => add("g", { class: "places-corner" },
    svg("circle", { r: 5 }), svg("text", { y: i ? 36 : -27 }, LETTERS[i])));
  const letters = PAIRS.map(pair => makeLetter(add, hand, pair));
  const ring = add("circle", { class: "places-ring", r: 15 });
  const plane = {};
  const knob = makeKnob(add, hand, { name, drawing, plane });
  const layOut = (cut, width) => {
    fit(plane, drawing, width);
    const tips = VALUES.map(plane.place);
    set(edge, { d: `M${tips.join("L")}Z` });
    corners.forEach((each, i) => moveTo(each, tips[i]));
    set(cuts, { d: VALUES.map(([x, y]) =>
      `M${plane.place(cut)}L${plane.place([cut[0] - 5 * x, cut[1] - 5 * y])}`).join("") });
    stamps.forEach((each, i) => moveTo(each, inside(plane, cut, VALUES[i])));
    knob(cut);
  };
  const [isNewLayout, isNewState] = [whenNew(), whenNew()];
  return (state, values, width) => {
    const head = index && values.two ? values.second : values.first;
    const cut = values[name];
    if (isNewLayout([cut, width])) layOut(cut, width);
    if (!isNewState([head, cut, width, values.text, values.two])) return;
    const shares = VALUES.map((_, i) =>
      head.reduce((sum, each, place) => sum + (TEXTS[state.at][place] === i && each), 0));
    mixture.write(shares, values.two && index ? 2 : 1);
    const spots = TEXTS.map((_, at) => plane.place(spotOf(state, index, at)));
    set(cloud, { d: spots.map(([x, y]) => `M${x} ${y}h0`).join("") });
    VALUES.forEach((value, i) => {
      set(bands[i], { d: `M${spots[state.at]}L${plane.place(value)}`, "stroke-width": shares[i] / 11 });
    });
    moveTo(ring, spots[state.at]);
    const texts = PAIRS.map(pair => withPair(TEXTS[state.at], pair));
    const places = apart(texts.map(at => spots[at]), width);
    places.forEach((place, i) => letters[i](place, state, index * TEXTS.length + texts[i]));
    write(says, state, index, values.two);
  };
}

/** What a head brings back, as one bar of letters. */
function makeMixture() {
  const says = html("span", {});
  const parts = VALUES.map(() => html("span", {}));
  const bar = html("div", { class: "places-bar-of-letters" }, ...parts);
  return {
    box: html("div", { class: "places-mixture" }, says, bar),
    write: (shares, head) => {
      set(says, { text: `head ${head} brings back` });
      parts.forEach((part, i) => {
        part.style.flexGrow = shares[i];
        part.hidden = !shares[i];
        const percent = shares[i] < NARROW ? "" : ` ${shares[i]} %`;
        set(part, { text: shares[i] < TINY ? "" : LETTERS[i] + percent });
      });
    },
  };
}

/** Whether something differs from what it was at the last call. */
function whenNew() {
  let last;
  return what => {
    const before = last;
    last = JSON.stringify(what);
    return last !== before;
  };
}

const spotOf = ({ spots }, index, at) => {
  const start = 2 * (index * TEXTS.length + at);
  return [spots[start], spots[start + 1]];
};

const moveTo = (element, [x, y]) => {
  element.style.transform = `translate(${x}px, ${y}px)`;
};

/** Which text has this pair of letters, and elsewhere the letters of another text. */
function withPair(letters, [three, one]) {
  const changed = [...letters];
  [changed[ASKED[1]], changed[ASKED[0]]] = [three, one];
  return indexOf(changed);
}

/** Lay the plane out for a width. */
function fit(plane, drawing, width) {
  const radius = (width - 48) / Math.sqrt(3);
  const height = Math.round(TOP + 1.5 * radius + BOTTOM);
  const [x, y] = [width / 2, TOP + radius];
  set(drawing, { width, height });
  Object.assign(plane, { width, height, radius });
  plane.place = point => [x + radius * point[0], y - radius * point[1]];
  plane.back = place => [(place.x - x) / radius, (y - place.y) / radius];
}

/** Where the large letter of a region is: from the meeting point towards the letter's value. */
function inside({ place, width, height, radius }, cut, [x, y]) {
  const [left, top] = place([cut[0] + 0.5 * x, cut[1] + 0.5 * y]);
  const size = 0.22 * radius;
  return [clamp(left, size, width - size), clamp(top, size, height - size)];
}

/** Places of letters, moved apart where they would cover each other. */
function apart(places, width) {
  const moved = places.map(([x, y], i) => {
    const [three, one] = PAIRS[i];
    const angle = (2 * Math.PI * (three - one)) / 3 + 0.5;
    return [x + 0.5 * Math.cos(angle), y + 0.5 * Math.sin(angle)];
  });
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let i = 0; i < moved.length; i += 1) {
      for (let j = 0; j < i; j += 1) push(moved[i], moved[j]);
    }
  }
  return moved.map(([x, y]) => [clamp(x, APART / 2, width - APART / 2), y]);
}

function push(one, other) {
  const [x, y] = [one[0] - other[0], one[1] - other[1]];
  const far = Math.hypot(x, y);
  if (far >= APART) return;
  const by = (APART - far) / 2 / (far || 1);
  [one[0], one[1], other[0], other[1]] = [one[0] + by * x, one[1] + by * y, other[0] - by * x, other[1] - by * y];
}

/** The right answer of a pair; a press writes the pair into the text. */
function makeLetter(add, hand, [three, one]) {
  const letter = svg("text");
  const chip = add("g", { class: "places-pair", "aria-hidden": "true" },
    svg("circle", { r: 10 }), letter);
  chip.addEventListener("click", () => {
    const text = [...hand.values.text];
    [text[ASKED[1]], text[ASKED[0]]] = [LETTERS[three], LETTERS[one]];
    hand.change({ text: text.join("") });
  });
  return (place, { said, truth }, at) => {
    set(letter, { text: LETTERS[truth[at]] });
    chip.classList.toggle("places-right", said[at] === truth[at]);
    chip.classList.toggle("places-wrong", said[at] !== truth[at] && said[at] >= 0);
    moveTo(chip, place);
  };
}

/** The point where the cuts meet. */
function makeKnob(add, hand, { name, drawing, plane }) {
  const knob = add("g", { class: "places-meet", role: "slider", tabindex: 0,
    "data-grab": true,
    "aria-label": `${hand.inputs[name].label}: the point where they meet` },
  svg("rect", { class: "places-room", x: -18, y: -18, width: 36, height: 36 }),
  svg("rect", { x: -5.5, y: -5.5, width: 11, height: 11, transform: "rotate(45)" }));
  const { min, max } = hand.inputs[name];
  const to = point => hand.change({
    [name]: point.map(each => clamp(Math.round(each / STEP) * STEP, min, max)) });
  draggable(knob, drawing, { move: place => to(plane.back(place)) });
  knob.addEventListener("keydown", event => {
    const way = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!way) return;
    event.preventDefault();
    const size = (event.shiftKey ? 10 : 2) * STEP;
    to(hand.values[name].map((each, axis) => each + size * way[axis]));
  });
  return cut => {
    moveTo(knob, plane.place(cut));
    set(knob, { "aria-valuenow": cut[0],
      "aria-valuetext": cut.map(each => number(each, 2)).join(", ") });
  };
}

/** What the readout says about the text above, written where it has changed. */
function write(says, { said, truth, at, right }, index, two) {
  const [answer, wanted] = [said, truth].map(all => all[index * TEXTS.length + at]);
  const isRight = answer === wanted;
  const mark = answer < 0 ? "a tie" : `says ${LETTERS[answer]} ${isRight ? "✓" : "✗"}`;
  const words = [`reads head ${two && index ? 2 : 1}, `, mark,
    `right in ${number(100 * right[index])} % of texts`];
  words.forEach((each, i) => set(says.children[i], { text: each }));
  says.children[1].className = answer < 0 ? "" : isRight ? "places-yes" : "places-no";
}
