// The roof of a GPU, the points of attention under it, and a tile against the memory of one SM.

import { number } from "../../../course_utils/explorers/kit/words.js";

const HEADS = 64; // batch times heads: enough to fill each of these GPUs
const SIZE = 2; // bytes of a number in q, k and v
const STATISTIC = 4; // bytes of a float32
const STAGES = 2; // tiles of k and v that are there at once
/** What limits, in the order of the rates and of what a cost counts. */
export const LIMITS = ["tensor cores", "vector units", "exps", "memory"];
const NAMES = ["naive", "tiled", "tiled with k and v in L2"];

// A cost of one head is [FLOPs in products, other FLOPs, exps, bytes]; experiments/traffic.py says
// what is counted for T queries and S keys.

function naiveForward(T, S, D) {
  return [4 * T * S * D, 5 * T * S, T * S, SIZE * (2 * T * D + 2 * S * D + 4 * T * S)];
}

function tiledForward(T, S, D, { block_m, block_n }, cached = false) {
  const keys = cached ? S : Math.ceil(T / block_m) * S;
  const rows = T * Math.ceil(S / block_n);
  const moved = SIZE * D * (T + 2 * keys) + T * (SIZE * D + STATISTIC);
  return [4 * T * S * D, 4 * T * S + rows * (D + 4) + T * (D + 1), T * S + rows + T, moved];
}

const times = (cost, heads) => cost.map(each => each * heads);

/**
 * `bandwidth` (bytes a second), `tensor` and `exps` (FLOP/s of products) are the three roofs.
 *
 * `intensity`, `rate`, `seconds` and `limit` have an entry for naive, tiled, tiled with k and v in
 * the L2 cache, and decoding: FLOPs a byte, FLOP/s and seconds at best, the index in LIMITS of what
 * limits. `shared` and `registers` are the bytes that a tile takes of what one SM has. In shared
 * memory: the tile of q, and of k and v twice, so that the next tiles arrive while these are worked
 * on. In registers, as float32: the scores, the accumulator, m and l. A compiler needs some more.
 */
export function compute(values, given) {
  const { width, length, group } = values;
  const at = given.names.indexOf(values.gpu);
  const rates = [...given.rates.subarray(4 * at, 4 * at + 4)];
  const [sms, sharedLimit, registersLimit] = given.rooms.subarray(3 * at, 3 * at + 3);
  const costs = [
    times(naiveForward(length, length, width), HEADS),
    times(tiledForward(length, length, width, values), HEADS),
    times(tiledForward(length, length, width, values, true), HEADS),
    // The queries of the heads that share a key are a block of their own.
    times(tiledForward(group, length, width, { ...values, block_m: group }), HEADS / group),
  ];
  const parts = costs.map(cost => cost.map((each, part) => each / rates[part]));
  const seconds = parts.map(each => Math.max(...each));
  return {
    bandwidth: rates[3],
    tensor: rates[0],
    exps: (costs[1][0] / costs[1][2]) * rates[2],
    intensity: costs.map(([flops, , , bytes]) => flops / bytes),
    rate: costs.map(([flops], way) => flops / seconds[way]),
    seconds,
    limit: parts.map((each, way) => each.indexOf(seconds[way])),
    sms,
    shared: SIZE * width * (values.block_m + 2 * STAGES * values.block_n),
    shared_limit: sharedLimit,
    registers: STATISTIC * values.block_m * (values.block_n + width + 2),
    registers_limit: registersLimit,
    group,
    decoding: values.decoding,
  };
}

export const teraflops = rate => number(rate / 1e12, rate >= 1e13 ? 0 : 1);

/** The state in words. */
export function caption(state) {
  const rates = state.rate.map(teraflops);
  const limits = state.limit.map(each => LIMITS[each]);
  if (state.decoding) {
    const queries = state.group === 1 ? "1 query" : `${state.group} queries`;
    return `Decoding: at best [b:${rates[3]}] of ${teraflops(state.tensor)} TFLOP/s, ` +
      `limited by ${limits[3]}. Each key that is read serves [q:${queries}]: ` +
      `[b:${number(state.intensity[3], 1)}] FLOPs a byte.`;
  }
  const fits = state.shared <= state.shared_limit && state.registers <= state.registers_limit;
  const ways = NAMES.map((name, way) =>
    `${name} [b:${rates[way]}]${way ? "" : " TFLOP/s"} (${limits[way]})`);
  return `At best: ${ways.join(", ")}.${fits ? "" : " The tile does not fit."}`;
}
