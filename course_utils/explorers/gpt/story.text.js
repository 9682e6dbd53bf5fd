// A story as the model reads it: its words and signs, those it does not know, and what can be asked.

const PIECES = /[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]/gu;
const SIGN = /^[.,?]$/;
export const END = "\n"; // before each story, and where it ends

/**
 * The pieces of a text: { word, id }, and null as the id of a word that the model does not know,
 * or for which it has no room. `ids` are those that it reads, from the end of the line before.
 */
export function readStory(text, words, longest) {
  const known = idsOf(words);
  const ids = [known.get(END)];
  const pieces = piecesOf(text).map(word => {
    const id = ids.length < longest ? known.get(word) ?? null : null;
    if (id !== null) ids.push(id);
    return { word, id, isKnown: known.has(word) };
  });
  return { pieces, ids };
}

/** Words and signs as they are typed; a first letter may be small or large, if one is a word. */
export const spelled = (text, words) => piecesOf(text).map(piece => {
  const lower = piece.toLowerCase();
  const forms = [piece, lower, lower[0].toUpperCase() + lower.slice(1)];
  return forms.find(each => words.includes(each)) ?? piece;
});

/** The words and signs of a text. */
export const piecesOf = text => text.match(PIECES) ?? [];

/** Words as one text: a space between two, and none before a sign. */
export const joined = words => words.reduce((text, word) =>
  text + (text && !SIGN.test(word) ? " " : "") + word, "");

const found = new WeakMap();

function idsOf(words) {
  if (!found.has(words)) found.set(words, new Map(words.map((word, id) => [word, id])));
  return found.get(words);
}

/** The words with the fewest letters to change. */
export function nearest(word, words, count = 3) {
  const lower = word.toLowerCase();
  const far = words.filter(each => /\w/.test(each))
    .map(each => [distance(lower, each.toLowerCase()), each]);
  return far.sort(([one], [other]) => one - other).slice(0, count).map(([, each]) => each);
}

/** How many letters to add, to leave out or to replace (Levenshtein). */
function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (let i = 0; i < one.length; i += 1) {
    const next = [i + 1];
    for (let j = 0; j < other.length; j += 1) {
      const changed = row[j] + Number(one[i] !== other[j]);
      next.push(Math.min(changed, row[j + 1] + 1, next[j] + 1));
    }
    row = next;
  }
  return row[other.length];
}

/** What can be asked about the thing that was named last: { label, text }, without text if nothing. */
export function questions(told, { things, he, she }) {
  const thing = told.findLast(word => things.includes(word));
  const receiver = thing && lastGiven(told, [...he, ...she], { him: he, her: she });
  const ask = (label, text) => ({ label, text: thing ? text : "" });
  return [
    ask("Who has it?", `Who has the ${thing}?`),
    ask("Where is it?", `Where is the ${thing}?`),
    ask("What colour?", `What colour is the ${thing}?`),
    receiver ? ask("Who gave it?", `Who gave the ${thing} to ${receiver}?`)
      : ask("Who found it?", `Who found the ${thing}?`),
  ];
}

/** To whom a thing was given last: a name, or whom *him* or *her* means. */
function lastGiven(told, people, meant) {
  for (let at = told.length - 1; at > 0; at -= 1) {
    if (told[at - 1] !== "to") continue;
    const start = told.lastIndexOf(".", at) + 1;
    if (!told.slice(start, at).includes("gave") || told[start] === "Who") continue;
    if (people.includes(told[at])) return told[at];
    const before = told.slice(0, start);
    const name = before.findLast(word => meant[told[at]]?.includes(word));
    if (name) return name;
  }
  return undefined;
}
