// Two models: what they keep of long texts, their layers, and the work for a token.

import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import picks from "../../../course_utils/explorers/kit/radios.css";
import { radios } from "../../../course_utils/explorers/kit/radios.js";
import { html } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import { caption, compute } from "./two_models.compute.js";
import { makeCurves } from "./two_models.curves.js";
import { makeStacks } from "./two_models.stacks.js";
import { makeWork } from "./two_models.work.js";
import own from "./two_models.css";

const NARROW = 700;
const GAP = 18; // pixels between the curves and the stacks
const STACKS = 332; // pixels that these take

export default explorer({ mount, compute, caption, style: picks + own });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const choices = makeChoices(stage, hand);
  const row = html("div", { class: "models-row" });
  stage.append(row);
  const curves = makeCurves(row, hand);
  const stacks = makeStacks(row);
  const work = makeWork(stage);
  return (state, values) => {
    const isNarrow = hand.width < NARROW;
    choices(values);
    curves(state, isNarrow ? hand.width : hand.width - STACKS - GAP);
    stacks(state, isNarrow ? hand.width : STACKS, isNarrow);
    work(state, hand.width, isNarrow);
  };
}

/** The two models as lists, and the number of texts; what is returned shows their values. */
function makeChoices(stage, hand) {
  const [left, right] = [makeModel(hand, "left"), makeModel(hand, "right")];
  const { label, values } = hand.inputs.texts;
  const texts = radios(label, values, each => hand.change({ texts: each }), values.map(each => number(each)));
  stage.append(html("div", { class: "models-choices" },
    html("div", { class: "models-pair" }, left.list, html("span", {}, "and"), right.list), texts.element));
  return shown => {
    left.show(shown.left);
    right.show(shown.right);
    texts.show(shown.texts);
  };
}

function makeModel(hand, control) {
  const { label, values } = hand.inputs[control];
  const list = html("select", { class: `models-list models-${control}`, "aria-label": label },
    ...values.map((each, i) => html("option", { value: i }, each)));
  list.addEventListener("change", () => hand.change({ [control]: values[list.value] }));
  return { list, show(model) {
    list.selectedIndex = values.indexOf(model);
  } };
}
