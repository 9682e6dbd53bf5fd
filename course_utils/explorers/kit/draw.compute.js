// A curve that a reader draws before it is shown: how far it is from what came out.

import { linear } from "./scale.js";
import { number } from "./words.js";

/** The places along x at which a guess has heights: as many between any two of the five handles. */
export const PLACES = 25;
export const HANDLES = [0, 6, 12, 18, 24];

/** From a value of an axis to its share of the axis, 0 to 1, and back. */
export function shareOf({ domain, log }) {
  const scale = log ? Math.log10 : each => each;
  const share = linear(domain.map(scale), [0, 1]);
  const forth = value => share(scale(value));
  forth.inverse = at => (log ? 10 ** share.inverse(at) : share.inverse(at));
  return forth;
}

/** The heights that a text holds, in values of the y axis, from left to right; none where it is empty. */
export const heightsOf = guess => (guess ? guess.split(" ").map(Number) : []);

/** The height of a polyline at a place, through points at `xs`, which grow. */
export function heightAt(xs, ys, x) {
  const next = Math.min(Math.max(xs.findIndex(each => each >= x), 1), xs.length - 1);
  return linear([xs[next - 1], xs[next]], [ys[next - 1], ys[next]])(x);
}

/** Shares with a straight line from one place to another, each `{ i, share }`. */
export function joined(shares, one, other) {
  const [left, right] = one.i <= other.i ? [one, other] : [other, one];
  return shares.map((share, i) => {
    if (i < left.i || i > right.i) return share;
    return left.i === right.i ? other.share : heightAt([left.i, right.i], [left.share, right.share], i);
  });
}

/** Shares with one handle moved; the line is straight to its neighbours. */
export function pulled(shares, handle, share) {
  const here = { i: HANDLES[handle], share };
  const sides = [HANDLES[handle - 1], HANDLES[handle + 1]].filter(i => i !== undefined);
  return sides.reduce((found, i) => joined(found, { i, share: found[i] }, here), shares);
}

/**
 * `heights` (PLACES,) of the guess, `asked` (points,) its heights at the measured points, and where it is
 * `off` the most, as an index of them. `gap` is the mean distance, in units of y; on a logarithmic y axis a
 * factor.
 */
export function compute({ guess }, { curve }) {
  const heights = heightsOf(guess);
  if (!heights.length) return { heights, asked: [], curve };
  const along = shareOf(curve.x);
  const places = heights.map((_, i) => i / (PLACES - 1));
  const up = shareOf(curve.y);
  const shares = heights.map(up);
  const asked = curve.at.map(x => up.inverse(heightAt(places, shares, along(x))));
  const gaps = asked.map((height, i) => distance(height, curve.truth[i], curve.y.log));
  const mean = gaps.reduce((sum, each) => sum + each, 0) / gaps.length;
  return {
    heights,
    asked,
    off: gaps.indexOf(Math.max(...gaps)),
    gap: curve.y.log ? 10 ** mean : mean,
    curve,
  };
}

const distance = (one, other, log) => Math.abs(log ? Math.log10(one / other) : one - other);

/** What is asked for; after the guess, how far it is off, and what is true. */
export function caption({ asked, off, gap, curve }) {
  if (!asked.length) return "Draw your guess: drag along the picture, or move its five handles.";
  const { at, truth, x, y } = curve;
  const by = y.log ? `a factor of [b:${number(gap, 1)}]` : `[b:${number(gap, y.digits)}]`;
  const most = `${number(asked[off], y.digits)} instead of ${number(truth[off], y.digits)}`;
  return `Your curve is off by ${by} on average, most at ${x.label} = ${number(at[off])}: ${most}. ` +
    curve.answer;
}
