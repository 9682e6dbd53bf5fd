// What writes: one word, word after word, a question with its answer; and what takes it back.

import { END, joined, piecesOf } from "./story.text.js";

const PACE = 200; // ms from word to word
const LONGEST_ANSWER = 16;
const KEPT = 100; // steps that can be taken back

/** The words without a question at their end that has no answer yet. */
function answered(words) {
  const end = words.lastIndexOf(".") + 1;
  return words.slice(end).includes("?") ? words.slice(0, end) : words;
}

/** The acts on a story. `drawn(state)` is told what was drawn, and goes on with what is under way. */
export function writing(hand) {
  const past = [];
  let begun = hand.values.text; // what the reader began with, and the dice go on from
  let expected = begun;
  let { seed } = hand.values;
  let state;
  let under; // what is under way: whether it ends after a word
  let next;

  const tell = (text, other) => {
    expected = text;
    hand.change({ at: hand.inputs.at.max, text, ...other });
  };
  const put = words => tell(joined(words));
  const stop = () => {
    clearTimeout(next);
    under = undefined;
  };
  const begin = isOverAt => {
    stop();
    past.push(hand.values.text);
    past.splice(0, past.length - KEPT);
    under = isOverAt;
  };
  const pieces = () => piecesOf(hand.values.text);
  const isRead = () => state.text === hand.values.text;
  const asked = () => Math.min(hand.values.at, state.ids.length - 1);
  const isDrawn = () => isRead() && state.at === asked();
  /** The words up to the one that is asked: what comes next is put there. */
  const told = () => (asked() === state.ids.length - 1
    ? pieces()
    : state.ids.slice(1, asked() + 1).map(id => state.words[id]));
  const isOver = () => state.drawn === state.words.indexOf(END) || isFull();
  const isFull = () => state.ids.length >= hand.given.longest;
  const go = () => {
    if (!isDrawn()) return; // the next frame goes on
    if (isOver()) stopAndShow();
    else put([...told(), state.words[state.drawn]]);
  };
  const stopAndShow = () => {
    stop();
    hand.change({});
  };
  const mine = words => {
    begin();
    put(words);
    begun = expected;
  };
  hand.onClose(stop);

  return {
    get isPlaying() { return under !== undefined; },
    get canUndo() { return past.length > 0; },
    get isFull() { return isFull(); },
    get isOver() { return isOver(); },
    stop() { if (under) stopAndShow(); },
    word() {
      if (!isDrawn()) return;
      begin();
      go();
    },
    play() {
      if (under) return stopAndShow();
      begin(() => false);
      return hand.change({});
    },
    again() {
      begin(() => false);
      seed = (seed + 1) % (hand.inputs.seed.max + 1);
      tell(begun, { seed });
    },
    ask(question) {
      let left = LONGEST_ANSWER;
      begin(word => word === "." || (left -= 1) < 0);
      put([...answered(pieces()), ...piecesOf(question)]);
    },
    choose(word) { if (isDrawn()) mine([...told(), word]); },
    type: words => mine([...(isRead() ? told() : pieces()), ...words]),
    replace: (at, words) => mine(pieces().flatMap((each, i) => (i === at ? words : [each]))),
    back: () => mine(pieces().slice(0, -1)),
    undo() {
      stop();
      if (!past.length) return;
      begun = past.pop();
      tell(begun);
    },
    drawn(now) {
      state = now;
      if (!isRead()) return; // Python has yet to answer
      const { text } = hand.values;
      if (text !== expected || hand.values.seed !== seed) { // a preset, or a cell, has put another
        stop();
        begun = expected = text;
        ({ seed } = hand.values);
      }
      if (!under) return;
      clearTimeout(next);
      const word = state.words[state.ids.at(-1)];
      if (under(word)) stopAndShow();
      else next = setTimeout(go, PACE);
    },
  };
}
