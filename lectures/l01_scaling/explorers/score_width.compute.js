// Scores of random queries and keys in bars, what is predicted for them, one query's weights.

import { number } from "../../../course_utils/explorers/kit/words.js";
import { ALL_EQUAL, CAUCHY, COINS, UNIFORM } from "./coordinates.js";
import { KEYS, querySums, runningSums } from "./running_sums.js";
import { softmax } from "./softmax.js";

const AXIS = 50; // half the axis at least; it doubles as often as that is too little
const FINEST = 200; // bars on each side of 0, at most
const PER_SPREAD = 4; // bars to a standard deviation
/** Fourth moments of the coordinates whose are not the normal's, 3. */
const FOURTH = { [COINS]: 1, [UNIFORM]: 9 / 5 };

/**
 * Mean and spread of a score by formula; none where coordinates have no variance. Coordinates that
 * are all equal add up instead of averaging out: d² in the place of d there.
 */
export function lawOf({ coordinates, correlation, variance, mean, divided }, width) {
  if (coordinates === CAUCHY) return { mean: null, spread: null };
  const shifted = 2 * mean ** 2 * variance * (1 + correlation);
  const product = variance ** 2 * (1 + correlation ** 2 * ((FOURTH[coordinates] ?? 3) - 2));
  const terms = coordinates === ALL_EQUAL ? width ** 2 : width;
  const divisor = divided ? Math.sqrt(width) : 1;
  return {
    mean: (width * (mean ** 2 + correlation * variance)) / divisor,
    spread: Math.sqrt((terms * (shifted + product)) / divisor ** 2),
  };
}

/** Scores from their running sums, by the formula in running_sums.js. */
function scoresFrom([sumA, sumC, sumAA, sumAC], width, { correlation, variance, mean }, divisor) {
  const rest = Math.sqrt(1 - correlation * correlation);
  const [always, linear] = [width * mean * mean, mean * Math.sqrt(variance)];
  return sumA.map((a, i) => {
    const b = correlation * a + rest * sumC[i];
    const ab = correlation * sumAA[i] + rest * sumAC[i];
    return (always + linear * (a + b) + variance * ab) / divisor;
  });
}

/** Half the axis: it holds the mean and two spreads, and some of what has neither. */
function axisFor({ mean, spread }, width) {
  const reach = mean === null ? AXIS * width : Math.abs(mean) + 2 * spread;
  let view = AXIS;
  while (view < reach) view *= 2;
  return view;
}

/**
 * Left edge and width of the bars. Scores of coin flips lie on a lattice (a point of it, its gap).
 * A bar then holds a whole number of points and ends midway between two: other bars would hold now
 * more, now fewer, and draw a comb.
 */
export function barsFor({ mean, spread }, view, lattice) {
  let step = mean === null ? view / 40 : Math.max(spread / PER_SPREAD, view / FINEST);
  let edge = (mean ?? 0) - step / 2;
  if (lattice && lattice[1] > 0) {
    const [point, gap] = lattice;
    step = gap * Math.max(1, Math.floor(step / gap + 0.5));
    edge = point - gap / 2;
  }
  return [edge - Math.ceil((edge + view) / step) * step, step];
}

/** Heights relative to the tallest bar, and how many samples that holds. */
function counted(samples, view, start, step) {
  const counts = new Float64Array(Math.ceil((view - start) / step));
  for (const each of samples) {
    const at = Math.floor((each - start) / step);
    if (at >= 0 && at < counts.length) counts[at] += 1;
  }
  const tallest = Math.max(...counts, 1);
  return { heights: counts.map(each => each / tallest), tallest };
}

const meanOf = values => values.reduce((sum, each) => sum + each, 0) / values.length;

/**
 * 2,000 scores in bars: the axis reaches from -`view` to `view`, `heights` (bars,) are relative to
 * the tallest, the first bar begins at `start`, each is `step` wide. `mean` and `spread` are those
 * of the scores, `law_mean` and `law_spread` mean and standard deviation by formula, null where
 * they do not exist; `peak` is the height of the normal density with these two. `scores` and
 * `weights` (64,) belong to one query, whose key `best` has the `largest` weight.
 */
export function compute(values) {
  const { width, divided, coordinates, correlation, variance, mean: shift, query } = values;
  const divisor = divided ? Math.sqrt(width) : 1;
  const law = lawOf(values, width);
  const samples = scoresFrom(runningSums(coordinates, width), width, values, divisor);
  const scores = scoresFrom(querySums(coordinates, query, width), width, values, divisor);
  const view = axisFor(law, width);
  const rest = Math.sqrt(1 - correlation * correlation);
  const lattice = coordinates === COINS && shift === 0 &&
    [(variance * width * (correlation + rest)) / divisor, (2 * variance * rest) / divisor];
  const [start, step] = barsFor(law, view, lattice);
  const { heights, tallest } = counted(samples, view, start, step);
  const mean = meanOf(samples);
  const weights = softmax(scores);
  const best = scores.indexOf(Math.max(...scores));
  const density = (samples.length * step) / (law.spread * Math.sqrt(2 * Math.PI));
  return {
    view, start, step, heights, mean,
    spread: Math.sqrt(meanOf(samples.map(each => (each - mean) ** 2))),
    law_mean: law.mean, law_spread: law.spread, peak: law.spread ? density / tallest : 0,
    scores, weights, best, largest: weights[best], width, divided,
  };
}

/** A number without the digits that nobody needs beyond some four. */
function written(value, digits) {
  if (Math.abs(value) >= 1e6) return `${number(value / 1e6)} million`;
  return number(value, Math.abs(value) < 100 ? digits : 0);
}

/** The state in words. */
export function caption(state) {
  const how = state.divided ? `Divided by √${state.width}` : `At d_k = ${state.width}`;
  const measured = `mean ${written(state.mean, 1)} and spread [b:${written(state.spread, 2)}]`;
  const predicted = state.law_mean === null ? "nothing can be predicted"
    : `predicted: ${written(state.law_mean, 1)} and ${written(state.law_spread, 2)}`;
  return (
    `${how}, scores have ${measured} (${predicted}). The largest of ${KEYS} weights is ` +
    `[b:${number(state.largest, 2)}].`
  );
}
