// What score_width.py computes, in the browser; a test compares the two.

import { number } from "../../../course_utils/explorers/kit/words.js";
import { ALL_EQUAL, CAUCHY, COINS, UNIFORM, querySums, runningSums } from "./score_width.samples.js";

const KEYS = 64;
const AXIS = 50;
const FINEST = 200;
const PER_SPREAD = 4;
const FOURTH = { [COINS]: 1, [UNIFORM]: 9 / 5 };

/** Mean and variance of a score by formula; none where coordinates have no variance. */
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

function scoresFrom([sumA, sumC, sumAA, sumAC], width, { correlation, variance, mean }, divisor) {
  const rest = Math.sqrt(1 - correlation * correlation);
  const [always, linear] = [width * mean * mean, mean * Math.sqrt(variance)];
  return sumA.map((a, i) => {
    const b = correlation * a + rest * sumC[i];
    const ab = correlation * sumAA[i] + rest * sumAC[i];
    return (always + linear * (a + b) + variance * ab) / divisor;
  });
}

function axisFor({ mean, spread }, width) {
  const reach = mean === null ? AXIS * width : Math.abs(mean) + 2 * spread;
  let view = AXIS;
  while (view < reach) view *= 2;
  return view;
}

/** Left edge and width of the bars; those of coin flips hold whole points of their lattice. */
function barsFor({ mean, spread }, view, lattice) {
  let step = mean === null ? view / 40 : Math.max(spread / PER_SPREAD, view / FINEST);
  let edge = (mean ?? 0) - step / 2;
  if (lattice && lattice[1] > 0) {
    const [point, gap] = lattice;
    step = gap * Math.max(1, Math.floor(step / gap + 0.5));
    edge = point - gap / 2;
  }
  return [edge - Math.ceil((edge + view) / step) * step, step];
}

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

/** The state of these values. */
export function compute(values) {
  const { width, divided, coordinates, correlation, variance, mean: shift, query } = values;
  const divisor = divided ? Math.sqrt(width) : 1;
  const law = lawOf(values, width);
  const samples = scoresFrom(runningSums(coordinates, width), width, values, divisor);
  const scores = scoresFrom(querySums(coordinates, query, KEYS, width), width, values, divisor);
  const view = axisFor(law, width);
  const rest = Math.sqrt(1 - correlation * correlation);
  const lattice = coordinates === COINS && shift === 0 &&
    [(variance * width * (correlation + rest)) / divisor, (2 * variance * rest) / divisor];
  const [start, step] = barsFor(law, view, lattice);
  const { heights, tallest } = counted(samples, view, start, step);
  const mean = meanOf(samples);
  const most = Math.max(...scores);
  const grown = scores.map(each => Math.exp(each - most));
  const sum = grown.reduce((one, other) => one + other, 0);
  const weights = grown.map(each => each / sum);
  const best = scores.indexOf(most);
  const density = (samples.length * step) / (law.spread * Math.sqrt(2 * Math.PI));
  return {
    view, start, step, heights, mean,
    spread: Math.sqrt(meanOf(samples.map(each => (each - mean) ** 2))),
    law_mean: law.mean, law_spread: law.spread, peak: law.spread ? density / tallest : 0,
    scores, weights, best, largest: weights[best], width, divided,
  };
}

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
