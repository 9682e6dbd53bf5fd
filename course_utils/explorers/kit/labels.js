// Where texts are, so that one can give way to another. Measured, each would lay the page out.

const LETTER = 7.2; // pixels of a letter on average, rather too many

/** The box of a text: [left, top, right, bottom]; `letter` is wider for larger type. */
export function boxOf(x, y, words, anchor = "start", letter = LETTER) {
  const wide = letter * words.length;
  const left = x - { start: 0, middle: wide / 2, end: wide }[anchor];
  return [left, y - 12, left + wide, y + 4];
}

/** The box around a place, so far to each side. */
export const around = ([x, y], across, along = across) =>
  [x - across, y - along, x + across, y + along];

/** Whether two boxes meet. */
export const meet = (one, other) =>
  one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];

/** The first of several places, [x, y, anchor], where words meet none of the boxes; else the first. */
export function freePlace(places, words, boxes, letter) {
  const isFree = place => {
    const own = boxOf(place[0], place[1], words, place[2], letter);
    return !boxes.some(each => meet(each, own));
  };
  return places.find(isFree) ?? places[0];
}
