// What can be taken in hand: by pointer, by touch, by arrow keys.

import { clamp } from "./scale.js";
import { set } from "./svg.js";

const STEPS = {
  ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10,
};

const REST = 200; // ms for which a finger that drags, and does not swipe, stays where it came down
const SHAKE = 4; // pixels that a finger moves without meaning to

/** How many steps a key asks for; 0 for another key. */
export const stepsOf = event => (event.altKey || event.metaKey ? 0 : STEPS[event.key] ?? 0);

/** Where an event is, in the pixels of an element, whatever zoom a page is under. */
export function placeIn(element, event) {
  const box = element.getBoundingClientRect();
  const shrunk = (element.clientWidth || box.width) / box.width;
  return { x: (event.clientX - box.left) * shrunk, y: (event.clientY - box.top) * shrunk };
}

/**
 * Let a mouse show what it points at, and a tap what it presses: a finger that moves scrolls.
 * `leave()` follows when the mouse goes, and when something else is tapped.
 */
export function pointing(element, show, leave = () => {}) {
  const isFinger = event => event.pointerType === "touch";
  element.addEventListener("pointermove", event => isFinger(event) || show(event));
  element.addEventListener("pointerleave", event => isFinger(event) || leave(event));
  const elsewhere = event => {
    if (element.contains(event.target)) return;
    document.removeEventListener("click", elsewhere);
    leave(event);
  };
  element.addEventListener("click", event => {
    show(event);
    if (isFinger(event)) document.addEventListener("click", elsewhere);
  });
}

/** The focus goes to one of several, the tab stop from now on: marked later, the page is laid out. */
export const focusOn = one => set(one, { tabindex: 0 }).focus({ preventScroll: true });

/**
 * Let an element be dragged: `start(place)`, then `move(place)`, places in pixels of `area`.
 *
 * A finger takes a handle at once, straight up and down too. Where `data-grab` is "shared", a swipe up
 * or down scrolls the page, and a tap, a rest or a move sideways is for the picture: for what is large,
 * or only goes sideways.
 */
export function draggable(element, area, { start = () => {}, move, end = () => {} }) {
  let held; // the pointer that drags
  const moved = event => event.pointerId === held && move(placeIn(area, event));
  const take = (event, isOver) => {
    element.dataset.held = ""; // what a pointer has taken needs no frame; a key brings it back
    element.focus?.({ preventScroll: true });
    start(placeIn(area, event));
    if (isOver) return end(placeIn(area, event));
    held = event.pointerId;
    element.setPointerCapture(held);
    element.addEventListener("pointermove", moved);
  };
  element.addEventListener("pointerdown", event => {
    if (event.button !== 0) return;
    event.preventDefault();
    const isUnsure = grabOf(event) === "shared" && event.pointerType === "touch";
    if (isUnsure) whenMeant(element, event, isOver => take(event, isOver));
    else take(event);
  });
  for (const over of ["keydown", "blur"]) {
    element.addEventListener(over, () => { delete element.dataset.held; });
  }
  for (const over of ["pointerup", "pointercancel"]) {
    element.addEventListener(over, event => {
      if (event.pointerId !== held) return;
      held = undefined;
      element.removeEventListener("pointermove", moved);
      end(placeIn(area, event));
    });
  }
  // Inside an SVG `touch-action` does not keep every browser from scrolling.
  const stay = event => {
    if (grabOf(event) !== "shared" || held !== undefined) event.preventDefault();
  };
  for (const touched of ["touchstart", "touchmove"]) {
    element.addEventListener(touched, stay, { passive: false });
  }
}

/** How the innermost that can be dragged says that it is. */
const grabOf = event => event.target.closest("[data-grab]")?.dataset.grab;

/** Call `take(isOver)` once a finger is meant for the picture, and never if it scrolls the page. */
function whenMeant(element, down, take) {
  const ends = new AbortController();
  const decide = (isMeant, isOver) => {
    clearTimeout(resting);
    ends.abort();
    if (isMeant) take(isOver);
  };
  const resting = setTimeout(() => decide(true), REST);
  const on = (name, act) => element.addEventListener(
    name, event => event.pointerId === down.pointerId && act(event), { signal: ends.signal });
  on("pointermove", event => {
    const [across, along] = [event.clientX - down.clientX, event.clientY - down.clientY].map(Math.abs);
    if (Math.max(across, along) > SHAKE) decide(across > along);
  });
  on("pointerup", () => decide(true, true));
  on("pointercancel", () => decide(false));
}

/** Let arrow keys move an element that has the role of a slider: `step(count)`, Home and End. */
export function stepped(element, step, ends = () => {}) {
  element.addEventListener("keydown", event => {
    const count = stepsOf(event);
    if (!count && event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    if (count) step(count * (event.shiftKey ? 10 : 1));
    else ends(event.key);
  });
}

/**
 * Make an element of the picture a slider, for pointer, touch and keys; it is not put anywhere.
 *
 * It has a range, `min` to `max` in steps, or some `values`; a getter lets it change. `at()` is its value,
 * `go(value)` moves it, and `from(place)` is the value where a pointer is, in pixels of `area`: the nearest
 * that it can have is taken. One that `keeps` stays as far from the pointer as it was taken; one that
 * `jumps` comes to it at once, and one for `anywhere` also to a press beside all that can be dragged.
 * Returns `hear(words, other)`, which tells a screen reader after a change; `other` attributes come last.
 */
export function slider(element, area, options) {
  const { label, step = 1, digits = 0, at, go, from, start, end, keeps, jumps, anywhere } = options;
  set(element, { role: "slider", tabindex: 0, "data-grab": options.grab ?? "shared", "aria-label": label });
  const ends = () => (options.values
    ? [options.values[0], options.values.at(-1)]
    : [options.min, options.max]);
  const near = value => (options.values
    ? nearest(options.values, value)
    : clamp(Number((Math.round(value / step) * step).toFixed(digits)), ...ends())); // no 0.30000000000000004
  const next = count => (options.values
    ? stepFrom(options.values, at(), count)
    : near(at() + count * step));
  let off = 0; // from the pointer to the value
  const follow = place => go(near(from(place) + off));
  draggable(element, area, { move: follow, end, start(place) {
    start?.(place);
    if (keeps) off = at() - from(place);
    if (jumps) follow(place);
  } });
  if (anywhere) {
    area.addEventListener("click", event =>
      event.target.closest("[data-grab]") || go(near(from(placeIn(area, event)))));
  }
  stepped(element, count => go(next(count)), key => go(ends()[Number(key === "End")]));
  return (words, other) => {
    const [min, max] = ends();
    set(element, { "aria-valuemin": min, "aria-valuemax": max, "aria-valuenow": at(), "aria-valuetext": words,
      ...other });
  };
}

const nearest = (values, value) =>
  values.reduce((one, other) => (Math.abs(other - value) < Math.abs(one - value) ? other : one));

/** Of few values the next or the one before, however large the step is. */
const stepFrom = (values, value, count) =>
  values[clamp(values.indexOf(value) + Math.sign(count), 0, values.length - 1)];

/** A `slider` for a control of the explorer, which knows its range, its name and its value. */
export function handle(element, area, hand, name, options) {
  const at = () => hand.values[name];
  const go = value => hand.change({ [name]: value });
  return slider(element, area, { ...hand.inputs[name], at, go, ...options });
}
