// The layers of two models, from the bottom: colour and width of a bar say its layer's kind.

import { set, svg } from "../../../course_utils/explorers/kit/svg.js";

const SIDES = ["left", "right"];
/** What a layer keeps, and how wide its bar is. */
const KINDS = {
  full: ["all tokens", 36], window: ["a window", 22], latent: ["a thin vector", 14], state: ["a state", 8],
};
const [HIGH, LOW] = [250, 96]; // pixels of the higher stack; on a phone
const TOP = 28;
const MOST = 6; // pixels of a layer
const LINE = 18;
const WORDS = 44; // pixels from a stack's left side to its words

/** Both stacks in a box; what is returned draws those of a state. */
export function makeStacks(box) {
  const drawing = svg("svg", { class: "models-stacks", role: "img" });
  box.append(drawing);
  let last = "";
  return ({ names, stacks }, width, isNarrow) => {
    const key = [...names, width].join();
    if (key === last) return;
    last = key;
    const room = isNarrow ? LOW : HIGH;
    const step = Math.min(room / Math.max(...stacks.map(each => each.length)), MOST);
    const height = room + TOP;
    set(drawing, { width, height, viewBox: `0 0 ${width} ${height}`, "aria-label": inWords(names, stacks) });
    drawing.replaceChildren(
      svg("text", { class: "ce-axis", x: 0, y: 12 }, "layers, and what each keeps"),
      ...SIDES.map((side, i) => {
        const place = { class: `models-stack-${side}`, transform: `translate(${(i * width) / 2} 0)` };
        return svg("g", place, ...stackOf(stacks[i], step, height), ...wordsOf(stacks[i], height));
      }),
    );
  };
}

const kindsOf = stack => Object.keys(KINDS)
  .map(kind => [kind, stack.filter(each => each === kind).length])
  .filter(([, count]) => count);

const inWords = (names, stacks) => stacks.map((stack, i) => {
  const words = kindsOf(stack).map(([kind, count]) => `${count} layers keep ${KINDS[kind][0]}`);
  return `${names[i]}: ${words.join(", ")}`;
}).join("; ");

const stackOf = (stack, step, height) => stack.map((kind, i) =>
  svg("rect", { class: `models-${kind}`, x: 0, y: height - (i + 1) * step, width: KINDS[kind][1],
    height: step - Math.min(1, step / 3) }));

/** How many layers it has, and how many of each kind, at the foot of the stack. */
function wordsOf(stack, height) {
  const rows = kindsOf(stack);
  const first = height - 4 - LINE * rows.length;
  return [
    svg("text", { class: "models-name", x: WORDS, y: first }, `${stack.length} layers`),
    ...rows.flatMap(([kind, count], i) => [
      svg("rect", { class: `models-${kind}`, x: WORDS, y: first + (i + 1) * LINE - 9, width: 9, height: 9 }),
      svg("text", { x: WORDS + 13, y: first + (i + 1) * LINE }, `${count}: ${KINDS[kind][0]}`),
    ]),
  ];
}
