// Where the parts of the picture are, for a width.

const HALF = 8;
const SIDE = 240; // pixels of what is right of the table
const SPACE = 24; // between them
const STRIPS = 4;

let known = {};

/** The layout for a width; the last one is kept. */
export function layoutOf(width) {
  if (known.all !== width) known = laidOut(width);
  return known;
}

function laidOut(all) {
  const isWide = all >= 780;
  const width = isWide ? all - SIDE - SPACE : all;
  const isNarrow = width < 540;
  const left = isNarrow ? 1 : 165;
  const gap = isNarrow ? 7 : 16;
  const cell = (width - left - gap - 1) / (2 * HALF);
  const strip = isNarrow ? 26 : 28;
  const above = isNarrow ? 26 : 0; // a head's name, where it has no room at the left
  const step = strip + above + (isNarrow ? 4 : 6);
  const chips = 24;
  const chip = isNarrow ? 28 : 30;
  const note = chips + chip + 16;
  const strips = note + 10;
  const stripAt = i => strips + i * step + above + (i > 1 ? 8 : 0);
  const heading = stripAt(STRIPS - 1) + strip + (isNarrow ? 24 : 6);
  const bars = heading + (isNarrow ? 4 : 20);
  const high = isNarrow ? 54 : 78;
  const bottom = bars + high + 42;
  const x = i => left + i * cell + (i >= HALF ? gap : 0);
  const columnAt = place => Array.from({ length: 2 * HALF }, (_, i) => i)
    .findIndex(i => place >= x(i) && place < x(i) + cell);
  const within = (y, i) => y >= stripAt(i) - above && y < stripAt(i) + strip;
  return {
    all, isNarrow, hasRoom: cell >= 26.5, width, side: isWide ? SIDE : all, left, cell, chips, chip,
    note, strip, above, stripAt, heading, bars, high, bottom, x,
    ends: bars + high + 22,
    middle: i => x(i) + cell / 2,
    at: (place, y) => ({
      column: y > chips - 4 ? columnAt(place) : -1,
      strip: [0, 1, 2, 3].findIndex(i => within(y, i)),
    }),
  };
}
