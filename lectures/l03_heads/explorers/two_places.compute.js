// Where the outputs of one head or two land for every text, and what a linear readout says.

import { number } from "../../../course_utils/explorers/kit/words.js";

export const LETTERS = "ABC";
export const PLACES = 4;
export const ASKED = [3, 1]; // where one back and three back are
const SAME = 1e-6; // scores that differ by less are a tie
const HIGH = Math.sqrt(3) / 2;
/** Three values of any width span a triangle: a plane shows all that can happen. */
export const VALUES = [[0, 1], [-HIGH, -0.5], [HIGH, -0.5]];
/** All 81 texts, as indices of letters. */
export const TEXTS = textsOf(PLACES);

function textsOf(length) {
  if (!length) return [[]];
  return textsOf(length - 1).flatMap(start => [0, 1, 2].map(letter => [...start, letter]));
}

/** How much of a head's weight lies on each letter of a text. */
const percentsOf = (weights, text) =>
  VALUES.map((_, letter) => text.reduce((sum, each, i) => sum + (each === letter && weights[i]), 0));

/** The point of the plane that a mixture of the three values is. */
const pointOf = percents =>
  [0, 1].map(axis => percents.reduce((sum, each, i) => sum + (each / 100) * VALUES[i][axis], 0));

/** A point of the plane as a mixture of the three values: shares that sum to 1. */
const sharesAt = ([x, y]) => VALUES.map(value => 1 / 3 + (2 / 3) * (value[0] * x + value[1] * y));

/**
 * The letter that a linear readout of a head's output says; −1 for a tie.
 *
 * The score of a letter is its share in the output less its share where the three cuts meet. In the
 * middle, these are the answers of the readout with the lowest cross-entropy: all letters are
 * equally likely, so it treats them alike, and the letter with the most weight wins.
 */
function answer(percents, cut) {
  const scores = percents.map((each, i) => each - 100 * cut[i]);
  const best = Math.max(...scores);
  const winners = scores.filter(each => best - each < SAME);
  return winners.length > 1 ? -1 : scores.indexOf(best);
}

const mean = flags => flags.filter(Boolean).length / flags.length;

/**
 * What both answers are read from, first the one for one back, then the one for three back.
 *
 * `spots` is where the head's output lands in the plane for each text (2, 81, 2), `said` the letter
 * that the readout says (2, 81), −1 for a tie, `truth` the right letter (2, 81); all are flattened.
 * `at` is which of the 81 texts is written above, `right` the share of texts (2,) in which an
 * answer is right, `both` the share in which both are; `triangle` is whether they are drawn.
 */
export function compute({ first, second, two, triangle, text, cut_one, cut_three }) {
  const percents = [first, two ? second : first].map(head =>
    TEXTS.map(each => percentsOf(head, each)));
  const cuts = [cut_one, cut_three].map(sharesAt);
  const said = percents.flatMap((all, i) => all.map(each => answer(each, cuts[i])));
  const truth = ASKED.flatMap(place => TEXTS.map(each => each[place]));
  const [one, three] = [0, 1].map(i => TEXTS.map((_, at) => {
    const index = i * TEXTS.length + at;
    return said[index] === truth[index];
  }));
  return {
    spots: percents.flat().flatMap(pointOf),
    said,
    truth,
    at: [...text].reduce((index, letter) => 3 * index + LETTERS.indexOf(letter), 0),
    triangle,
    right: [mean(one), mean(three)],
    both: mean(one.map((isRight, i) => isRight && three[i])),
  };
}

/** The state in words. */
export function caption({ said, truth, at, triangle, right, both }) {
  const [one, three, all] = [...right, both].map(each => number(100 * each));
  const here = [at, TEXTS.length + at].map(index => said[index] < 0 ? "a tie"
    : `[v:${LETTERS[said[index]]}] (${said[index] === truth[index] ? "right" : "wrong"})`);
  return `One back is right in ${one} % of texts, three back in ${three} %, ` +
    `both in [b:${all} %]. ${triangle ? "At the rings" : "Here"}: ${here.join(", ")}.`;
}
