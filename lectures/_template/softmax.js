// Bars for the weights.

import { chart } from "../../course_utils/explorers/kit/chart.js";
import { explorer } from "../../course_utils/explorers/kit/explorer.js";

export default explorer({ mount });

/** Build the chart; what is returned draws a state. */
function mount(stage, hand) {
  const drawn = chart(stage, {
    label: "weight of each score",
    x: { label: "score, from low to high", domain: [-0.5, 4.5], ticks: [] },
    y: { label: "weight", domain: [0, 1], ticks: [0, 0.5, 1] },
  });
  return ({ weights }) => {
    const places = [...weights.keys()];
    drawn.fit(hand.width, {
      x: { ...drawn.x, domain: [-0.5, weights.length - 0.5], ticks: places },
    });
    drawn.bars("weights", weights);
  };
}
