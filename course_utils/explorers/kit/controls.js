// Native inputs: a name, a value in words, a rail over the whole width.

import { stepsOf } from "./hand.js";
import { clamp } from "./scale.js";
import { freshId, html, set } from "./svg.js";
import { number } from "./words.js";

const RAIL = 1000; // stops of a rail whose values are not evenly spaced

/** A control as { element, show(value) }; it calls `change(value)` when it is moved. */
export function control(spec, change) {
  return { slider, steps, choice, toggle, text }[spec.kind](spec, change);
}

/** What a page without a kernel says in place of a control that asks Python. */
export function absent(spec) {
  const words = spec.without_kernel || `Run the notebook to change: ${spec.label}.`;
  return { element: html("p", { class: "ce-absent" }, words), show() {} };
}

/** A value in words, as it stands beside its control. */
export function wordsOf(spec, value) {
  const unit = spec.unit ? ` ${spec.unit}` : "";
  if (typeof value !== "number") return `${value}${unit}`;
  return number(value, spec.digits ?? decimals(value)) + unit;
}

function decimals(value) {
  const [, part = ""] = String(value).split(".");
  return Math.min(part.length, 4);
}

function framed(spec, input, output) {
  input.id = freshId();
  const label = html("label", { for: input.id }, spec.label);
  const parts = output ? [label, output, input] : [label, input];
  const colour = spec.colour ? ` ce-is-${spec.colour}` : "";
  return html("div", { class: `ce-control ce-${spec.kind}${colour}` }, ...parts);
}

/** A swipe that begins on a rail scrolls the page; what it moved before that comes back. */
export function unmovedByScrolling(input, valueNow, change) {
  let before;
  input.addEventListener("pointerdown", () => { before = valueNow(); });
  input.addEventListener("pointercancel", () => change(before));
}

function rail(spec, { most, from, to, step, words }, change) {
  const input = html("input", { type: "range", min: 0, max: most, step: 1 });
  const output = html("output", { "aria-hidden": "true" });
  // As wide as the longest value, so that the label wraps the same at every value.
  const longest = Math.max(...[0, most / 2, most].map(each => words(to(Math.round(each))).length));
  output.style.minWidth = `${longest}ch`;
  let [value, shown] = [];
  const show = next => {
    const place = from(next);
    value = next;
    input.value = place; // a hand may have left it between two stops
    if (next === shown) return;
    shown = next;
    input.style.setProperty("--ce-filled", place / most);
    set(output, { text: words(next) });
    set(input, { "aria-valuetext": words(next) });
  };
  input.addEventListener("input", () => change(to(Number(input.value))));
  unmovedByScrolling(input, () => value, change);
  input.addEventListener("keydown", event => {
    const steps = stepsOf(event);
    if (!steps) return;
    event.preventDefault();
    value = step(value, steps); // a second key may come before the next frame
    change(value);
  });
  return { element: framed(spec, input, output), show };
}

function slider(spec, change) {
  const { min, max, step, digits, fine } = spec;
  const stops = Math.round((max - min) / step);
  const rounded = value => {
    const stop = min + Math.round((clamp(value, min, max) - min) / step) * step;
    return Number(stop.toFixed(digits));
  };
  const far = fine ? Math.log1p((max - min) / fine) : 1;
  const from = value =>
    fine ? (RAIL * Math.log1p((value - min) / fine)) / far : (value - min) / step;
  const above = place => (fine ? fine * Math.expm1((place / RAIL) * far) : place * step);
  const to = place => rounded(min + above(place));
  const move = (value, steps) => rounded(value + steps * step);
  const words = value => wordsOf(spec, value);
  return rail(spec, { most: fine ? RAIL : stops, from, to, step: move, words }, change);
}

function steps(spec, change) {
  const { values } = spec;
  const last = values.length - 1;
  const from = value => values.indexOf(value);
  const to = place => values[place];
  const move = (value, by) => values[clamp(from(value) + Math.sign(by), 0, last)];
  return rail(
    spec,
    { most: last, from, to, step: move, words: value => wordsOf(spec, value) },
    change,
  );
}

function choice(spec, change) {
  const options = spec.values.map((value, i) => html("option", { value: i }, String(value)));
  const input = html("select", {}, ...options);
  input.addEventListener("change", () => change(spec.values[input.value]));
  const show = value => {
    const place = spec.values.indexOf(value);
    if (input.selectedIndex !== place) input.selectedIndex = place;
  };
  return { element: framed(spec, input), show };
}

function toggle(spec, change) {
  const input = html("input", { type: "checkbox" });
  input.addEventListener("change", () => change(input.checked));
  const show = value => {
    input.checked = value;
  };
  return { element: framed(spec, input), show };
}

function text(spec, change) {
  const { placeholder, longest } = spec;
  const input = html("input", { type: "text", placeholder, maxlength: longest, dir: "auto" });
  input.addEventListener("input", () => change(input.value));
  const show = value => {
    // Not while it is typed into: the cursor would jump.
    if (input.value !== value) input.value = value;
  };
  return { element: framed(spec, input), show };
}
