// Numbers and captions. captions.py writes a table's alike.

/** A number with so many decimals, thousands apart, and a minus sign as wide as a plus. */
export function number(value, digits = 0) {
  const [whole, part] = Math.abs(value).toFixed(digits).split(".");
  const text = whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? `.${part}` : "");
  return value < 0 && /[1-9]/.test(text) ? `−${text}` : text;
}

/** A caption without its colours. */
export const plain = caption => caption.replace(/\[([qkvb]):((?:\[[^[\]]*\]|[^[\]])*)\]/g, "$2");

/** A caption in parts: [class or "", text]. */
export function parts(caption) {
  const found = caption.split(/(\[[qkvb]:(?:\[[^[\]]*\]|[^[\]])*\])/);
  return found.filter(Boolean).map(part => {
    const marked = /^\[([qkvb]):(.*)\]$/.exec(part);
    return marked ? [`ce-${marked[1]}`, marked[2]] : ["", part];
  });
}
