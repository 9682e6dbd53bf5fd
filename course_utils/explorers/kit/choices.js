// Answers to choose from, as buttons: by pointer, by their number, by arrow keys.

import { html, set } from "./svg.js";

const FORWARD = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** Buttons for several texts, the first with the number 1; `show(text)` marks the one chosen. */
export function choices(texts, choose, named) {
  const buttons = texts.map((text, i) => {
    const button = html("button", { type: "button", "aria-keyshortcuts": i + 1 }, text);
    button.addEventListener("click", () => choose(text));
    return button;
  });
  const element = html("div", { class: "ce-choices", role: "group", ...named }, ...buttons);
  element.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = FORWARD[event.key];
    const at = buttons.indexOf(event.target);
    const chosen = buttons[step ? (at + step + buttons.length) % buttons.length : Number(event.key) - 1];
    if (!chosen) return;
    event.preventDefault();
    chosen.focus();
    if (!step) chosen.click();
  });
  const show = chosen => buttons.forEach((button, i) =>
    set(button, { "aria-pressed": String(texts[i] === chosen) }));
  return { element, buttons, show };
}
