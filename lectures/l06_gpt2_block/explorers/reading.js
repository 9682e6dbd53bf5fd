// Tokens as words: their spaces are there, and do not shout.

import { html } from "../../../course_utils/explorers/kit/svg.js";

/** A token's name as text, its spaces paler. */
export function written(name) {
  const space = /^␣*/.exec(name)[0];
  return [...(space ? [html("span", { class: "token-space" }, space)] : []), name.slice(space.length)];
}

/** Write a token's name into an element, unless it is there already. */
export function write(element, name) {
  if (element.dataset.token === name) return;
  element.dataset.token = name;
  element.replaceChildren(...written(name));
}
