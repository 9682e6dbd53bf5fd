// Points coloured by the expert that takes them, and the training in which that changes.

import { control } from "../../../course_utils/explorers/kit/controls.js";
import { explorer } from "../../../course_utils/explorers/kit/explorer.js";
import { html } from "../../../course_utils/explorers/kit/svg.js";
import picks from "../../../course_utils/explorers/kit/radios.css";
import { radios } from "../../../course_utils/explorers/kit/radios.js";
import style from "./experts.css";
import { makeBars } from "./experts.bars.js";
import { makePlane } from "./experts.plane.js";
import { makeTraining } from "./experts.training.js";

const WIDE = 760; // pixels from which plane and training lie next to each other
const [MOST, LESS, GAP] = [368, 290, 34]; // pixels of the plane, where it is alone, and beside it

export default explorer({ mount, style: picks + style });

/** Build the picture; what is returned draws a state. */
function mount(stage, hand) {
  const { shared, balance, limited } = hand.inputs;
  const rows = {
    shared: radios(shared.label, shared.values, value => hand.change({ shared: value })),
    balance: radios(balance.label, balance.values, value => hand.change({ balance: value })),
    limited: control(limited, value => hand.change({ limited: value })),
  };
  const plane = makePlane(hand);
  const training = makeTraining(hand);
  const bars = makeBars(hand.given.room, expert => light(expert));
  const right = html("div", {}, training.element, bars.element);
  const body = html("div", { class: "moe-body" }, plane.element, right);
  const box = html("div", { class: "moe" },
    html("div", { class: "moe-picks" }, ...Object.values(rows).map(each => each.element)), body);
  stage.append(box);
  function light(expert) {
    box.classList.toggle("moe-lit", expert >= 0);
    box.dataset.expert = expert;
  }
  return (state, values) => {
    const isWide = hand.width >= WIDE;
    const side = isWide ? MOST : Math.min(LESS, hand.width);
    for (const [name, row] of Object.entries(rows)) row.show(values[name]);
    body.classList.toggle("moe-wide", isWide);
    plane.show(state, side);
    training.show(state, values, isWide ? hand.width - side - GAP : hand.width);
    bars.show(state);
  };
}
