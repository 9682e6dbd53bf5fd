// Guesses that the browser keeps for this reader: by lecture and prediction, in the page's storage.

const EVENT = "course-guess";

/** What was guessed before; null where nothing was, or where a page may keep nothing. */
export function recall(key) {
  try {
    return window.localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keep a guess, or forget it where it is empty, and tell the page's other cells. */
export function remember(key, guess) {
  try {
    if (guess) window.localStorage.setItem(key, guess);
    else window.localStorage.removeItem(key);
  } catch {
    // A page without storage forgets when it is closed.
  }
  window.dispatchEvent(new CustomEvent(EVENT, { detail: { key, guess } }));
}

/** Call `heard(key, guess)` for every guess on this page; returns what ends it. */
export function onGuess(heard) {
  const hear = ({ detail }) => heard(detail.key, detail.guess);
  window.addEventListener(EVENT, hear);
  return () => window.removeEventListener(EVENT, hear);
}
