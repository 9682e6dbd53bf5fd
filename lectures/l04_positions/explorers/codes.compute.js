// Three ways to write down a position, and how far the codes of two positions are apart.

import { number } from "../../../course_utils/explorers/kit/words.js";

export const POSITIONS = 64;
const DIGITS = 6;
export const KINDS = ["one number", "binary digits", "waves"];
const [NUMBER, BINARY] = KINDS;
const POWERS = Array.from({ length: DIGITS }, (_, i) => 2 ** i);

/** The code of a position: its numbers, the waves as pairs (cos, sin), fastest first. */
export function codeOf(kind, at) {
  if (kind === NUMBER) return [at];
  if (kind === BINARY) return POWERS.map(power => Math.floor(at / power) % 2);
  return POWERS.flatMap(power => [Math.cos(at / power), Math.sin(at / power)]);
}

const distance = (one, other) => Math.hypot(...one.map((each, i) => each - other[i]));

/** `apart` (64,) is the distance from the code of position m to that of every position. */
export function compute({ code, m, n }) {
  const first = codeOf(code, m);
  const apart = Float64Array.from({ length: POSITIONS }, (_, at) =>
    distance(codeOf(code, at), first));
  return { apart, code, m, n };
}

const digits = at => at.toString(2).padStart(DIGITS, "0");

/** The state in words. */
export function caption({ apart, code, m, n }) {
  const far = number(apart[n], 2);
  if (code === NUMBER) return `As numbers, the codes of [q:${m}] and [k:${n}] are [b:${far}] apart.`;
  if (code === BINARY) {
    const differ = [...digits(m ^ n)].filter(each => each === "1").length;
    return `In binary, [q:${m}] is [q:${digits(m)}] and [k:${n}] is [k:${digits(n)}]: ` +
      `${differ} ${differ === 1 ? "digit differs" : "digits differ"}, and the codes are [b:${far}] apart.`;
  }
  return `As waves, the codes of [q:${m}] and [k:${n}] are [b:${far}] apart, like those of ` +
    `any two positions at distance ${Math.abs(m - n)}.`;
}
