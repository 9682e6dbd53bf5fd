// What the answers to a quiz make: how many are right, and the line of a cell that keeps them.

const NONE = "-";
export const LETTERS = "abcdefgh";

/** `chosen` has each question's option, or undefined; `right` counts those that are correct. */
export function compute(values, { questions }) {
  const letters = questions.map((_, i) => values[i + 1]);
  const chosen = questions.map(({ options }, i) => options[LETTERS.indexOf(letters[i])]);
  return {
    chosen,
    letters,
    right: chosen.filter(option => option?.correct).length,
    line: letters.every(each => each === NONE) ? ""
      : `exercises.QUIZ.with_answers("${letters.join(" ")}")`,
  };
}

/** The count of right answers. */
export const caption = ({ right, chosen }) => `[b:${right}] of ${chosen.length} right.`;
