// A prediction: two to four buttons, or a box for a number; a line once something is guessed.

import { choices } from "./choices.js";
import { explorer } from "./explorer.js";
import { asNumber, caption, compute } from "./predict.compute.js";
import style from "./predict.css";
import { onGuess, recall, remember } from "./remembered.js";
import { html } from "./svg.js";
import { unfold } from "./unfold.js";


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
  return (state, values) => {
    shown.show(values.guess);
    const isNew = values.guess !== "" && values.guess !== earlier;
    root.classList.toggle("predict-made", isNew);
    if (isNew) unfold(root);
  };
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
