// What a guess makes of a prediction: whether it is right, and what is said to it.

/** Whether a guess is the truth, or near enough to it. */
export const isRight = ({ choices, truth, within }, guess) =>
  choices.length ? guess === truth : Math.abs(Number(guess) - truth) <= within;

const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
const THOUSANDS = /^[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/;

/** A typed number as Python reads it, null for none: 2,1 is 2.1, and 1,024 is 1024. */
export function asNumber(text) {
  const typed = text.replace(/\s/g, "").replace("−", "-");
  const plain = THOUSANDS.test(typed) ? typed.replaceAll(",", "") : typed.replace(",", ".");
  return NUMBER.test(plain) && Number.isFinite(Number(plain)) ? plain : null;
}

export const compute = ({ guess }, given) => ({
  guess,
  right: guess !== "" && isRight(given, guess),
  given,
});

export function caption({ guess, right, given }) {
  if (!guess) return `Your guess: ${inWords(given)}?`;
  if (!given.once) return `${chosen(guess, given)}. Now see what comes out.`;
  return `${judged(guess, right, given)} ${given.answer}`;
}

/** The guess beside what came out. */
export function verdict({ guess, right, given }) {
  const isTold = right && given.choices.length; // then the guess says it
  return judged(guess, right, given) + (isTold ? "" : ` What came out: [b:${given.shown}].`);
}

const judged = (guess, right, given) =>
  `${chosen(guess, given)}${right ? ", and that is right" : ""}.`;

const chosen = (guess, { choices, unit }) =>
  `${choices.length ? "You chose" : "You guessed"} [b:${unit ? `${guess} ${unit}` : guess}]`;

function inWords({ choices, unit }) {
  if (!choices.length) return unit ? `a number of ${unit}` : "a number";
  return `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`;
}
