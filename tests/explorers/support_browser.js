// What an explorer's page would show, a line of JSON for each line of values.

import { createInterface } from "node:readline";

const [kit, compute] = process.argv.slice(-2);
const { decode, lookUp } = await import(`${kit}/data.js`);
const { plain } = await import(`${kit}/words.js`);
const view = compute.endsWith(".js") ? await import(compute) : null;
let given;

function shown(values) {
  if (!view) return lookUp(given.table, values);
  const state = view.compute(values, given);
  return { state, caption: view.caption(state) };
}

/** Numbers that JSON has no word for as texts, and typed arrays with their shapes. */
function sent(value) {
  if (typeof value === "number" && !Number.isFinite(value)) return { number: String(value) };
  if (value === null || typeof value !== "object") return value;
  if (ArrayBuffer.isView(value)) return { array: [...value].map(sent), shape: value.shape ?? null };
  if (Array.isArray(value)) return value.map(sent);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, sent(each)]));
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  if (asked.given) given = decode(asked.given);
  const answers = asked.cases.map(values => {
    const { state, caption } = shown(values);
    return { ...sent(state), caption, words: plain(caption) };
  });
  console.log(JSON.stringify(answers));
}
