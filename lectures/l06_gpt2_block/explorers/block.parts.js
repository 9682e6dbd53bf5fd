// The parts of a block in the order of the computation, and the wires between them.

// `kind` is the colour of a part, `learned` whether it has parameters; `takes` and `gives` are wires.
const part = (key, [base, index], kind, learned, takes, gives, said) =>
  ({ key, base, index, kind, learned, takes, gives, said });

export const PARTS = [
  part("LN₁", ["LN", "1"], "norm", true, ["x0", "in1"], ["a", "aq", "ak", "av"], "first norm"),
  part("W_Q", ["W", "Q"], "q", true, ["a", "aq"], ["q"], "query projection"),
  part("W_K", ["W", "K"], "k", true, ["a", "ak"], ["k"], "key projection"),
  part("W_V", ["W", "V"], "v", true, ["a", "av"], ["v"], "value projection"),
  part("scores", ["scores", ""], "pairs", false, ["q", "k"], ["s"], "query times key"),
  part("softmax", ["softmax", ""], "pairs", false, ["s"], ["w"], "scores to weights"),
  part("mix", ["mix", ""], "pairs", false, ["w", "v"], ["o"], "weights times values"),
  part("W_O", ["W", "O"], "out", true, ["o"], ["m"], "output projection"),
  part("⊕₁", ["+", ""], "sum", false, ["x0", "m"], ["x1"], "adds attention to the stream"),
  part("LN₂", ["LN", "2"], "norm", true, ["x1", "in2"], ["n"], "second norm"),
  part("W₁", ["W", "1"], "wide", true, ["n"], ["f"], "widens"),
  part("GELU", ["GELU", ""], "wide", false, ["f"], ["g"], "applied to each number"),
  part("W₂", ["W", "2"], "wide", true, ["g"], ["y"], "narrows"),
  part("⊕₂", ["+", ""], "sum", false, ["x1", "y"], ["x2"], "adds feed-forward to the stream"),
];

export const KEYS = PARTS.map(each => each.key);

// Which shape of the state a wire carries, and its colour.
export const WIRES = {
  x0: ["stream", "x"], x1: ["stream", "x"], x2: ["stream", "x"],
  in1: ["stream", "plain"], a: ["stream", "plain"],
  aq: ["stream", "plain"], ak: ["stream", "plain"], av: ["stream", "plain"],
  q: ["per_head", "q"], k: ["per_head", "k"], v: ["per_head", "v"],
  s: ["pairs", "pairs"], w: ["pairs", "pairs"],
  o: ["per_head", "plain"], m: ["stream", "plain"],
  in2: ["stream", "plain"], n: ["stream", "plain"],
  f: ["wide", "wide"], g: ["wide", "wide"], y: ["stream", "plain"],
};
