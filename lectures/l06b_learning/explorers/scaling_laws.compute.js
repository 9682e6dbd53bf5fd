// Three scaling laws: how each would spend a budget of compute, and the loss of every way.

import { number } from "../../../course_utils/explorers/kit/words.js";

// N counts parameters, D tokens of training, C floating-point operations, for which C = 6 N D: 2
// for each parameter and token forward, 4 backward. Losses are in nats per token.

// Kaplan et al., "Scaling laws for neural language models", 2020: for L(N, S) table 3, for the
// batch equation 1.4. Their N leaves out the embeddings.
const KAPLAN_STEPS = { alpha_N: 0.077, alpha_S: 0.76, N_c: 6.5e13, S_c: 2.1e3 };
const KAPLAN_BATCH = { alpha_B: 0.21, B: 2e8 };
// Hoffmann et al., "Training compute-optimal large language models", 2022, equation 10.
const CHINCHILLA = { E: 1.69, A: 406.4, B: 410.7, alpha: 0.34, beta: 0.28 };
// Fitted to the same runs, read off the paper's figure, by Besiroglu et al., "Chinchilla scaling: a
// replication attempt", 2024, table 1.
const AGAIN = { E: 1.8172, A: 482.01, B: 2085.43, alpha: 0.3478, beta: 0.3658 };
/** Parameters at which the losses of a budget are drawn. */
export const CURVE_SIZES = Array.from({ length: 101 }, (_, i) => 10 ** (6.5 + 0.07 * i));

/** L = E + A / N^alpha + B / D^beta. */
const lossOf = ({ E, A, B, alpha, beta }, N, D) => E + A / N ** alpha + B / D ** beta;

/** The N of least loss: where both parts fall alike, alpha A / N^alpha = beta B / D^beta. */
function bestOf({ A, B, alpha, beta }, C) {
  const G = ((alpha * A) / (beta * B)) ** (1 / (alpha + beta));
  return G * (C / 6) ** (beta / (alpha + beta));
}

/**
 * Kaplan's N of least loss. After S steps L = (N_c / N)^alpha_N + (S_c / S)^alpha_S, and a batch
 * has B / L^(1 / alpha_B) tokens. At the best split one part is alpha_S / alpha_N times the other,
 * so N, S and the batch are powers of L, and so is C (equations 1.4 and 1.6 to 1.8, appendix B.1).
 */
function kaplanBest(C) {
  const { alpha_N, alpha_S, N_c, S_c } = KAPLAN_STEPS;
  const { alpha_B, B } = KAPLAN_BATCH;
  const share = alpha_S / (alpha_N + alpha_S); // of the loss that is due to N; the rest to S
  const N = N_c * share ** (-1 / alpha_N); // where L is 1
  const S = S_c * (1 - share) ** (-1 / alpha_S);
  const power = 1 / alpha_N + 1 / alpha_S + 1 / alpha_B;
  const loss = ((6 * N * S * B) / C) ** (1 / power);
  return N * loss ** (-1 / alpha_N);
}

/** The parameters that each law advises: Kaplan's, Chinchilla's, and that of its later fit. */
export const advised = C => [kaplanBest(C), bestOf(CHINCHILLA, C), bestOf(AGAIN, C)];

/**
 * One way to spend a budget, the ways of the laws, and the loss of every way.
 *
 * 10 ** `power` operations pay for `parameters` and `tokens`; `loss` is what Chinchilla's law says
 * of them. `losses` and `losses_again`, at CURVE_SIZES, are those of Chinchilla's law and of its
 * later fit, at this budget. `best_sizes` and `best_tokens` (3,) are in the order of `advised`;
 * `best_losses` (3,) are what Chinchilla's law says of Kaplan's choice, and each fit of its own.
 */
export function compute({ compute: power, ratio }) {
  const C = 10 ** power;
  const parameters = Math.sqrt(C / 6 / 10 ** ratio);
  const tokens = C / 6 / parameters;
  const along = fit => CURVE_SIZES.map(N => lossOf(fit, N, C / 6 / N));
  const sizes = advised(C);
  return {
    losses: along(CHINCHILLA),
    losses_again: along(AGAIN),
    best_sizes: sizes,
    best_tokens: sizes.map(N => C / 6 / N),
    best_losses: sizes.map((N, law) => lossOf(law === 2 ? AGAIN : CHINCHILLA, N, C / 6 / N)),
    power,
    parameters,
    tokens,
    loss: lossOf(CHINCHILLA, parameters, tokens),
  };
}

/** The state in words. */
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
