// What rope.py computes, in the browser; a test compares the two.

import { number } from "../../../course_utils/explorers/kit/words.js";

const PAIRS = 32;
const TURN = 2 * Math.PI;
/** Turns of the chosen pair that are drawn: beyond them its wave would be a grey area. */
export const TURNS_DRAWN = 3;
const curves = new Map();

/** How far each pair turns from one position to the next, in radians. */
export const speeds = base => Array.from({ length: PAIRS }, (_, pair) => base ** (-pair / PAIRS));

/** The angle from -π to π. */
export const wrapped = angle => Math.atan2(Math.sin(angle), Math.cos(angle));

const mean = values => values.reduce((sum, each) => sum + each, 0) / values.length;

/** The score where the key is `offset` away from the query. */
const scoreAt = (each, offset, aim) => mean(each.map(speed => Math.cos((offset + aim) * speed)));

function curveOf(base, aim, offsets) {
  const key = `${base} ${aim}`;
  const each = speeds(base);
  if (!curves.has(key)) {
    curves.set(key, Float64Array.from(offsets, offset => scoreAt(each, offset, aim)));
  }
  return curves.get(key);
}

/** The state of these values. */
export function compute({ m, n, base, aim, pair }, given) {
  const each = speeds(base);
  const speed = each[pair];
  const distances = given.wave_distances;
  const drawn = distances.filter(distance => distance * speed < TURNS_DRAWN * TURN);
  const apart = wrapped((m - aim - n) * speed);
  return {
    q_angles: each.map(one => wrapped((m - aim) * one)),
    k_angles: each.map(one => wrapped(n * one)),
    shares: each.map(one => Math.cos((m - aim - n) * one)),
    score: scoreAt(each, n - m, aim),
    curve: curveOf(base, aim, given.offsets),
    wave: drawn.map(distance => Math.cos(distance * speed)),
    turn: TURN / speed,
    apart: Math.abs((apart * 180) / Math.PI),
    m, n, pair, aim,
  };
}

/** The state in words. */
export const caption = state =>
  `With the query at [q:${number(state.m)}] and the key at [k:${number(state.n)}], the ` +
  `score is [b:${number(state.score, 3)}] of its maximum. In pair ${state.pair}, the ` +
  `hands are ${number(state.apart)}° apart.`;
