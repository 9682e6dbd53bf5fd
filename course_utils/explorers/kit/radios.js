// One of a few, as a row of radio buttons in the picture.

import { focusOn } from "./hand.js";
import { html, set } from "./svg.js";

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** A row of buttons for values as { element, show(value) }; `names` are what they say. */
export function radios(label, values, choose, names = values.map(String)) {
  const buttons = names.map(name => html("button", { type: "button", role: "radio" }, name));
  const element = html("div", { class: "pick", role: "radiogroup", "aria-label": label },
    html("span", { "aria-hidden": "true" }, label), ...buttons);
  buttons.forEach((each, i) => each.addEventListener("click", () => choose(values[i])));
  let chosen = 0;
  oneOf(element, buttons, () => chosen, i => choose(values[i]));
  const show = value => {
    chosen = values.indexOf(value);
    mark(buttons, chosen);
  };
  return { element, show };
}

/** Arrow keys choose among elements that have the role of radio buttons. */
export function oneOf(holder, elements, chosen, choose) {
  holder.addEventListener("keydown", event => {
    const step = event.altKey || event.metaKey ? 0 : STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (chosen() + step + elements.length) % elements.length;
    choose(next);
    focusOn(elements[next]);
  });
}

/** Say which of several radio buttons is on; it alone is reached by Tab. */
export function mark(elements, chosen) {
  elements.forEach((each, i) =>
    set(each, { "aria-checked": String(i === chosen), tabindex: i === chosen ? 0 : -1 }));
}
