// Where the parts and wires of a block are, in pixels: across a wide page, down a narrow one.
//
// A layout has `height`; `boxes`: part → its centre, width and height; `wires`: name → path, the
// place of its tensor's card, the place of its shape and how that is anchored; `stream`: its path.

const ROUND = 9; // radius of a bend
export const SUM = 11; // radius of a ⊕

/** The point of an arrow: right, down or left. */
const tips = {
  right: (x, y) => `M${x - 5} ${y - 4}L${x} ${y}L${x - 5} ${y + 4}`,
  down: (x, y) => `M${x - 4} ${y - 5}L${x} ${y}L${x + 4} ${y - 5}`,
  left: (x, y) => `M${x + 5} ${y - 4}L${x} ${y}L${x + 5} ${y + 4}`,
};

const right = (x, y, to) => `M${x} ${y}H${to}${tips.right(to, y)}`;
const left = (x, y, to) => `M${x} ${y}H${to}${tips.left(to, y)}`;
const down = (x, y, to) => `M${x} ${y}V${to}${tips.down(x, to)}`;

/** From one height to another, by an S that begins and ends level. */
const swing = (x, y, toX, toY) => {
  const middle = (x + toX) / 2;
  return `M${x} ${y}C${middle} ${y} ${middle} ${toY} ${toX} ${toY}${tips.right(toX, toY)}`;
};

/** From one place across to another, by an S that begins and ends upright. */
const drop = (x, y, toX, toY) => {
  const middle = (y + toY) / 2;
  return `M${x} ${y}C${x} ${middle} ${toX} ${middle} ${toX} ${toY}${tips.down(toX, toY)}`;
};

/** Out to the right, down, and back to the left as far as `to`. */
const back = (x, y, out, under, to) =>
  `M${x} ${y}H${out - ROUND}Q${out} ${y} ${out} ${y + ROUND}V${under - ROUND}` +
  `Q${out} ${under} ${out - ROUND} ${under}H${to}${tips.left(to, under)}`;

/** The stream runs down at the left; each branch is a row to the right of it, and comes back. */
export function across(width) {
  const [S, q, k, v] = [22, 29, 78, 127];
  const [ret, low, ret2, height] = [164, 208, 240, 261];
  const end = width - 26; // where a branch turns back
  const widths = [58, 58, 84, 76, 84, 58];
  const gap = (end - 14 - S - widths.reduce((sum, each) => sum + each)) / widths.length;
  const middles = [];
  widths.reduce((from, each) => {
    middles.push(from + gap + each / 2);
    return from + gap + each;
  }, S);
  const [norm, heads, scores, softmax, mix, out] = middles;
  const high = (q + k) / 2;
  const low2 = [0, 1, 2, 3].map(i => norm + (i * (out - norm)) / 3);
  const boxes = {
    "LN₁": [norm, k, 58, 32],
    W_Q: [heads, q, 58, 32], W_K: [heads, k, 58, 32], W_V: [heads, v, 58, 32],
    scores: [scores, high, 84, 88], softmax: [softmax, high, 76, 32],
    mix: [mix, (high + v) / 2, 84, v - high + 36], W_O: [out, (high + v) / 2, 58, 32],
    "⊕₁": [S, ret, 2 * SUM, 2 * SUM],
    "LN₂": [low2[0], low, 58, 32], "W₁": [low2[1], low, 66, 32],
    GELU: [low2[2], low, 66, 32], "W₂": [low2[3], low, 58, 32],
    "⊕₂": [S, ret2, 2 * SUM, 2 * SUM],
  };
  const edge = (key, side) => boxes[key][0] + (side * boxes[key][2]) / 2;
  const mixed = (high + v) / 2;
  const fan = edge("LN₁", 1) + gap * 0.56;
  const between = (one, other) => (edge(one, 1) + edge(other, -1)) / 2;
  const straight = (one, other, y, label) => {
    const x = between(one, other);
    return [right(edge(one, 1), y, edge(other, -1) - 1), [x, y], label ?? [x, y - 24, "middle"]];
  };
  // A shape ends, or begins, at a tall box, and has room over the low one on its other side.
  const before = (key, y) => [edge(key, -1) - 5, y, "end"];
  const after = (key, y) => [edge(key, 1) + 5, y, "start"];
  const fanned = key => [swing(fan, k, edge(key, -1) - 1, boxes[key][1])];
  const tap = (key, y) => [right(S, y, edge(key, -1) - 1), [(S + edge(key, -1)) / 2, y]];
  const home = (key, y, under, x) =>
    [back(edge(key, 1), y, end, under, S + SUM + 2), [x, under], [x + 19, under - 6, "start"]];
  return {
    height, boxes,
    stream: { x0: [S, 0, ret - SUM], x1: [S, ret + SUM, ret2 - SUM], x2: [S, ret2 + SUM, height] },
    name: [S + 14, 13],
    note: [width, 13],
    wires: {
      in1: tap("LN₁", k),
      a: [`M${edge("LN₁", 1)} ${k}H${fan}`,
        [edge("LN₁", 1) + gap * 0.28, k], [fan, k - 24, "end"]],
      aq: fanned("W_Q"), ak: fanned("W_K"), av: fanned("W_V"),
      q: straight("W_Q", "scores", q, before("scores", q - 21)),
      k: straight("W_K", "scores", k, before("scores", k - 21)),
      v: [right(edge("W_V", 1), v, edge("mix", -1) - 1), [between("W_V", "scores"), v],
        before("scores", v - 21)],
      s: straight("scores", "softmax", high, after("scores", high - 24)),
      w: straight("softmax", "mix", high, before("mix", high + 33)),
      o: straight("mix", "W_O", mixed, after("mix", mixed - 24)),
      m: home("W_O", mixed, ret, boxes.GELU[0]), // where no shape is below it
      in2: tap("LN₂", low),
      n: straight("LN₂", "W₁", low),
      f: straight("W₁", "GELU", low),
      g: straight("GELU", "W₂", low),
      y: home("W₂", low, ret2, (edge("GELU", 1) + between("GELU", "W₂")) / 2 - 8),
    },
  };
}

