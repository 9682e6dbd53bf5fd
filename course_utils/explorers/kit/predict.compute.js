// What a guess makes of a prediction: as in teaching/predict.py.

/** Whether a guess is the truth, or near enough to it. */
export const isRight = ({ choices, truth, within }, guess) =>
  choices.length ? guess === truth : Math.abs(Number(guess) - truth) <= within;

export const compute = ({ guess }, given) => ({
  guess,
  right: guess !== "" && isRight(given, guess),
  given,
});

export function caption({ guess, right, given }) {
  if (!guess) return `Your guess: ${inWords(given)}?`;
  const chose = given.choices.length ? "You chose" : "You guessed";
  const said = `${chose} [b:${given.unit ? `${guess} ${given.unit}` : guess}]`;
  if (!given.once) return `${said}. Now see what comes out.`;
  return `${said}${right ? ", and that is right" : ""}. ${given.answer}`;
}

function inWords({ choices, unit }) {
  if (!choices.length) return unit ? `a number of ${unit}` : "a number";
  return `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`;
}
