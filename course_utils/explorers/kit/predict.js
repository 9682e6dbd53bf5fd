// A prediction: two to four buttons, or a box for a number; a line once something is guessed.

import { explorer } from "./explorer.js";
import { asNumber, caption, compute } from "./predict.compute.js";
import style from "./predict.css";
import { onGuess, recall, remember } from "./remembered.js";
import { html, set } from "./svg.js";

const ANSWER = /^\s*(What came out|Output)/; // the fold of an answer; of what cells before it print
const FORWARD = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export default explorer({ mount, compute, caption, style });

function mount(stage, hand) {
  const { key, choices } = hand.given;
  const { longest } = hand.inputs.guess;
  const root = stage.closest(".ce");
  root.classList.replace("course-explorer", "predict"); // no picture, no presets
  const guess = text => remember(key, text); // comes back below, as from another cell
  const shown = choices.length ? buttons(choices, guess) : box(hand.given, longest, guess);
  stage.append(shown.element);
  const heard = (where, text) => where === key && hand.change({ guess: text });
  hand.onClose(onGuess(heard));
  const before = recall(key);
  const isNumber = Boolean(before) && asNumber(before) === before && before.length <= longest;
  const isKnown = choices.length ? choices.includes(before) : isNumber;
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

function buttons(choices, guess) {
  const made = choices.map((text, i) => {
    const button = html("button", { type: "button", "aria-keyshortcuts": i + 1 }, text);
    button.addEventListener("click", () => guess(text));
    return button;
  });
  const named = { class: "predict-choices", role: "group", "aria-label": "your guess" };
  const element = html("div", named, ...made);
  element.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = FORWARD[event.key];
    const at = made.indexOf(event.target);
    const chosen = made[step ? (at + step + made.length) % made.length : Number(event.key) - 1];
    if (!chosen) return;
    event.preventDefault();
    chosen.focus();
    if (!step) chosen.click();
  });
  const show = value => made.forEach((button, i) =>
    set(button, { "aria-pressed": String(choices[i] === value) }));
  return { element, show };
}

/** A box for text: a browser's own box for numbers drops a comma, so that 2,1 becomes 21. */
function box({ unit }, longest, guess) {
  const label = unit ? `your guess, ${unit}` : "your guess";
  const kind = { type: "text", inputmode: "decimal", autocomplete: "off", maxlength: longest };
  const input = html("input", { ...kind, "aria-label": label });
  const button = html("button", { type: "submit" }, "Guess");
  const element = html("form", { class: "predict-choices" }, input, unit, button);
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

/** On the site, open what the guess was about: up to the next heading or the next prediction. */
function unfold(root) {
  const asked = root.closest(".course-asked");
  if (!asked) return;
  if (document.readyState === "loading") { // what comes below is not there yet
    document.addEventListener("DOMContentLoaded", () => unfold(root), { once: true });
    return;
  }
  const found = [...document.querySelectorAll(".course-asked, details, h1, h2, h3, strong")];
  const ofPage = each => each.matches(".course-asked") || !each.closest(".ce"); // not of a picture
  const later = found.slice(found.indexOf(asked) + 1).filter(ofPage);
  for (const each of later) {
    const words = each.textContent;
    if (each.tagName === "DETAILS") each.open ||= ANSWER.test(words);
    else if (each.tagName !== "STRONG" || words.startsWith("Predict")) return;
  }
}
