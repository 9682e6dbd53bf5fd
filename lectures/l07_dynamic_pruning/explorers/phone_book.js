// A square of names, coloured by the expert that keeps each; what the layer knows, and what it costs.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { placeIn, pointing } from "../../../course_utils/explorers/kit/hand.js";
import { heatMap } from "../../../course_utils/explorers/kit/heat.js";
import picks from "../../../course_utils/explorers/kit/radios.css";
import { radios } from "../../../course_utils/explorers/kit/radios.js";
import { html, set } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import style from "./phone_book.css";

const COLOURS = ["#5c6f96", "#c03a7c", "#d19a00", "#00857c", "#9b5a34", "#5b8f2d", "#c2473b", "#7d62a8"];
const NAMES = 64;
const [WIDE, SIDE, GAP] = [720, 384, 32]; // pixels: side by side from; of the square; between them
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

export default explorer({ mount, style: picks + style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const { units, experts, visits } = hand.inputs;
  const pick = (name, input, names) =>
    radios(input.label, input.values, value => hand.change({ [name]: value }), names);
  const rows = {
    units: pick("units", units),
    experts: pick("experts", experts, ["one network", "4 experts", "8 experts"]),
    visits: pick("visits", visits, ["1", "2"]),
  };
  const book = makeBook();
  const costs = makeCosts();
  const body = html("div", { class: "book-body" }, book.element,
    html("div", { class: "book-side" }, book.told, costs.element));
  stage.append(html("div", { class: "book" },
    html("div", { class: "book-picks" }, ...Object.values(rows).map(each => each.element)), body));
  return (state, values) => {
    for (const [name, row] of Object.entries(rows)) row.show(values[name]);
    rows.visits.element.classList.toggle("book-idle", state.experts === 1);
    body.classList.toggle("book-wide", hand.width >= WIDE);
    book.show(state, Math.min(SIDE, hand.width >= WIDE ? hand.width - 260 - GAP : hand.width));
    costs.show(state);
  };
}

const first = name => (name >> 1) & 7;
const second = name => (name >> 4) & 7;

/** The square of names. */
function makeBook() {
  const element = html("div", { class: "book-square", tabindex: 0, role: "group",
    "aria-label": "telephone book; the arrow keys move from name to name" });
  const map = heatMap(element, "names: full where the number is known");
  const ring = html("i", { class: "book-ring" });
  const told = html("p", { class: "book-told", "aria-live": "polite" });
  element.append(ring);
  let [state, side, at] = [undefined, 0, -1];
  const paint = () => {
    const mine = at < 0 ? -1 : first(state.names[at]);
    map.draw(state.names, NAMES, NAMES, side, side, name => {
      const own = at < 0 || state.experts === 1 || first(name) === mine;
      return COLOURS[first(name)] + (name & 1 ? (own ? "" : "55") : (own ? "30" : "12"));
    });
  };
  const tell = index => {
    at = index;
    ring.style.display = at < 0 ? "none" : "";
    if (at >= 0) {
      ring.style.left = `${((at % NAMES) * side) / NAMES}px`;
      ring.style.top = `${(Math.floor(at / NAMES) * side) / NAMES}px`;
      ring.style.width = ring.style.height = `${side / NAMES}px`;
    }
    set(told, { text: at < 0 ? "Point at a person." : inWords(state, at) });
    paint();
  };
  const under = event => {
    const { x, y } = placeIn(element, event);
    const cell = value => Math.min(Math.max(Math.floor((value / side) * NAMES), 0), NAMES - 1);
    return cell(y) * NAMES + cell(x);
  };
  pointing(element, event => under(event) === at || tell(under(event)), () => tell(-1));
  element.addEventListener("keydown", event => {
    const move = ARROWS[event.key];
    if (!move || event.altKey || event.metaKey) return;
    event.preventDefault();
    const [row, column] = at < 0 ? [0, 0] : [Math.floor(at / NAMES) + move[0], (at % NAMES) + move[1]];
    if (Math.min(row, column) >= 0 && Math.max(row, column) < NAMES) tell(row * NAMES + column);
  });
  const show = (now, pixels) => {
    [state, side] = [now, pixels];
    element.style.width = element.style.height = `${side}px`;
    tell(at);
  };
  return { element, told, show };
}

function inWords({ names, experts, visits, units }, at) {
  const [row, column, name] = [Math.floor(at / NAMES), at % NAMES, names[at]];
  const who = `First name ${row + 1}, last name ${column + 1}: number ${name & 1 ? "" : "not "}known.`;
  if (experts === 1) return `${who} All ${units} hidden units work for it.`;
  const both = visits === 2 ? `s ${first(name) + 1} and ${second(name) + 1} work` :
    ` ${first(name) + 1} works`;
  return `${who} Expert${both} for it, the others do nothing.`;
}

/** What the layer knows, and what that costs, as bars. */
function makeCosts() {
  const lines = [
    ["numbers known", state => state.known, state => `${number(100 * state.known)} %`],
    ["multiplications for a name", state => state.work / 16384, state => number(state.work)],
    ["read for one name", state => state.read / 71000, state => `${number(state.read / 1000)} kB`],
    ["stored", state => state.stored / 71000, state => `${number(state.stored / 1000)} kB`],
  ].map(([name, share, words]) => {
    const [bar, count] = [html("i"), html("b")];
    return { share, words, bar, count, row: html("div", { class: "book-bar" },
      html("span", {}, name), count, html("div", { class: "book-rail" }, bar)) };
  });
  const element = html("div", { class: "book-costs" }, ...lines.map(each => each.row));
  const show = state => lines.forEach(({ share, words, bar, count }) => {
    bar.style.width = `${Math.min(100 * share(state), 100)}%`;
    set(count, { text: words(state) });
  });
  return { element, show };
}
