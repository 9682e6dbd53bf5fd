// One query and one key, rotated: their hands, their score, and the score at other distances m − n.

import { number } from "../../../course_utils/explorers/kit/words.js";

const PAIRS = 32;
const TURN = 2 * Math.PI;
/** Turns of the chosen pair that are drawn: beyond them its wave would be a grey area. */
export const TURNS_DRAWN = 3;
const FARTHEST = 8192;
const BACK = [...new Set(Array.from({ length: 200 }, (_, i) => Math.round(FARTHEST ** (i / 199))))];
/** Whole distances m − n: all the near ones, ever fewer far out. */
export const DISTANCES = [...BACK.map(each => -each).reverse(), 0, ...BACK];
/** Where the wave of one pair is drawn, counted from where the query aims. */
export const ALONG = Array.from({ length: 360 }, (_, i) => (1 + FARTHEST) ** (i / 359) - 1);
const curves = new Map();

/** How far each pair turns from one position to the next, in radians. */
export const speeds = base => Array.from({ length: PAIRS }, (_, pair) => base ** (-pair / PAIRS));

/** The angle from -π to π. */
export const wrapped = angle => Math.atan2(Math.sin(angle), Math.cos(angle));

const mean = values => values.reduce((sum, each) => sum + each, 0) / values.length;

/** The score where the key is `distance` before the query. */
const scoreAt = (each, distance, aim) => mean(each.map(speed => Math.cos((distance - aim) * speed)));

function curveOf(base, aim) {
  const key = `${base} ${aim}`;
  const each = speeds(base);
  if (!curves.has(key)) {
    curves.set(key, Float64Array.from(DISTANCES, distance => scoreAt(each, distance, aim)));
  }
  return curves.get(key);
}

/**
 * Angles of the hands in radians, `shares` of the maximum that each pair gives, and `score`, their
 * mean; `curve` is the score at DISTANCES, `wave` that of the chosen pair at the first of ALONG. The
 * pair turns once in `turn` positions; its hands are `apart` degrees.
 */
export function compute({ m, n, base, aim, pair }) {
  const each = speeds(base);
  const speed = each[pair];
  const drawn = ALONG.filter(along => along * speed < TURNS_DRAWN * TURN);
  const apart = wrapped((m - aim - n) * speed);
  return {
    q_angles: each.map(one => wrapped((m - aim) * one)),
    k_angles: each.map(one => wrapped(n * one)),
    shares: each.map(one => Math.cos((m - aim - n) * one)),
    score: scoreAt(each, m - n, aim),
    curve: curveOf(base, aim),
    wave: drawn.map(along => Math.cos(along * speed)),
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
