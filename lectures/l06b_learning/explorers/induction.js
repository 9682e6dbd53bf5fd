// A row of tokens and its copy: what each head attends to, what the model expects, what that costs.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { placeIn, pointing } from "../../../course_utils/explorers/kit/hand.js";
import { html, set, svg } from "../../../course_utils/explorers/kit/svg.js";
import style from "./induction.css";
import { caption, compute, weightsOf } from "./induction.compute.js";
import { layoutOf } from "./induction.layout.js";
import { makeSide } from "./induction.side.js";
import { makeStrips } from "./induction.strips.js";
import { makeTokens } from "./induction.tokens.js";

export default explorer({ mount, compute, caption, style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  stage.parentElement.classList.add("induct-body");
  const table = svg("svg", { role: "group", "aria-label": "the row, its copy, and the heads" });
  const band = svg("rect", { class: "induct-band", rx: 6, visibility: "hidden" });
  table.append(band);
  const tokens = makeTokens(table, hand);
  const strips = makeStrips(table, hand);
  const side = svg("svg", { role: "img" });
  const panel = makeSide(side);
  stage.append(html("div", { class: "induct" }, table, side));
  let now;
  let pointed = {};
  const light = () => {
    const { layout, state, theme } = now;
    const column = Math.max(pointed.column ?? 0, 0);
    set(band, { visibility: pointed.column >= 0 ? "visible" : "hidden", x: layout.x(column) - 1,
      y: layout.chips - 4, width: layout.cell + 2, height: layout.ends - layout.chips + 4 });
    strips.light(pointed);
    const isHead = pointed.strip >= 0 && pointed.strip < state.heads.length;
    tokens.light(isHead ? weightsOf(state, pointed.strip) : undefined, theme);
  };
  const point = found => {
    if (!now || (found.column === pointed.column && found.strip === pointed.strip)) return;
    pointed = found;
    light();
  };
  pointing(table, event => {
    const { x, y } = placeIn(table, event);
    point(now?.layout.at(x, y) ?? {});
  }, () => point({}));
  table.addEventListener("keydown", () => point({})); // who walks by key has left the pointer
  return [(state, values, theme) => {
    const layout = layoutOf(hand.width);
    now = { layout, state, theme };
    set(table, { width: layout.width, height: layout.bottom });
    tokens.draw(state, layout, theme);
    strips.draw(state, layout, theme);
    light();
  }, state => panel.draw(state, layoutOf(hand.width))];
}
