// From values to places and back.

/** A linear scale from one range to another, as a function with an `inverse`. */
export function linear([from, to], [start, end]) {
  const slope = (end - start) / (to - from);
  const scale = value => start + (value - from) * slope;
  scale.inverse = place => from + (place - start) / slope;
  return scale;
}

/** Where a number lies on an axis that is logarithmic on both sides of 0. */
export const signedLog = value => Math.sign(value) * Math.log10(1 + Math.abs(value));

/** The number at a place of that axis. */
export const fromSignedLog = place => Math.sign(place) * (10 ** Math.abs(place) - 1);

/** The nearest value between two ends. */
export const clamp = (value, least, most) => Math.min(Math.max(value, least), most);
