// Vectors and matrices in plain loops. Weights are Float32Arrays as torch has them, row after row.
// What is computed from them has 64 bits: JavaScript has no other numbers, and rounding takes time.
// These are loops, not `map`, and each sum has a `let` of its own: V8 is several times as fast so.

/** a + b */
export function sum(a, b) {
  const out = new Float64Array(a.length);
  for (let i = 0; i < out.length; i += 1) out[i] = a[i] + b[i];
  return out;
}

/** W x + b */
export function linear({ weight, bias }, x) {
  const out = product(weight, x);
  for (let i = 0; i < out.length; i += 1) out[i] += bias[i];
  return out;
}

/** W x, for a matrix of (outputs, inputs) numbers. */
export function product(weight, x) {
  const inputs = x.length;
  const out = new Float64Array(weight.length / inputs);
  let o = 0;
  // Eight rows at once: no sum waits for its own last addition, and x is read once for all of them.
  for (; o + 8 <= out.length; o += 8) {
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    let e = 0;
    let f = 0;
    let g = 0;
    let h = 0;
    for (let i = 0, at = o * inputs; i < inputs; i += 1, at += 1) {
      const each = x[i];
      a += weight[at] * each;
      b += weight[at + inputs] * each;
      c += weight[at + 2 * inputs] * each;
      d += weight[at + 3 * inputs] * each;
      e += weight[at + 4 * inputs] * each;
      f += weight[at + 5 * inputs] * each;
      g += weight[at + 6 * inputs] * each;
      h += weight[at + 7 * inputs] * each;
    }
    out[o] = a;
    out[o + 1] = b;
    out[o + 2] = c;
    out[o + 3] = d;
    out[o + 4] = e;
    out[o + 5] = f;
    out[o + 6] = g;
    out[o + 7] = h;
  }
  for (; o < out.length; o += 1) {
    for (let i = 0; i < inputs; i += 1) out[o] += weight[o * inputs + i] * x[i];
  }
  return out;
}

/** A vector at mean 0 and variance 1, then scaled and shifted. */
export function layerNorm({ weight, bias }, x, eps) {
  const mean = total(x) / x.length;
  let squares = 0;
  for (let i = 0; i < x.length; i += 1) squares += (x[i] - mean) ** 2;
  const scale = 1 / Math.sqrt(squares / x.length + eps);
  const out = new Float64Array(x.length);
  for (let i = 0; i < x.length; i += 1) out[i] = weight[i] * (x[i] - mean) * scale + bias[i];
  return out;
}

/** Of each number, x times the normal distribution function, which GPT-2 approximates by tanh. */
export function gelu(x) {
  const out = new Float64Array(x.length);
  for (let i = 0; i < x.length; i += 1) {
    const inside = Math.sqrt(2 / Math.PI) * (x[i] + 0.044715 * x[i] * x[i] * x[i]);
    out[i] = 0.5 * x[i] * (1 + Math.tanh(inside));
  }
  return out;
}

/** Each e^score over the sum of all. The largest is taken off first, so that none overflows. */
export function softmax(scores) {
  let most = -Infinity;
  for (let i = 0; i < scores.length; i += 1) most = Math.max(most, scores[i]);
  const out = new Float64Array(scores.length);
  for (let i = 0; i < out.length; i += 1) out[i] = Math.exp(scores[i] - most);
  const whole = total(out);
  for (let i = 0; i < out.length; i += 1) out[i] /= whole;
  return out;
}

export function total(x) {
  let sum = 0;
  for (let i = 0; i < x.length; i += 1) sum += x[i];
  return sum;
}
