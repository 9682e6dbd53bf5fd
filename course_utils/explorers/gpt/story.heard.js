// What those who listen get: the story to read, and what has just been written.

import { html, set } from "../kit/svg.js";
import { piecesOf } from "./story.text.js";

const SENTENCE = /[^.?]*[.?]?\s*$/; // the last one, as far as it goes

/** Two paragraphs that nobody sees: { story, news, draw }. */
export function makeHeard(pen) {
  const story = html("p", { class: "ce-heard" });
  const news = html("p", { class: "ce-heard", "aria-live": "polite" });
  let [told, wasPlaying] = [];
  return { story, news, draw({ text }) {
    set(story, { text: text ? `The story so far: ${text}` : "The story has no word yet." });
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
  return `${piecesOf(text).length ? `The story ends now: ${last}` : "The story is empty."}`;
}
