// The forward pass of a small GPT, with some of its heads off.

const WIDTH = 32;
const HEAD_WIDTH = 16;
const EPS = 1e-5;

/** Whether a model has a layer. */
export const hasLayer = (weights, layer) => `blocks.${layer}.attention.query.weight` in weights;

/** The forward pass: each head's map of weights, and the probabilities at each position. */
export function run(weights, tokens, off) {
  const of = name => weights[name];
  const [embedding, places] = [of("tokens.weight"), of("positions.weight")];
  const { length } = tokens;
  const x = new Float64Array(length * WIDTH);
  tokens.forEach((token, t) => {
    for (let c = 0; c < WIDTH; c += 1) {
      x[t * WIDTH + c] = embedding[token * WIDTH + c] + places[t * WIDTH + c];
    }
  });
  const maps = [];
  for (let layer = 0; hasLayer(weights, layer); layer += 1) {
    const within = name => of(`blocks.${layer}.${name}`);
    const isOff = head => off.some(each => each[0] === layer && each[1] === head);
    add(x, attend(normed(x, within, "attention_norm"), within, isOff, maps));
    const wide = linear(normed(x, within, "feedforward_norm"), within, "feedforward.expand");
    add(x, linear(wide.map(gelu), within, "feedforward.contract"));
  }
  const last = normed(x, of, "norm");
  const logits = product(last, embedding);
  const count = logits.length / length;
  const shares = tokens.map((_, t) => softmax(logits.subarray(t * count, (t + 1) * count)));
  return { maps, shares };
}

/** Causal attention; what a head that is off has mixed is not written. */
function attend(x, within, isOff, maps) {
  const [q, k, v] = ["query", "key", "value"].map(each => linear(x, within, `attention.${each}`));
  const length = x.length / WIDTH;
  const mixed = new Float64Array(x.length);
  for (let from = 0; from < WIDTH; from += HEAD_WIDTH) {
    const map = new Float64Array(length * length);
    maps.push(map);
    for (let t = 0; t < length; t += 1) {
      const scores = new Float64Array(t + 1);
      for (let s = 0; s <= t; s += 1) {
        for (let d = from; d < from + HEAD_WIDTH; d += 1) {
          scores[s] += q[t * WIDTH + d] * k[s * WIDTH + d];
        }
        scores[s] /= Math.sqrt(HEAD_WIDTH);
      }
      map.set(softmax(scores), t * length);
      if (isOff(from / HEAD_WIDTH)) continue;
      for (let s = 0; s <= t; s += 1) {
        const weight = map[t * length + s];
        for (let d = from; d < from + HEAD_WIDTH; d += 1) {
          mixed[t * WIDTH + d] += weight * v[s * WIDTH + d];
        }
      }
    }
  }
  return linear(mixed, within, "attention.output");
}

/** Each vector at mean 0 and variance 1, then scaled and shifted. */
function normed(x, within, name) {
  const [gain, shift] = [within(`${name}.weight`), within(`${name}.bias`)];
  const out = new Float64Array(x.length);
  for (let from = 0; from < x.length; from += WIDTH) {
    const vector = x.subarray(from, from + WIDTH);
    const mean = vector.reduce((sum, each) => sum + each, 0) / WIDTH;
    const variance = vector.reduce((sum, each) => sum + (each - mean) ** 2, 0) / WIDTH;
    const scale = 1 / Math.sqrt(variance + EPS);
    for (let c = 0; c < WIDTH; c += 1) {
      out[from + c] = gain[c] * (vector[c] - mean) * scale + shift[c];
    }
  }
  return out;
}

/** x Wᵀ for a matrix of (outputs, WIDTH) numbers. */
function product(x, weight) {
  const outputs = weight.length / WIDTH;
  const out = new Float64Array((x.length / WIDTH) * outputs);
  for (let t = 0; t < x.length / WIDTH; t += 1) {
    for (let o = 0; o < outputs; o += 1) {
      let sum = 0;
      for (let c = 0; c < WIDTH; c += 1) sum += x[t * WIDTH + c] * weight[o * WIDTH + c];
      out[t * outputs + o] = sum;
    }
  }
  return out;
}

function linear(x, within, name) {
  const bias = within(`${name}.bias`);
  return product(x, within(`${name}.weight`)).map((each, i) => each + bias[i % bias.length]);
}

const gelu = x => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));

function add(x, more) {
  for (let i = 0; i < x.length; i += 1) x[i] += more[i];
}

function softmax(scores) {
  const most = Math.max(...scores);
  const powers = scores.map(each => Math.exp(each - most));
  const sum = powers.reduce((one, other) => one + other, 0);
  return powers.map(each => each / sum);
}
