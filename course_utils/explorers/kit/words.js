// Numbers and captions as Python writes them: see words.py.

const TAIL = 30;

/** A number with so many decimals, a tie to the even digit, thousands apart, a wide minus sign. */
export function number(value, digits = 0) {
  const rounded = roundTie(Math.abs(value), digits);
  const [whole, part] = rounded.split(".");
  const text = whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? `.${part}` : "");
  return value < 0 && /[1-9]/.test(text) ? `−${text}` : text;
}

/** toFixed takes the larger of two that are equally near, Python the even one. */
function roundTie(value, digits) {
  const rounded = value.toFixed(digits);
  const tail = value.toFixed(digits + TAIL).slice(-TAIL);
  const isTie = /^50*$/.test(tail);
  const last = Number(rounded.at(-1));
  if (!isTie || last % 2 === 0) return rounded;
  const unit = 10 ** -digits;
  return (Number(rounded) - unit).toFixed(digits);
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
