// What two models keep of a text, and compute for its next token: taken from Python's table.

import { number } from "../../../course_utils/explorers/kit/words.js";

const BYTES = [[1e15, "PB"], [1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]];
const FLOPS = [[1e12, "TFLOPs"], [1e9, "GFLOPs"]];

/**
 * Of both models: `curves` (bytes at each length), `kept` (bytes at the chosen one), `weights`
 * (bytes), `work` ([with the weights, with what is kept], FLOPs of a token), `stacks`.
 */
export function compute({ left, right, length, texts }, { names, lengths, stacks, weights, kept, work }) {
  const at = lengths.indexOf(length);
  const count = lengths.length;
  const models = [left, right].map(each => names.indexOf(each));
  const curves = models.map(model =>
    lengths.map((_, i) => texts * kept[model * count + i]));
  return {
    names: [left, right], lengths, length, texts, curves,
    kept: curves.map(curve => curve[at]),
    weights: models.map(model => weights[model]),
    work: models.map(model => [0, 1].map(part => work[2 * (model * count + at) + part])),
    stacks: models.map(model => stacks[model]),
  };
}

const inUnits = (units, count) => {
  const [unit, name] = units.find(each => count >= each[0]) ?? units.at(-1);
  const share = count / unit;
  return `${number(share, share >= 100 ? 0 : share >= 10 ? 1 : 2)} ${name}`;
};

/** Bytes, or FLOPs, in three digits. */
export const sizeOf = count => inUnits(BYTES, count);
export const workOf = count => inUnits(FLOPS, count);

/** 131072 as 128k, where k is 1,024. */
export const short = tokens =>
  (tokens < 1024 ? `${tokens}` : tokens < 1048576 ? `${tokens / 1024}k` : "1M");

/** The state in words: the model that keeps more comes first. */
export function caption({ names, kept, length, texts }) {
  const many = texts === 1 ? "A text" : `${texts} texts`;
  const begin = `${many} of ${short(length)} tokens: `;
  const [more, less] = kept[0] >= kept[1] ? [0, 1] : [1, 0];
  const ratio = kept[more] / kept[less];
  if (ratio < 1.005) return `${begin}both keep [b:${sizeOf(kept[0])}].`;
  return `${begin}${names[more]} keeps [b:${sizeOf(kept[more])}], ` +
    `${number(ratio, ratio < 10 ? 1 : 0)} times what ${names[less]} keeps, ` +
    `[b:${sizeOf(kept[less])}].`;
}
