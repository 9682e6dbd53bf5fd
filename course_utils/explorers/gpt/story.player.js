// The buttons under the story: what writes, what asks, what takes back.

import { html, set } from "../kit/svg.js";
import { questions } from "./story.text.js";

/** The buttons: { element, draw }. */
export function makePlayer(hand, pen) {
  const press = (label, act, kind = "") => {
    const button = html("button", { type: "button", class: kind }, label);
    // One that has the focus keeps it when it can do nothing more.
    button.addEventListener("click", () => button.getAttribute("aria-disabled") || act());
    return button;
  };
  const word = press("a word", () => pen.word(), "story-first");
  const play = press("play", () => pen.play(), "story-first");
  const again = press("again, other dice", () => pen.again());
  const undo = press("undo", () => pen.undo());
  let asked = [];
  const asks = Array.from({ length: 4 }, (_, i) => press("", () => pen.ask(asked[i].text)));
  const element = html("div", { class: "story-buttons" },
    html("div", { role: "group", "aria-label": "write" }, word, play, again, undo),
    html("div", { role: "group", "aria-label": "ask" }, html("span", {}, "ask:"), ...asks));
  return { element, draw(state) {
    const now = questions(state.pieces.map(each => each.word), hand.given.kinds);
    const isOver = pen.isOver && !pen.isPlaying && "true";
    set(word, { "aria-disabled": isOver });
    set(play, { "aria-disabled": isOver, text: pen.isPlaying ? "stop" : "play" });
    set(undo, { "aria-disabled": !pen.canUndo && "true" });
    now.forEach(({ label, text }, i) => {
      const isMute = (!text || pen.isFull) && "true";
      set(asks[i], { text: label, title: text || undefined, "aria-disabled": isMute });
    });
    asked = now;
  } };
}
