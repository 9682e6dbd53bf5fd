// A small block, number by number: what each was made of.

import { number } from "../../../course_utils/explorers/kit/words.js";

const EPSILON = 1e-5;

/** The tensors in the order of the computation: name, heads, rows, columns, and how it is made. */
export const tensorsOf = ({ tokens: T, width: C, heads: H, hidden: F }) => [
  ["x", 1, T, C, "given"], ["LN₁", 1, T, C, "norm"],
  ["q", 1, T, C, "sum"], ["k", 1, T, C, "sum"], ["v", 1, T, C, "sum"],
  ["score", H, T, T, "sum"], ["weight", H, T, T, "softmax"], ["mix", 1, T, C, "sum"],
  ["attention", 1, T, C, "sum"], ["x + attention", 1, T, C, "sum"],
  ["LN₂", 1, T, C, "norm"], ["hidden", 1, T, F, "sum"], ["GELU", 1, T, F, "gelu"],
  ["feed-forward", 1, T, C, "sum"], ["output", 1, T, C, "sum"],
];

/**
 * `numbers` has every number of the block, one tensor after the other; those of the future, at which
 * a causal head does not look, are 0.
 *
 * `cell` is the chosen one. `terms` are what it was made of, each [source, second or -1, factor]: where
 * `kind` is "sum" the products add up to it, and else they are the numbers that its formula takes.
 */
export function compute({ cell }, { x, weights, ...sizes }) {
  const known = blockOf(x, weights, sizes);
  const name = known.nameOf(cell);
  return { cell, name, kind: known.kinds[name], numbers: known.numbers, result: known.numbers[cell],
    place: known.placeOf(cell), terms: known.terms(cell), root: sizes.width / sizes.heads };
}

/** All numbers of a block, and for each what it was made of. */
function blockOf(x, matrices, sizes) {
  const { tokens: T, width: C, heads: H, hidden: F } = sizes;
  const D = C / H;
  const first = {}, shape = {}, kinds = {};
  let count = 0;
  for (const [name, heads, rows, columns, kind] of tensorsOf(sizes)) {
    [first[name], shape[name], kinds[name]] = [count, [heads, rows, columns], kind];
    count += heads * rows * columns;
  }
  const numbers = new Float64Array(count);
  const at = (name, row, column, head = 0) =>
    first[name] + (head * shape[name][1] + row) * shape[name][2] + column;
  const names = Object.keys(first);
  const nameOf = cell => names.findLast(name => first[name] <= cell);
  const placeOf = cell => {
    const name = nameOf(cell);
    const [, rows, columns] = shape[name];
    const within = cell - first[name];
    return [Math.floor(within / (rows * columns)), Math.floor(within / columns) % rows, within % columns];
  };
  const range = n => Array.from({ length: n }, (_, i) => i);
  const row = (name, t) => range(shape[name][2]).map(c => [at(name, t, c), -1, 1]);
  const linear = (from, matrix) => ([, t, c]) =>
    range(shape[from][2]).map(i => [at(from, t, i), -1, matrices[matrix][c * shape[from][2] + i]]);
  const plus = (one, other) => ([, t, c]) => [[at(one, t, c), -1, 1], [at(other, t, c), -1, 1]];
  const made = {
    x: () => [],
    "LN₁": ([, t]) => row("x", t),
    q: linear("LN₁", "query"), k: linear("LN₁", "key"), v: linear("LN₁", "value"),
    score: ([h, t, s]) => (s > t ? [] : range(D).map(d =>
      [at("q", t, h * D + d), at("k", s, h * D + d), 1 / Math.sqrt(D)])),
    weight: ([h, t, s]) => (s > t ? [] : range(t + 1).map(other => [at("score", t, other, h), -1, 1])),
    mix: ([, t, c]) => range(t + 1).map(s => [at("weight", t, s, Math.floor(c / D)), at("v", s, c), 1]),
    attention: linear("mix", "output"),
    "x + attention": plus("x", "attention"),
    "LN₂": ([, t]) => row("x + attention", t),
    hidden: linear("LN₂", "expand"),
    GELU: ([, t, c]) => [[at("hidden", t, c), -1, 1]],
    "feed-forward": linear("GELU", "contract"),
    output: plus("x + attention", "feed-forward"),
  };
  const terms = cell => made[nameOf(cell)](placeOf(cell));
  for (let cell = 0; cell < count; cell += 1) {
    numbers[cell] = cell < T * C ? x[cell] : valueOf(cell, nameOf(cell), terms(cell));
  }
  function valueOf(cell, name, parts) {
    const given = parts.map(([one]) => numbers[one]);
    const [, t, c] = placeOf(cell);
    switch (kinds[name]) {
      case "norm": return normed(given, c);
      case "softmax": return c > t ? 0 : Math.exp(given[c]) / sum(given.map(Math.exp));
      case "gelu": return gelu(given[0]);
      default: return sum(parts.map(part => product(part, numbers)));
    }
  }
  return { numbers, kinds, nameOf, placeOf, terms };
}

const sum = all => all.reduce((one, other) => one + other, 0);
const mean = all => sum(all) / all.length;

/** The mean of a token's numbers and their spread, as LayerNorm takes them. */
export function spreadOf(all) {
  const middle = mean(all);
  return [middle, Math.sqrt(mean(all.map(each => (each - middle) ** 2)) + EPSILON)];
}

function normed(all, which) {
  const [middle, spread] = spreadOf(all);
  return (all[which] - middle) / spread;
}

/** GPT-2's GELU, by tanh. */
const gelu = z => 0.5 * z * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (z + 0.044715 * z ** 3)));

/** One term of a sum. */
const product = ([one, other, factor], numbers) =>
  numbers[one] * (other < 0 ? 1 : numbers[other]) * factor;

const MATRICES = {
  q: ["LN₁", "W_Q"], k: ["LN₁", "W_K"], v: ["LN₁", "W_V"], attention: ["the mix", "W_O"],
  hidden: ["LN₂", "W₁"], "feed-forward": ["GELU", "W₂"],
};
const OWN = {
  x: "It comes from the block before.",
  weight: "exp of its score, divided by the sum of all such in its row.",
  GELU: "GELU of one number, and of no other.",
  mix: "Values of this token and earlier ones, each times its weight.",
  "x + attention": "The stream plus what attention adds.",
  output: "The stream plus what the feed-forward part adds.",
};

/** The state in words. */
export function caption({ name, place: [head, row, column], kind, terms, result, root }) {
  const isPair = name === "score" || name === "weight";
  const where = isPair ? `query ${row}, key ${column}, head ${head}` : `token ${row}, number ${column}`;
  const what = `${name[0].toUpperCase()}${name.slice(1)}, ${where}`;
  if (!terms.length && name !== "x") return `${what}: the key comes later, and a causal head does not look there.`;
  return `${what}: [b:${number(result, 2)}]. ${wayOf(name, kind, terms.length, root)}`;
}

/** How it was made, in words. */
function wayOf(name, kind, count, root) {
  if (kind === "norm") return "Its number less the mean of its row, divided by the row's spread.";
  if (name === "score") return `${count} products of query and key, added, over √${root}.`;
  const [from, matrix] = MATRICES[name] ?? [];
  return matrix ? `${count} products, added: ${from}'s row times a column of ${matrix}.` : OWN[name];
}
