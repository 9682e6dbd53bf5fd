// Three scaling laws and a budget: what scaling_laws.py computes.

import { number } from "../../../course_utils/explorers/kit/words.js";

/** L = E + A / N^alpha + B / D^beta. */
export const lossOf = ({ E, A, B, alpha, beta }, N, D) => E + A / N ** alpha + B / D ** beta;

/** The parameters that a fit of that form advises for a budget. */
export function bestOf({ A, B, alpha, beta }, C) {
  const G = ((alpha * A) / (beta * B)) ** (1 / (alpha + beta));
  return G * (C / 6) ** (beta / (alpha + beta));
}

/** The parameters that Kaplan's law advises. */
export function kaplanBest({ alpha_N, alpha_S, N_c, S_c, alpha_B, B }, C) {
  const share = alpha_S / (alpha_N + alpha_S); // of the loss that is due to N; the rest to the steps
  const N = N_c * share ** (-1 / alpha_N);
  const S = S_c * (1 - share) ** (-1 / alpha_S);
  const power = 1 / alpha_N + 1 / alpha_S + 1 / alpha_B;
  const loss = ((6 * N * S * B) / C) ** (1 / power);
  return N * loss ** (-1 / alpha_N);
}

/** What each law advises, in the order of Python's LAWS. */
export const advised = (given, C) =>
  [kaplanBest(given.kaplan, C), ...given.fits.map(fit => bestOf(fit, C))];

export function compute({ compute: power, ratio }, given) {
  const [first, again] = given.fits;
  const C = 10 ** power;
  const parameters = Math.sqrt(C / 6 / 10 ** ratio);
  const tokens = C / 6 / parameters;
  const along = fit => Float64Array.from(given.sizes, N => lossOf(fit, N, C / 6 / N));
  const sizes = Float64Array.from(advised(given, C));
  const best = sizes.map((N, law) => lossOf(law === 2 ? again : first, N, C / 6 / N));
  return {
    losses: along(first), losses_again: along(again), best_sizes: sizes,
    best_tokens: sizes.map(N => C / 6 / N), best_losses: best, power, parameters, tokens,
    loss: lossOf(first, parameters, tokens),
  };
}

export function caption(state) {
  return (
    `[b:${describe(state.parameters)}] parameters, ` +
    `[b:${describe(state.tokens)}] tokens: Chinchilla's law says loss ` +
    `[b:${number(state.loss, 3)}]. Its best split of ${flopOf(state.power)} gives ` +
    `[b:${number(state.best_losses[1], 3)}], with ${describe(state.best_sizes[1])} parameters.`
  );
}

/** A power of ten of FLOP as a number: 23.5 is 3.2 × 10²³. */
export function flopOf(power) {
  const whole = Math.floor(power);
  const digits = [...String(whole)].map(each => "⁰¹²³⁴⁵⁶⁷⁸⁹"[each]).join("");
  return `${number(10 ** (power - whole), 1)} × 10${digits} FLOP`;
}

/** A number of three digits in words of size. */
export function describe(value) {
  for (const [unit, words] of [[1e12, " trillion"], [1e9, " billion"], [1e6, " million"]]) {
    if (value >= unit * 0.9995) {
      const part = value / unit;
      return number(part, part < 9.995 ? 2 : part < 99.95 ? 1 : 0) + words;
    }
  }
  return number(value);
}

/** The same with one letter for the unit. */
export const short = value => describe(value).replace(/(?<= [mbt])\w+/, "").toUpperCase();
