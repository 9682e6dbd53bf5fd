// Play, step, scrub; what else can be chosen lies in the same bar.

import { control, unmovedByScrolling } from "../../../course_utils/explorers/kit/controls.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";

const [BEAT, LONG] = [1300, 2000]; // ms for a tile; for one after which output is written
const PAUSE = 400; // ms between two steps, below which nothing moves by itself
const ICONS = { play: "M2 1L13 7.5L2 14Z", pause: "M2 1h4v13H2ZM9 1h4v13H9Z" };
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

/** The bar as { element, show, go, by }. */
export function makePlayer(hand) {
  const icon = svg("path");
  const words = html("span");
  const play = html("button", { type: "button", class: "tiles-play" },
    svg("svg", { width: 15, height: 15, "aria-hidden": "true" }, icon), words);
  const rail = html("input", { type: "range", min: 1, "aria-label": "tile number" });
  const where = html("output", { class: "tiles-where" });
  const others = ["causal", "queries"].map(name =>
    [name, control(hand.inputs[name], value => hand.change({ [name]: value }))]);
  const arrow = (label, sign, count) => {
    const button = html("button", { type: "button", "aria-label": label }, sign);
    button.addEventListener("click", () => by(count));
    return button;
  };
  const element = html("div", { class: "tiles-player" }, play,
    arrow("one tile back", "‹", -1), rail, arrow("next tile", "›", 1), where,
    ...others.map(([, each]) => each.element));
  let [now, steps] = [1, 1];
  let timer; // while it plays
  let expected; // the step that playing has asked for
  let lively = false;
  let last = 0; // when the step before was shown

  const go = next => hand.change({ step: clamp(next, 1, steps) });
  const by = count => {
    now = clamp(now + count, 1, steps); // a second key may come before the next frame
    lively = count > 0 && performance.now() - last > PAUSE;
    go(now);
  };
  const stop = () => {
    clearTimeout(timer);
    timer = undefined;
    label();
  };
  const tick = () => {
    if (!element.isConnected) return stop();
    timer = setTimeout(tick, LONG); // until the frame says how long it takes
    expected = now === steps ? 1 : now + 1;
    lively = true;
    go(expected);
  };
  const label = () => {
    set(icon, { d: timer ? ICONS.pause : ICONS.play });
    set(words, { text: timer ? "Pause" : "Play" });
  };
  play.addEventListener("click", () => {
    if (timer) return stop();
    tick();
    label();
  });
  rail.addEventListener("input", () => go(Number(rail.value)));
  unmovedByScrolling(rail, () => now, go);
  hand.onClose(stop);
  label();

  /** Show a state; whether it shall come alive. */
  function show(state, values, eased) {
    [now, steps] = [state.step, state.steps];
    if (timer) {
      clearTimeout(timer);
      if (state.step !== expected || state.step === steps) stop();
      else timer = setTimeout(tick, state.ends ? LONG : BEAT);
    }
    others.forEach(([name, each]) => each.show(values[name]));
    set(rail, { max: steps });
    rail.value = now;
    rail.style.setProperty("--ce-filled", (now - 1) / (steps - 1));
    set(where, { text: `tile ${now} of ${steps}` });
    set(rail, { "aria-valuetext": where.textContent });
    last = performance.now();
    const moves = (lively || eased) && !STILL.matches;
    lively = false;
    return Boolean(moves);
  }
  return { element, show, go, by };
}
