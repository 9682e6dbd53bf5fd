// The split into heads and the wrong one: where each number goes, and what outputs depend on.

export const TOKENS = 6;
export const WIDTH = 12;
export const TRANSPOSE = "transpose, reshape";
const NUMBERS = Array.from({ length: TOKENS * WIDTH }, (_, n) => n);
const rowsOf = count => Array.from({ length: count }, (_, i) => i);

/** Which tokens each row of each head has seen, up to itself: head → row → tokens. */
const seenBy = (heads, tokenOf) => rowsOf(heads).map(head =>
  rowsOf(TOKENS).map(row => new Set(rowsOf(row + 1).map(each => tokenOf(head, each)))));

/** What each output depends on, flattened: it is made of the rows of some heads. */
const reachOf = (seen, rowsFor) => rowsOf(TOKENS).flatMap(token => {
  const all = new Set(rowsFor(token).flatMap(([head, row]) => [...seen[head][row]]));
  return rowsOf(TOKENS).map(each => all.has(each));
});

/**
 * The numbers 0 to 71 of x (T, C), in this order in memory, by the right split and the wrong one.
 *
 * `right` and `wrong` are head, row and column (72, 3) where each number goes. `reach` is, for the
 * right order and the wrong one, which tokens (2, T, T) the output of each token depends on, where
 * row i of a head attends to its rows up to i (a causal mask). All are flattened. `number` is the
 * one that is pointed at.
 */
export function compute({ heads, number, merge }) {
  const width = WIDTH / heads;
  const right = NUMBERS.flatMap(n =>
    [Math.floor((n % WIDTH) / width), Math.floor(n / WIDTH), n % width]);
  const wrong = NUMBERS.flatMap(n =>
    [Math.floor(n / (TOKENS * width)), Math.floor(n / width) % TOKENS, n % width]);
  const turned = token => rowsOf(heads).map(head => [head, token]);
  const inOrder = token => rowsOf(heads).map(i => {
    const row = token * heads + i;
    return [Math.floor(row / TOKENS), row % TOKENS];
  });
  const seen = seenBy(heads, (head, row) => Math.floor((head * TOKENS + row) / heads));
  const reach = [
    ...reachOf(seenBy(heads, (_, row) => row), turned),
    ...reachOf(seen, merge === TRANSPOSE ? turned : inOrder),
  ];
  return { heads, number, right, wrong, reach };
}

function tokens(seen) {
  const [first, last] = [seen[0], seen.at(-1)];
  if (seen.length === 1) return `token ${first}`;
  if (seen.length > 2 && last - first === seen.length - 1) return `tokens ${first} to ${last}`;
  return `tokens ${seen.join(", ")}`;
}

/** The state in words. */
export function caption({ heads, number, right, wrong, reach }) {
  const [token, place] = [Math.floor(number / WIDTH), number % WIDTH];
  const [head, row] = right.slice(3 * number);
  if (heads === 1) {
    return `With one head there is nothing to cut: number [b:${place}] of token [b:${token}] ` +
      `is in row ${row} of both, and every output sees its past.`;
  }
  const [wrongHead, wrongRow] = wrong.slice(3 * number);
  const start = (TOKENS + token) * TOKENS;
  const seen = rowsOf(TOKENS).filter(each => reach[start + each]);
  return `Number ${place} of token ${token}: head [b:${head}], row ${row}. ` +
    `Wrong view: head [b:${wrongHead}], row ${wrongRow}; ` +
    `output ${token} depends on ${tokens(seen)}.`;
}
