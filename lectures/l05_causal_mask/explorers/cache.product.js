// The cache as a product: 2 · layers · heads · width · tokens · texts · bytes.

import { html, set } from "../../../course_utils/explorers/kit/svg.js";
import { number } from "../../../course_utils/explorers/kit/words.js";
import { sizeOf } from "./cache.compute.js";

/** The product in a stage; what is returned writes a state's numbers, and lights what changed. */
export function makeProduct(stage) {
  const row = html("div", { class: "cache-product" });
  stage.append(row);
  const factor = (name, kind = "") => {
    const value = html("b", {});
    const box = html("span", { class: `cache-factor ${kind}` }, value, html("small", {}, name));
    row.append(box);
    return text => set(value, { text });
  };
  const sign = words => row.append(html("span", { class: "cache-sign" }, words));
  const shown = ["K and V", "layers", "K/V heads", "width", "tokens", "texts", "bytes"]
    .map((name, i) => {
      if (i) sign("×");
      return factor(name);
    });
  sign("=");
  const product = factor("cache", "cache-result");
  return ({ layers, kv_heads, width, kept, texts, bits, keys, values }) => {
    const bytes = bits / 8;
    [2, layers, kv_heads, width, kept, texts].forEach((each, i) => shown[i](number(each)));
    shown[6](bytes < 1 ? "½" : number(bytes));
    product(sizeOf(keys + values));
  };
}
