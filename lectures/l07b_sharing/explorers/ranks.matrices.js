// W, and beside it B and A, as thin as the rank. Their inner edge can be dragged.

import { draggable, handle } from "../../../course_utils/explorers/kit/hand.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";

const [SIDE, TOP, HEIGHT, C] = [112, 22, 162, 128]; // C is the width of the model

export function makeMatrices(hand, rank) {
  const text = (words, attributes) =>
    svg("text", { "text-anchor": "middle", ...attributes }, words);
  const frozen = svg("rect", { class: "lora-frozen", y: TOP, rx: 3 });
  const [up, down] = ["B", "A"].map(() => svg("rect", { class: "lora-thin", y: TOP, rx: 2 }));
  const knobs = [0, 1].map(() => svg("rect", { class: "lora-knob", rx: 4 }));
  const room = svg("rect", { class: "lora-room", y: TOP - 4 });
  const edge = svg("g", { class: "lora-edge" }, room, knobs[0]);
  const other = svg("g", { class: "lora-edge", "data-grab": "" },
    svg("rect", { class: "lora-room" }), knobs[1]);
  const names = ["W", "B", "A"].map(name => text(name, { class: "lora-name", y: TOP - 8 }));
  const counts = ["", "", ""].map(() => text("", {}));
  const plus = text("+", { class: "lora-plus", y: TOP + SIDE / 2 + 6 });
  const lock = text("stays as it is", { y: TOP + SIDE / 2 + 4 });
  const drawing = svg("svg", { height: HEIGHT, role: "group", "aria-label": "W + B A" },
    frozen, up, down, lock, plus, ...names, ...counts, other, edge);
  let places = {};
  const follow = thickness => {
    let beside = 0; // pixels from the edge to where it was taken
    return {
      start: place => { beside = thickness(place) - places.thin; },
      from: place => rank.near(((thickness(place) - beside) * C) / SIDE),
    };
  };
  const hear = handle(edge, drawing, hand, "rank", follow(({ x }) => x - places.b));
  const { start, from } = follow(({ y }) => y - TOP);
  draggable(other, drawing, { start, move: place => hand.change({ rank: from(place) }) });
  const show = (state, width) => {
    const [out, into] = hand.given.shapes[hand.inputs.matrix.values.indexOf(state.matrix)];
    const thin = (SIDE * state.rank) / C;
    const between = Math.min(48, (width - 2.5 * SIDE) / 3);
    const [w, b] = [0, SIDE + between];
    const a = b + SIDE / 2 + between;
    places = { b, thin };
    set(drawing, { width });
    set(frozen, { x: w + 1, width: SIDE - 2, height: SIDE });
    set(up, { x: b, width: Math.max(thin, 1.5), height: SIDE });
    set(down, { x: a, width: SIDE, height: Math.max(thin, 1.5) });
    set(knobs[0], { x: b + thin + 1, y: TOP + SIDE / 2 - 17, width: 8, height: 34 });
    set(room, { x: b + thin - 14, width: 38, height: SIDE + 8 });
    set(knobs[1], { x: a + SIDE / 2 - 17, y: TOP + thin + 1, width: 34, height: 8 });
    set(other.firstChild, { x: a, y: TOP + thin - 12, width: SIDE, height: 34 });
    const middles = [w + SIDE / 2, b + Math.max(thin / 2, 8), a + SIDE / 2];
    names.forEach((each, i) => set(each, { x: middles[i] }));
    set(lock, { x: middles[0] });
    set(plus, { x: SIDE + between / 2 });
    const told = [`${number(out * into)} numbers`, `${out} × ${state.rank}`,
      `${state.rank} × ${into}`];
    counts.forEach((each, i) => {
      const y = i === 2 ? TOP + thin + 28 : TOP + SIDE + 18;
      set(each, { x: i === 1 ? b + 24 : middles[i], y, text: told[i] });
    });
    hear(`${state.rank}, ${number(state.trained)} numbers trained`);
  };
  const title = html("p", { class: "lora-title" }, "what is trained: ",
    html("span", {}, "drag the edge of B or A"));
  return { element: html("div", {}, title, drawing), show };
}
