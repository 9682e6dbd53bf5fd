// The story as words: how much the chosen head looks at each, the next word, a place to type.

import { placeIn, pointing, slider } from "../kit/hand.js";
import { html, set, svg } from "../kit/svg.js";
import { readableOn } from "../kit/theme.js";
import { isOff, shown } from "./story.compute.js";
import { END, nearest, spelled } from "./story.text.js";

const STRONG = 0.05; // weights from here on have an arc
const HUMP = 15; // pixels of an arc above its line, at most
const LINE = 37; // pixels from line to line
const SIGN = /^[.,?]$/;
const LETTER = /\p{L}/u;

/** The words: { element, draw, light }. */
export function makeWords(hand, pen, light, relight) {
  const arcs = svg("svg", { class: "story-arcs", "aria-hidden": "true" });
  const lines = [];
  const start = makeWord();
  const track = html("span", { class: "story-track" }, start.element);
  const next = html("button", { type: "button", class: "story-next" });
  next.addEventListener("click", () => next.getAttribute("aria-disabled") || pen.word());
  const typed = makeTyped(hand, pen);
  const pane = html("div", { class: "story-pane" }, html("div", { class: "story-text" }, arcs, track, next, typed));
  const text = pane.firstChild;
  const unknown = makeUnknown(hand, pen, () => typed.focus());
  const element = html("div", { class: "story-words" }, pane, unknown.element);
  const words = [start]; // as they are shown, from the end of the line before
  let read = []; // those that the model reads
  let places = [];
  const from = place => closest(places, place);
  const hear = slider(track, text, {
    label: hand.inputs.at.label, min: 0, get max() { return read.length - 1; }, jumps: true, from,
    at: () => Math.min(hand.values.at, read.length - 1),
    go: at => hand.change({ at: at >= read.length - 1 ? hand.inputs.at.max : at }),
  });
  const over = word => {
    if (word === light.word) return;
    light.word = word;
    relight();
  };
  pointing(track, event => over(event.type === "click" ? -1 : from(placeIn(text, event))), () => over(-1));

  /** Write the words; what is returned is how many of those that are read are where they were. */
  const write = state => {
    const isShorter = words.length > state.pieces.length + 1;
    while (words.length > state.pieces.length + 1) words.pop().element.remove();
    while (words.length < state.pieces.length + 1) {
      words.push(makeWord());
      track.append(words.at(-1).element);
    }
    let isSame = !start.write(END, true, true);
    let same = Number(isSame);
    read = [start];
    state.pieces.forEach(({ word, id, isKnown }, i) => {
      isSame = !words[i + 1].write(word, id !== null, isKnown) && isSame;
      if (id !== null) read.push(words[i + 1]);
      if (isSame) same = read.length;
    });
    if (isSame && !isShorter) return same;
    while (same > 0 && read[same - 1].isSign()) same -= 1;
    return Math.max(same - 1, 0); // a word goes to the next line with the sign after it
  };
  let [laidOut, same] = [{}, 0];
  /** Where the words stand. Asked last: a page is laid out for it. */
  const place = state => {
    const layout = { width: hand.width, isLens: state.lens !== null };
    if (Object.keys(layout).some(name => layout[name] !== laidOut[name])) same = 0;
    if (state.at === laidOut.at && same === read.length && places.length === read.length) return;
    laidOut = { ...layout, at: state.at };
    places = [...places.slice(0, same), ...read.slice(same).map(each => each.place())];
    same = read.length;
    reveal(state);
  };
  /** The word that is asked stays in sight, and what follows the last one if there is room. */
  const reveal = state => {
    const { top, bottom } = read[state.at].box();
    if (state.at === state.ids.length - 1) {
      pane.scrollTop = Math.min(top, pane.scrollHeight);
      return;
    }
    const inside = top >= pane.scrollTop && bottom <= pane.scrollTop + pane.clientHeight;
    if (!inside) pane.scrollTop = top; // no line is cut in two
  };
  return {
    element,
    draw(state, theme) {
      same = write(state);
      const isLens = state.lens !== null;
      text.classList.toggle("story-with-lens", isLens);
      read.forEach((each, i) =>
        each.lens(isLens ? state.lens[i] : null, state, theme, isLens && i <= state.at));
      const word = state.words[state.drawn];
      next.hidden = state.at < state.ids.length - 1 || pen.isFull;
      set(next, { "aria-disabled": word === END && "true", text: word === END ? "↵ the end" : word,
        "aria-label": word === END ? "the story ends here" : `write the next word, ${word}` });
      unknown.draw(state);
      hear(`word ${state.at}, ${shown(state.words[state.ids[state.at]])}`);
    },
    light(state, theme) {
      place(state);
      const head = headNow(state, light);
      const isShown = state.weights !== null && state.lens === null && !isOff(state.off, head);
      const weights = isShown ? state.weights[head[0]][head[1]] : [];
      const many = isShown ? arcsOf(weights, state.at, places, light.word) : [];
      while (lines.length < many.length) arcs.append(lines[lines.push(svg("path")) - 1]);
      lines.forEach((line, i) => set(line, many[i] ?? { d: "" }));
      read.forEach((each, i) => each.light(weights[i], state, i, i === light.word, theme));
    },
  };
}

