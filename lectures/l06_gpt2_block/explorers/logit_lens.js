// The logit lens: a sentence, and under it what each layer would say next, token by token.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { focusOn, pointing, slider } from "../../../course_utils/explorers/kit/hand.js";
import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { html, set } from "../../../course_utils/explorers/kit/svg.js";
import { readableOn } from "../../../course_utils/explorers/kit/theme.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import style from "./logit_lens.css";
import { makePanel } from "./logit_lens.panel.js";
import { write } from "./reading.js";

const LAYERS = ["embedding", "block 0", "block 1", "block 2"];
const LAST = LAYERS.length - 1;
const ALONG = {
  ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0],
};

export default explorer({ mount, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  stage.parentElement.classList.add("lens-body");
  const count = hand.inputs.position.max + 1;
  const parts = [makeSentence(count, hand), makeGrid(count, hand), makePanel(LAYERS, layer => hand.change({ layer }))];
  const [sentence, grid, panel] = parts.map(each => each.element);
  stage.append(html("div", { class: "lens" }, sentence, grid, panel));
  let { prompt } = hand.values;
  return (state, values, theme) => {
    // Choosing a prepared text lays one's own aside.
    if (values.prompt !== prompt && values.own_text) {
      queueMicrotask(() => hand.change({ own_text: "" }));
    }
    ({ prompt } = values);
    const text = state.text < 0 ? hand.given.own : hand.given.texts[state.text];
    if (text) parts.forEach(each => each.draw(state, text, theme));
  };
}

/** The sentence as far as it is read, and an open place for what comes next: dragged along. */
function makeSentence(count, hand) {
  const words = Array.from({ length: count }, () => html("span", { class: "lens-word" }));
  const end = html("span", { class: "lens-word lens-next" }, "?");
  const track = html("span", { class: "lens-track" }, ...words, end);
  const element = html("p", { class: "lens-sentence" }, track,
    html("span", { class: "lens-hint" }, "↔ drag: it reads what is underlined and predicts the framed token"));
  let last = 0;
  const from = ({ x, y }) => {
    const home = element.getBoundingClientRect();
    const boxes = words.slice(0, last + 1).map(each => each.getBoundingClientRect());
    const far = boxes.map(({ left, right, top, bottom }) => Math.hypot(
      Math.max(left - home.left - x, 0, x - right + home.left),
      4 * Math.max(top - home.top - y, 0, y - bottom + home.top)));
    return far.indexOf(Math.min(...far)) + 1;
  };
  const hear = slider(track, element, { // tokens are counted from 1
    label: hand.inputs.position.label, min: 1, get max() { return last + 1; }, jumps: true, from,
    at: () => Math.min(hand.values.position, last) + 1,
    go: token => hand.change({ position: token - 1 }),
  });
  return { element, draw(state, text) {
    last = text.tokens.length - 1;
    end.hidden = state.position < last;
    words.forEach((word, i) => {
      word.hidden = i > last;
      if (word.hidden) return;
      write(word, text.tokens[i]);
      word.className = `lens-word${i <= state.position ? " lens-read" : ""}` +
        `${i === state.position ? " lens-at" : ""}${i === state.position + 1 ? " lens-next" : ""}`;
    });
    hear(`token ${state.position + 1}, ${text.tokens[state.position]}`);
  } };
}

/** The grid: a row for each token, a column for each layer; at its end, what the text says. */
function makeGrid(count, hand) {
  // So many are there for every prepared text: what is below stays in its place.
  const least = Math.max(0, ...hand.given.texts.map(each => each.tokens.length));
  const rows = Array.from({ length: count }, (_, row) => makeRow(row, row < least));
  const cells = rows.map(each => each.cells);
  const cover = html("button", { type: "button", class: "lens-cover" },
    html("b", {}, "?"), html("span", {}, "Guess first. Then press to see what it would say after fewer blocks."));
  cover.addEventListener("click", () => hand.change({ inside: true, layer: 0 }));
  const head = ["it has read", ...LAYERS, "next in the text"].map((each, i) =>
    html("span", { class: `lens-head${i > LAST + 1 ? " lens-final" : ""}` }, each));
  const element = html("div", { class: "lens-grid", role: "radiogroup",
    "aria-label": "the most probable next token, by position and layer" },
  ...head, ...rows.flatMap(each => each.parts), cover);
  const at = event => {
    const cell = event.target.closest?.("[data-cell]")?.dataset.cell.split(" ").map(Number);
    return cell && { position: cell[0], ...(cell[1] <= LAST ? { layer: cell[1] } : {}) };
  };
  const take = event => {
    const found = at(event);
    if (found) hand.change(found);
  };
  pointing(element, take);
  element.addEventListener("keydown", event => {
    const by = ALONG[event.key];
    if (!by || event.target === cover) return;
    event.preventDefault();
    const last = rows.findLastIndex(each => !each.parts.at(-1).hidden);
    const position = clamp(Math.min(hand.values.position, last) + by[0], 0, last);
    const layer = hand.values.inside ? clamp(hand.values.layer + by[1], 0, LAST) : LAST;
    hand.change({ position, layer });
    focusOn(cells[position][layer]);
  });
  return { element, draw(state, text, theme) {
    if (!cover.hidden && state.inside && document.activeElement === cover) {
      focusOn(cells[state.position][state.layer]);
    }
    cover.hidden = state.inside;
    cover.style.gridRow = `2 / ${text.tokens.length + 2}`;
    rows.forEach(each => each.draw(state, text, theme));
  } };
}

/** A row: its token, a cell for each layer, and the token that comes next in the text. */
function makeRow(row, keepsRoom) {
  const token = html("span", { class: "lens-token", "data-cell": `${row} ${LAST + 1}` });
  const cells = LAYERS.map((_, layer) =>
    html("span", { class: "lens-cell", role: "radio", "data-cell": `${row} ${layer}` }));
  const next = html("span", { class: "lens-after", "data-cell": `${row} ${LAST + 1}` });
  let drawn = [];
  const draw = (state, text, theme) => {
    const isNew = [text, theme, state.inside].some((each, i) => each !== drawn[i]);
    drawn = [text, theme, state.inside];
    if (isNew) fill(state, text, theme);
    if (row < text.tokens.length) choose(state);
  };
  const fill = (state, text, theme) => {
    const isThere = row < text.tokens.length;
    token.style.visibility = isThere ? "" : "hidden";
    token.hidden = !isThere && !keepsRoom;
    [...cells, next].forEach(each => { each.hidden = !isThere; });
    if (!isThere) return;
    write(token, text.tokens[row]);
    write(next, text.tokens[row + 1] ?? "…");
    next.classList.toggle("lens-hit", text.tokens[row + 1] === text.final[row]);
    cells.forEach((cell, layer) => {
      cell.hidden = layer < LAST && !state.inside;
      if (cell.hidden) return;
      const place = row * LAYERS.length + layer;
      const name = text.best[place * text.shares.shape[2]];
      const share = text.shares[place * text.shares.shape[2]];
      const colour = theme.weight(share);
      write(cell, name);
      cell.style.backgroundColor = colour;
      cell.style.color = readableOn(colour);
      cell.classList.toggle("lens-agrees", name === text.final[row]);
      set(cell, { "aria-label": `${LAYERS[layer]} after ${text.tokens[row]}: ${name}, ${number(share, 2)}` });
    });
  };
  const choose = ({ position, layer: chosen }) => {
    const isAt = row === position;
    token.classList.toggle("lens-read", row <= position);
    token.classList.toggle("lens-at", isAt);
    cells.forEach((cell, layer) => {
      const checked = String(isAt && layer === chosen);
      if (cell.getAttribute("aria-checked") === checked) return;
      set(cell, { "aria-checked": checked, tabindex: checked === "true" ? 0 : -1 });
    });
  };
  return { parts: [token, ...cells, next], cells, draw };
}
