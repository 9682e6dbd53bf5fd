// What those who listen get: the story to read, what a head looks at, and what was just written.

import { number } from "../kit/words.js";
import { html, set } from "../kit/svg.js";
import { isOff, nameOf, shown } from "./story.compute.js";
import { piecesOf } from "./story.text.js";

const SENTENCE = /[^.?]*[.?]?\s*$/; // the last one, as far as it goes
const SAID = 0.05; // weights from here on are read out, the largest first
const REST = 200; // ms without a change, after which what can be read is written

/** Three paragraphs that nobody sees: { story, looks, news, draw }. */
export function makeHeard(hand, pen) {
  const story = html("p", { class: "ce-heard" });
  const looks = html("p", { class: "ce-heard" });
  const news = html("p", { class: "ce-heard", "aria-live": "polite" });
  let [told, wasPlaying, rest] = [];
  hand.onClose(() => clearTimeout(rest));
  const write = state => {
    set(looks, { text: looksOf(state) });
    set(story, { text: state.text ? `The story so far: ${state.text}` : "The story has no word yet." });
  };
  return { story, looks, news, draw(state) {
    const { text } = state;
    clearTimeout(rest); // a long text takes its time: the word that was asked for is painted first
    rest = setTimeout(() => write(state), REST);
    const isPlaying = pen.isPlaying;
    const isEnd = wasPlaying && !isPlaying;
    if (told !== undefined && (text !== told || isEnd)) {
      const words = newsOf(text, told, isPlaying || isEnd, isPlaying);
      if (words) set(news, { text: isEnd && pen.isOver ? `${words} The end.` : words });
    }
    [told, wasPlaying] = [text, isPlaying];
  } };
}

/** The words that are new; where sentences are being written, one when it is whole. */
function newsOf(text, told, isSentence, isPlaying) {
  const last = SENTENCE.exec(text.trimEnd())[0].trim();
  if (isSentence) return !isPlaying || /[.?]$/.test(last) ? last : "";
  if (text.startsWith(told)) return text.slice(told.length).trim();
  return piecesOf(text).length ? `The story ends now: ${last}` : "The story is empty.";
}

/** The words that get much of the chosen head's weight. */
function looksOf({ weights, head, off, words, ids }) {
  if (!weights || isOff(off, head)) return "";
  const shares = weights[head[0]][head[1]];
  const most = [...shares.keys()].filter(i => shares[i] >= SAID).sort((a, b) => shares[b] - shares[a]);
  const said = most.map(i => `${number(shares[i], 2)} on word ${i}, ${shown(words[ids[i]])}`);
  return `Head ${nameOf(head)} looks at: ${said.join("; ")}.`;
}