/** The head that the pointer is over, or the chosen one. */
const headNow = ({ head, weights }, light) => (!weights ? [] : light.head < 0 ? head
  : [Math.floor(light.head / weights[0].length), light.head % weights[0].length]);

/** Attributes of the arcs from the word that asks to those that get much of a head's weight. */
const arcsOf = (weights, at, places, pointed) => [...weights.keys()]
  .filter(i => i !== at && places[i] && places[at] && (weights[i] >= STRONG || i === pointed))
  .map(i => ({ ...arc(places[at], places[i]), "stroke-width": (0.6 + 5 * weights[i]).toFixed(1) }));

/** From the top of one word over its line, or to the foot of a word on a line above. */
function arc(from, to) {
  const [x, y] = [from.middle, from.top];
  if (Math.abs(y - to.top) < 4) {
    const high = y - Math.min(HUMP, 5 + Math.abs(to.middle - x) / 12);
    return { d: `M${x} ${y}C${x} ${high} ${to.middle} ${high} ${to.middle} ${y}`, class: "" };
  }
  const half = (y + to.bottom) / 2;
  const isFar = y - to.bottom > LINE; // it crosses the words of lines between
  return isFar ? { d: `M${x} ${y}L${to.middle} ${to.bottom}`, class: "story-far" }
    : { d: `M${x} ${y}C${x} ${half} ${to.middle} ${half} ${to.middle} ${to.bottom}`, class: "" };
}

/** Which of several boxes is nearest to a place; another line counts four times. */
function closest(boxes, { x, y }) {
  const far = boxes.map(({ left, right, top, bottom }) =>
    Math.hypot(Math.max(left - x, 0, x - right), 4 * Math.max(top - y, 0, y - bottom)));
  return far.indexOf(Math.min(...far));
}