/** The same down a narrow page: parts below each other, the second branch out and back. */
export function downwards(width) {
  const S = 18;
  const spread = Math.min(150, (width - S - 26 - 68) / 2);
  const K = Math.max((width + S + 12) / 2, S + 26 + 34 + spread);
  const [Q, V] = [K - spread, K + spread];
  const middle = (Q + K) / 2;
  const mixes = (middle + V) / 2;
  const [a, b, c, d, e, f] = [44, 132, 240, 314, 392, 466]; // heights of the rows
  const [g, h] = [524, 600]; // of the second branch
  const far = Math.min(width - 48, K + 150);
  const near = Math.max(S + 92, K - 150);
  const boxes = {
    "LN₁": [K, a, 66, 30],
    W_Q: [Q, b, 66, 30], W_K: [K, b, 66, 30], W_V: [V, b, 66, 30],
    scores: [middle, c, K - Q + 66, 34], softmax: [middle, d, 92, 30],
    mix: [mixes, e, V - middle + 66, 34], W_O: [mixes, f, 66, 30],
    "⊕₁": [S, f, 2 * SUM, 2 * SUM],
    "LN₂": [near, g, 66, 30], "W₁": [far, g, 66, 30],
    GELU: [far, h, 66, 30], "W₂": [near, h, 66, 30],
    "⊕₂": [S, h, 2 * SUM, 2 * SUM],
  };
  const top = key => boxes[key][1] - boxes[key][3] / 2 - 1;
  const base = key => boxes[key][1] + boxes[key][3] / 2;
  const side = (key, way) => boxes[key][0] + (way * boxes[key][2]) / 2;
  const beside = (x, y) => [x + 26, y + 4, "start"];
  const straight = (one, other, x, label = beside) => {
    const y = (base(one) + top(other)) / 2;
    return [down(x, base(one), top(other)), [x, y], label(x, y)];
  };
  const fan = base("LN₁") + 34;
  const headed = base("W_Q") + 22;
  const leg = (key, x, to, label) => [down(x, base(key), to), [x, headed], label];
  const fanned = x => [drop(K, fan, x, top("W_Q"))];
  const tap = (key, y) => [right(S, y, side(key, -1) - 1)];
  const home = (key, y) => {
    const x = side(key, -1) - 30;
    return [left(side(key, -1), y, S + SUM + 2), [x, y]];
  };
  const wide = (side("LN₂", 1) + side("W₁", -1)) / 2;
  return {
    height: h + 44, boxes,
    stream: { x0: [S, 0, f - SUM], x1: [S, f + SUM, h - SUM], x2: [S, h + SUM, h + 44] },
    name: [S + 14, 31], // below the note
    note: [width, 13],
    wires: {
      in1: tap("LN₁", a),
      a: [`M${K} ${base("LN₁")}V${fan}`, [K, base("LN₁") + 20],
        beside(K, base("LN₁") + 18)],
      aq: fanned(Q), ak: fanned(K), av: fanned(V),
      q: leg("W_Q", Q, top("scores"), [side("W_Q", -1), headed + 32, "start"]),
      k: leg("W_K", K, top("scores"), [K, headed + 45, "middle"]),
      v: leg("W_V", V, top("mix"), [side("W_V", 1), headed + 32, "end"]),
      s: straight("scores", "softmax", middle),
      w: straight("softmax", "mix", middle),
      o: straight("mix", "W_O", mixes, (x, y) => [x - 22, y + 4, "end"]),
      m: [...home("W_O", f), [side("W_O", -1) - 52, f - 8, "end"]],
      in2: tap("LN₂", g),
      n: [right(side("LN₂", 1), g, side("W₁", -1) - 1), [wide, g], [wide, g - 22, "middle"]],
      f: [down(far, base("W₁"), top("GELU")), [far, (g + h) / 2],
        [far - 26, (g + h) / 2 + 4, "end"]],
      g: [left(side("GELU", -1), h, side("W₂", 1) + 1), [wide, h], [wide, h + 30, "middle"]],
      y: [...home("W₂", h), [S + 22, h + 30, "start"]],
    },
  };
}
