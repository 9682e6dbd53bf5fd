// A prediction: two to four buttons, or a box for a number; a line once something is guessed.

import { choices } from "./choices.js";
import { explorer } from "./explorer.js";
import { asNumber, caption, compute, verdict } from "./predict.compute.js";
import style from "./predict.css";
import { onGuess, recall, remember } from "./remembered.js";
import { html, set } from "./svg.js";
import { atAnswer, unfold } from "./unfold.js";
import { parts } from "./words.js";

const AT_THE_END = "The end of the lecture lists your guesses and what came out.";

export default explorer({ mount, compute, caption, style });

function mount(stage, hand) {
  const { key, choices: texts } = hand.given;
  const { longest } = hand.inputs.guess;
  const root = stage.closest(".ce");
  root.classList.replace("course-explorer", "predict"); // no picture, no presets
  const guess = text => remember(key, text); // comes back below, as from another cell
  const shown = texts.length
    ? choices(texts, guess, { "aria-label": "your guess" })
    : box(hand.given, longest, guess);
  stage.append(shown.element);
  const heard = (where, text) => where === key && hand.change({ guess: text });
  hand.onClose(onGuess(heard));
  const before = recall(key);
  const isNumber = Boolean(before) && asNumber(before) === before && before.length <= longest;
  const isKnown = texts.length ? texts.includes(before) : isNumber;
  if (isKnown) hand.change({ guess: before });
  // On the site a guess of an earlier visit moves nothing: its button is dark, and that is all.
  const earlier = isKnown && root.closest(".course-asked") ? before : "";
  const answer = makeAnswer(root, hand);
  return (state, values) => {
    shown.show(values.guess);
    answer.draw(state);
    const isNew = values.guess !== "" && values.guess !== earlier;
    root.classList.toggle("predict-made", isNew);
    if (isNew) unfold(root);
  };
}

/** Under the buttons the way to the answer, and there the guess beside what came out. */
function makeAnswer(root, hand) {
  const link = html("a", {}, "To the answer ↓");
  const way = html("p", { class: "predict-way" }, hand.alone ? link : AT_THE_END);
  way.hidden = hand.alone || hand.given.once;
  root.querySelector(".ce-caption").after(way);
  link.addEventListener("click", () => unfold(root));
  const told = html("p", { class: "course-told" });
  return { draw(state) {
    told.remove();
    if (!state.guess || hand.given.once) return;
    atAnswer(root, fold => {
      fold.id ||= `answer-${hand.given.name}`;
      set(link, { href: `#${fold.id}` });
      way.hidden = false;
      const words = parts(verdict(state)).map(([kind, text]) => (kind ? html("b", {}, text) : text));
      told.replaceChildren(...words);
      fold.querySelector("summary").after(told);
    });
  } };
}

/** A box for text: a browser's own box for numbers drops a comma, so that 2,1 becomes 21. */
function box({ unit }, longest, guess) {
  const label = unit ? `your guess, ${unit}` : "your guess";
  const kind = { type: "text", inputmode: "decimal", autocomplete: "off", maxlength: longest };
  const input = html("input", { ...kind, "aria-label": label });
  const button = html("button", { type: "submit" }, "Guess");
  const element = html("form", { class: "ce-choices" }, input, unit, button);
  element.addEventListener("submit", event => {
    event.preventDefault();
    const number = asNumber(input.value);
    if (number) guess(number);
    else if (input.value.trim()) {
      input.setCustomValidity("Your guess must be a number, such as 2.5");
      input.reportValidity();
    }
  });
  input.addEventListener("input", () => input.setCustomValidity(""));
  const show = value => {
    if (document.activeElement !== input) input.value = value;
  };
  return { element, show };
}
