// A tile of a matrix in memory: the place of each number, and whether it exists.

export const ROWS = 7;
export const COLUMNS = 6;
export const BLOCK = 4;
const PLACES = Array.from({ length: BLOCK * BLOCK }, (_, n) => n);
const numbers = first => Array.from({ length: BLOCK }, (_, i) => first + i);

/**
 * `rows` and `columns` (BLOCK,) are those of the tile, `places` (BLOCK²,) where its numbers lie,
 * `exists` whether they are the matrix's, and `used` whether the program loads them. `size` is the
 * number of places that the matrix takes.
 */
export function compute({ row, column, entry, stride, masked }) {
  const [rows, columns] = [numbers(row), numbers(column)];
  const at = n => [rows[Math.floor(n / BLOCK)], columns[n % BLOCK]];
  const places = PLACES.map(n => at(n)[0] * stride + at(n)[1]);
  const exists = PLACES.map(n => at(n)[0] < ROWS && at(n)[1] < COLUMNS);
  const used = exists.map(each => each || !masked);
  return { rows, columns, places, exists, used, size: ROWS * stride, stride, entry, masked };
}

/** The state in words. */
export function caption({ rows, columns, places, exists, used, size, stride, entry, masked }) {
  const [i, j] = [rows[Math.floor(entry / BLOCK)], columns[entry % BLOCK]];
  const missing = exists.filter(each => !each).length;
  const wrong = places.filter((_, n) => used[n] && !exists[n]);
  const outside = wrong.filter(place => place >= size).length;
  const found = !missing ? (masked ? "All 16 exist." : "All 16 exist: no mask is needed.")
    : !wrong.length ? `[b:${missing}] of 16 do not exist: the mask leaves them out.`
      : `No mask: [b:${wrong.length - outside}] are numbers of other rows, ` +
        `[b:${outside}] beyond the end.`;
  return `Row ${i}, column ${j}: place ${i} · ${stride} + ${j} = [q:${places[entry]}]. ${found}`;
}
