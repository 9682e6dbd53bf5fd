// What can be taken in hand: by pointer, by touch, by arrow keys.

import { set } from "./svg.js";

const STEPS = {
  ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10,
};

/** How many steps a key asks for; 0 for another key. */
export const stepsOf = event => (event.altKey || event.metaKey ? 0 : STEPS[event.key] ?? 0);

/** Where an event is, in the pixels of an element, whatever zoom a page is under. */
export function placeIn(element, event) {
  const box = element.getBoundingClientRect();
  const shrunk = (element.clientWidth || box.width) / box.width;
  return { x: (event.clientX - box.left) * shrunk, y: (event.clientY - box.top) * shrunk };
}

/** The focus goes to one of several, the tab stop from now on: marked later, the page is laid out. */
export const focusOn = one => set(one, { tabindex: 0 }).focus({ preventScroll: true });

/** Let an element be dragged: `start(place)`, then `move(place)`, places in pixels of `area`. */
export function draggable(element, area, { start = () => {}, move, end = () => {} }) {
  const moved = event => move(placeIn(area, event));
  element.addEventListener("pointerdown", event => {
    if (event.button !== 0) return;
    event.preventDefault();
    element.dataset.held = ""; // what a pointer has taken needs no frame; a key brings it back
    element.focus?.({ preventScroll: true });
    element.setPointerCapture(event.pointerId);
    start(placeIn(area, event));
    element.addEventListener("pointermove", moved);
  });
  for (const over of ["keydown", "blur"]) {
    element.addEventListener(over, () => { delete element.dataset.held; });
  }
  for (const over of ["pointerup", "pointercancel"]) {
    element.addEventListener(over, event => {
      element.removeEventListener("pointermove", moved);
      end(placeIn(area, event));
    });
  }
  // Inside an SVG `touch-action` does not keep every browser from scrolling.
  element.addEventListener("touchstart", event => event.preventDefault(), { passive: false });
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
