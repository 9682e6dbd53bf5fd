// One query and one key, rotated: their hands, their score, and the score at other distances.

import { number } from "../../../course_utils/explorers/kit/words.js";

const PAIRS = 32;
const TURN = 2 * Math.PI;
/** Turns of the chosen pair that are drawn: beyond them its wave would be a grey area. */
export const TURNS_DRAWN = 3;
const FARTHEST = 8192;
const AHEAD = [...new Set(Array.from({ length: 200 }, (_, i) => Math.round(FARTHEST ** (i / 199))))];
/** Whole offsets of a key from its query: all the near ones, ever fewer far out. */
export const OFFSETS = [...AHEAD.map(each => -each).reverse(), 0, ...AHEAD];
/** Any distances, for the wave of one pair. */
export const DISTANCES = Array.from({ length: 360 }, (_, i) => (1 + FARTHEST) ** (i / 359) - 1);
const curves = new Map();

/** How far each pair turns from one position to the next, in radians. */
export const speeds = base => Array.from({ length: PAIRS }, (_, pair) => base ** (-pair / PAIRS));

/** The angle from -π to π. */
export const wrapped = angle => Math.atan2(Math.sin(angle), Math.cos(angle));

const mean = values => values.reduce((sum, each) => sum + each, 0) / values.length;

/** The score where the key is `offset` away from the query. */
const scoreAt = (each, offset, aim) => mean(each.map(speed => Math.cos((offset + aim) * speed)));

function curveOf(base, aim) {
  const key = `${base} ${aim}`;
  const each = speeds(base);
  if (!curves.has(key)) {
    curves.set(key, Float64Array.from(OFFSETS, offset => scoreAt(each, offset, aim)));
  }
  return curves.get(key);
}

/**
 * Angles of the hands in radians, `shares` of the maximum that each pair gives, and `score`, their
 * mean; `curve` is the score at OFFSETS, `wave` that of the chosen pair at the first DISTANCES from
 * where the query aims. The pair turns once in `turn` positions; its hands are `apart` degrees.
 */
export function compute({ m, n, base, aim, pair }) {
  const each = speeds(base);
  const speed = each[pair];
  const drawn = DISTANCES.filter(distance => distance * speed < TURNS_DRAWN * TURN);
  const apart = wrapped((m - aim - n) * speed);
  return {
    q_angles: each.map(one => wrapped((m - aim) * one)),
    k_angles: each.map(one => wrapped(n * one)),
    shares: each.map(one => Math.cos((m - aim - n) * one)),
    score: scoreAt(each, n - m, aim),
    curve: curveOf(base, aim),
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
