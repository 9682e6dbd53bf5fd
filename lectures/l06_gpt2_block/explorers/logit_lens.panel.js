// Beside the grid: the guesses of the chosen cell, and how the final guess forms.

import { html, set } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import { write } from "./reading.js";

const GUESSES = 5;

/** The panel as { element, draw }. */
export function makePanel(layers, choose) {
  const heading = html("p", { class: "lens-heading" });
  const bars = Array.from({ length: GUESSES }, makeBar);
  const final = html("b");
  const under = html("p", { class: "lens-heading" }, "How the final guess ", final, " forms");
  const steps = layers.map(makeStep);
  steps.forEach(({ element: step }, at) => step.addEventListener("click", () => {
    if (step.classList.contains("lens-open")) choose(at);
  }));
  const element = html("div", { class: "lens-panel" }, heading, ...bars.map(each => each.element),
    under, html("div", { class: "lens-steps" }, ...steps.map(each => each.element)));
  return { element, draw(state, text) {
    const { position, layer, inside } = state;
    const where = position * layers.length + layer;
    set(heading, { text: `${layer ? `After ${layers[layer]}` : "At the embedding"}, the next token is` });
    bars.forEach((bar, i) => {
      const place = where * GUESSES + i;
      bar.draw(text.best[place], text.shares[place], text.best[place] === text.final[position]);
    });
    write(final, text.final[position]);
    const row = position * layers.length;
    const most = Math.max(...text.chances.subarray(row, row + layers.length));
    steps.forEach((step, at) => {
      const isShown = inside || at === layers.length - 1;
      step.draw(text.chances[row + at], { rank: text.ranks[row + at], most, isShown,
        isChosen: at === layer });
    });
  } };
}

/** A guess: its name, a bar, its probability. */
function makeBar() {
  const name = html("span", { class: "lens-name" });
  const fill = html("span", { class: "lens-fill" });
  const share = html("span", { class: "lens-number" });
  const element = html("div", { class: "lens-bar" }, name, html("span", {}, fill), share);
  return { element, draw(token, value, isFinal) {
    write(name, token);
    fill.style.width = `${100 * value}%`;
    set(share, { text: number(value, 2) });
    element.classList.toggle("lens-is-final", isFinal);
  } };
}

/** A layer: how probable it finds the final guess, and at which place it has it. */
function makeStep(layer) {
  const fill = html("span", { class: "lens-column" });
  const share = html("span", { class: "lens-number" });
  const place = html("span", { class: "lens-place" });
  const element = html("div", { class: "lens-step" },
    html("span", { class: "lens-room" }, share, fill), html("span", {}, layer), place);
  return { element, draw(value, { rank, most, isShown, isChosen }) {
    fill.style.height = `${isShown ? Math.max(1, (42 * value) / most) : 0}px`;
    set(share, { text: isShown ? (value < 0.01 ? "< 0.01" : number(value, 2)) : "?" });
    set(place, { text: isShown ? `place ${number(rank)}` : "" });
    element.classList.toggle("lens-chosen", isChosen);
    element.classList.toggle("lens-open", isShown && !isChosen);
  } };
}
