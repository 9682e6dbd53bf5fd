// A query among noisy points: its weights, their mean of the values, and the curve of all means.

import { clamp } from "../../../course_utils/explorers/kit/scale.js";
import { number } from "../../../course_utils/explorers/kit/words.js";

const HIGHEST = 2; // a value cannot be dragged further from 0
const SAME = 1e-9; // a value that has moved by less counts as not moved
const NEGLIGIBLE = -45; // exp of it is below the rounding of a sum

/** The weights of a query at a place: softmax of minus the squared distances, times precision/2. */
function weightsAt(place, precision, x) {
  const least = leastSquare(place, x);
  const grown = Array.from(x, each => grownAt(place, precision, each, least));
  const total = grown.reduce((one, other) => one + other, 0);
  return grown.map(each => each / total);
}

/** The output at a place; it makes no arrays, since a curve asks it 201 times. */
function outputAt(place, precision, x, values) {
  const least = leastSquare(place, x);
  let [total, sum] = [0, 0];
  for (let i = 0; i < x.length; i += 1) {
    const grown = grownAt(place, precision, x[i], least);
    total += grown;
    sum += grown * values[i];
  }
  return sum / total;
}

/** exp of a score, after the largest score is taken from all. */
function grownAt(place, precision, x, least) {
  const score = (precision * (least - (place - x) * (place - x))) / 2;
  return score < NEGLIGIBLE ? 0 : Math.exp(score);
}

function leastSquare(place, x) {
  let least = Infinity;
  for (let i = 0; i < x.length; i += 1) least = Math.min(least, (place - x[i]) * (place - x[i]));
  return least;
}

const dot = (weights, values) => weights.reduce((sum, each, i) => sum + each * values[i], 0);
const isSome = weight => weight > 0;

/** exp of the entropy: how many points share the weight. */
const spread = weights =>
  Math.exp(-weights.filter(isSome).reduce((sum, each) => sum + each * Math.log(each), 0));

/**
 * `weights` (150,) are the query's, over the points' `values` (150,), and `out` is their weighted
 * mean; `effective` is how many points share the weight. `curve` (201,) is the output of each query
 * on the grid, `fixed` (201,) with `fixed_bandwidth` for all; `error` and `fixed_error` are their
 * mean squared errors. `bandwidth` is this query's. The value of `point` was dragged by `moved`,
 * which moved the output by `effect`.
 */
export function compute({ at, bandwidth, chooses, point, shift }, given) {
  const { x, y, grid, truth, coefficients: [a, b, c] } = given;
  const values = Array.from(y);
  values[point] = clamp(y[point] + shift, -HIGHEST, HIGHEST);
  const learned = place => Math.exp(a + b * (2 * place - 1) + c * (2 * place - 1) ** 2);
  const one = () => 1 / bandwidth ** 2;
  const curveOf = precision =>
    Array.from(grid, place => outputAt(place, precision(place), x, values));
  const errorOf = curve =>
    curve.reduce((sum, each, i) => sum + (each - truth[i]) ** 2, 0) / curve.length;
  const precision = (chooses ? learned : one)(at);
  const weights = weightsAt(at, precision, x);
  const fixed = curveOf(one);
  const curve = chooses ? curveOf(learned) : fixed;
  const moved = values[point] - y[point];
  return {
    bandwidth: 1 / Math.sqrt(precision),
    chooses,
    weights,
    values,
    out: dot(weights, values),
    effective: spread(weights),
    curve,
    fixed,
    error: errorOf(curve),
    fixed_bandwidth: bandwidth,
    fixed_error: errorOf(fixed),
    point,
    moved,
    effect: weights[point] * moved,
  };
}

/** The state in words. */
export function caption(state) {
  const out = number(state.out, 2);
  if (Math.abs(state.moved) > SAME) {
    return `One value moved by [v:${number(state.moved, 2)}]. Its weight is ` +
      `[b:${number(state.weights[state.point], 3)}], so the output moved by ` +
      `[v:${number(state.effect, 2)}], to [v:${out}].`;
  }
  const count = `[b:${number(state.effective)}] of ${state.weights.length} points`;
  const [error, fixedError] = [number(state.error, 3), number(state.fixed_error, 3)];
  return state.chooses
    ? `This query chooses bandwidth [q:${number(state.bandwidth, 3)}] and averages about ` +
      `${count}. Mean squared error of the curve: [b:${error}]; with ` +
      `[q:${number(state.fixed_bandwidth, 3)}] everywhere, [b:${fixedError}].`
    : `This query averages about ${count}: output [v:${out}]. With bandwidth ` +
      `[q:${number(state.bandwidth, 3)}] everywhere, the curve's mean squared error is ` +
      `[b:${error}].`;
}