/** A word: what it says, how much it is looked at, and under it what each block would say next. */
function makeWord() {
  const name = html("span", { class: "story-said", dir: "auto" });
  const rows = html("span", { class: "story-lens", "aria-hidden": "true" });
  const space = document.createTextNode("");
  const element = html("span", { class: "story-word" }, space, name);
  let [said, kind, lit] = [];
  return {
    element,
    isSign: () => SIGN.test(said),
    write(word, isRead, isKnown) {
      if (word === said && isRead === kind) return false;
      [said, kind] = [word, isRead];
      set(name, { text: shown(word) });
      space.data = SIGN.test(word) || word === END ? "" : " ";
      element.classList.toggle("story-sign", SIGN.test(word));
      element.classList.toggle("story-unknown", !isKnown);
      element.classList.toggle("story-unread", !isRead);
      return true;
    },
    lens(guesses, state, theme, isSeen) {
      if (!guesses) return rows.isConnected && rows.remove();
      if (!rows.isConnected) element.append(rows);
      while (rows.children.length < guesses.length) rows.append(html("span"));
      const final = guesses.at(-1).id;
      guesses.forEach(({ id, share }, i) => {
        const cell = rows.children[i];
        const back = theme.weight(share);
        set(cell, { text: shown(state.words[id]), class: id === final ? "story-final" : "" });
        cell.style.backgroundColor = back;
        cell.style.color = share < 0.12 ? "" : readableOn(back);
      });
      return element.classList.toggle("story-later", !isSeen);
    },
    box: () => ({ top: element.offsetTop, bottom: element.offsetTop + element.offsetHeight }),
    place() {
      const { offsetLeft: left, offsetTop: top, offsetWidth: width } = name;
      return { left, right: left + width, top, bottom: top + name.offsetHeight, middle: left + width / 2 };
    },
    light(weight, state, i, isPointed, theme) {
      const back = weight === undefined || i === state.at ? "" : theme.weight(weight);
      const kinds = `${i === state.at ? " story-asks" : ""}${isPointed ? " story-pointed" : ""}` +
        `${i > state.at ? " story-later" : ""}`;
      if (lit === back + kinds) return;
      lit = back + kinds;
      name.style.backgroundColor = back;
      name.style.color = back && weight >= 0.12 ? readableOn(back) : "";
      set(name, { class: `story-said${kinds}` });
    },
  };
}

/** Words that a reader types; a space or a sign ends one, Enter writes one. */
function makeTyped(hand, pen) {
  const input = html("input", { type: "text", class: "story-typed", placeholder: "type on …",
    "aria-label": "type the next words of the story", autocomplete: "off", autocapitalize: "off",
    spellcheck: "false" });
  let isTaken = false; // then Enter means that this was all, and asks for no word more
  const take = text => {
    const words = spelled(text, hand.given.words);
    if (words.length) pen.type(words);
    isTaken ||= words.length > 0;
  };
  input.addEventListener("blur", () => {
    take(input.value);
    isTaken = false;
    input.value = "";
  });
  input.addEventListener("input", event => {
    pen.stop();
    const ended = /^(.*[\s.,?])(\S*)$/s.exec(input.value);
    if (!ended || event.isComposing) return;
    input.value = ended[2];
    take(ended[1]);
  });
  input.addEventListener("keydown", event => {
    if (event.key === "Enter" && !event.shiftKey && !event.ctrlKey) {
      event.preventDefault();
      if (input.value.trim()) take(input.value);
      else if (!isTaken && !pen.isOver) pen.word();
      isTaken = false;
      input.value = "";
    } else if (!input.value && event.key === "Backspace") {
      pen.back();
    } else if (!input.value && event.key === "z" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      pen.undo();
    }
  });
  return input;
}

/** The first word that the model does not know, and the nearest that it knows. */
function makeUnknown(hand, pen, after) {
  const says = html("span");
  let [word, at] = [];
  const offers = Array.from({ length: 3 }, () => html("button", { type: "button" }));
  const leave = html("button", { type: "button" }, "leave it out");
  const put = words => {
    pen.replace(at, words);
    after();
  };
  offers.forEach(each => each.addEventListener("click", () => put([each.textContent])));
  leave.addEventListener("click", () => put([]));
  const element = html("p", { class: "story-offer", role: "status", hidden: true }, says, ...offers, leave);
  return { element, draw(state) {
    at = state.pieces.findIndex(each => !each.isKnown);
    element.hidden = at < 0 && !pen.isFull;
    leave.hidden = at < 0;
    const isWord = at >= 0 && LETTER.test(state.pieces[at].word);
    offers.forEach(each => { each.hidden = !isWord; });
    if (at < 0) {
      word = undefined;
      set(says, { text: `It reads ${hand.given.longest - 1} words at most: there is no room for another.` });
      return;
    }
    if (word === state.pieces[at].word) return;
    ({ word } = state.pieces[at]);
    set(says, { text: `“${word}” is not one of its ${state.words.length} words, and is not read.` +
      `${isWord ? " Near to it:" : ""}` });
    nearest(word, state.words).forEach((each, i) => set(offers[i], { text: each }));
  } };
}
