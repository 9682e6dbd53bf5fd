// What the chosen number was made of, in a line: each number of it can be pressed.

import { html, set } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import { spreadOf } from "./number.compute.js";

const MOST = 8; // terms: the feed-forward part's
const said = value => number(value, 2);

// What stands before the terms, between two of them, and behind the last.
const FORMS = {
  given: () => ["given", "", ""],
  sum: (own, all, { name, root }) => (name === "score" ? ["(", "+", `) / √${root}`] : ["", "+", ""]),
  norm: (own, all) => [`(${said(own)} − mean) / spread, of`, ",",
    `: ${spreadOf(all).map((each, i) => `${["mean", "spread"][i]} ${said(each)}`).join(", ")}`],
  softmax: own => [`exp ${said(own)} / ( exp`, "+ exp", ")"],
  gelu: () => ["GELU of", "", ""],
};

/** The line; what is returned writes a state's. */
export function makeTerms(box, hand) {
  const before = html("b", {});
  const lead = html("span", {});
  const terms = Array.from({ length: MOST }, () => makeTerm(hand));
  const end = html("span", {});
  box.append(html("div", { class: "num-terms" }, before, lead, ...terms.map(each => each.element), end));
  return state => {
    const { kind, numbers, result, place } = state;
    const all = state.terms.map(([one]) => numbers[one]);
    const [start, between, behind] = state.terms.length || kind === "given"
      ? FORMS[kind](all[place[2]], all, state) : ["not looked at", "", ""];
    set(before, { text: state.terms.length || kind === "given" ? `${said(result)} =` : "" });
    set(lead, { text: start });
    terms.forEach((each, i) => each.draw(state.terms[i], i ? between : "", state));
    set(end, { text: behind });
  };
}

/** One term: a number, and what it is multiplied by: another one, or a weight. */
function makeTerm(hand) {
  const sign = html("span", {});
  const [one, other] = [makePress(hand), makePress(hand)];
  const times = html("span", {});
  const element = html("span", { class: "num-term" }, sign, one.button, times, other.button);
  const draw = (term, between, { kind, name, numbers }) => {
    element.hidden = !term;
    if (!term) return;
    const [first, second, factor] = term;
    const isMatrix = kind === "sum" && second < 0 && !["x + attention", "output"].includes(name);
    set(sign, { text: between });
    one.draw(first, numbers);
    other.draw(second, numbers);
    set(times, { text: second >= 0 ? "×" : isMatrix ? `× ${number(factor, 1)}` : "" });
  };
  return { element, draw };
}

/** A number that is chosen by a press; none below 0. */
function makePress(hand) {
  const button = html("button", { type: "button", class: "num-press" });
  button.addEventListener("click", () => hand.change({ cell: Number(button.dataset.cell) }));
  const draw = (cell, numbers) => {
    button.hidden = cell < 0;
    if (cell < 0) return;
    button.dataset.cell = cell;
    set(button, { text: said(numbers[cell]) });
  };
  return { button, draw };
}
