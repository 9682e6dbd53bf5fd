// Words of a text that set the picture above them: <span class="course-sets" title="a preset">.

const WORDS = ".course-sets";
let isWatched = false;

/** Let words act, from the first explorer of a page on; those that come later, too. */
export function letWordsAct() {
  if (isWatched) return;
  isWatched = true;
  document.addEventListener("click", event => press(event.target.closest?.(WORDS)));
  document.addEventListener("keydown", event => {
    const isPress = event.key === "Enter" || event.key === " ";
    if (!isPress || !event.target.matches?.(WORDS) || event.shiftKey || event.ctrlKey) return;
    event.preventDefault();
    event.stopPropagation(); // a notebook would take it for a command
    press(event.target);
  }, true);
  let frame;
  const later = () => { frame ??= requestAnimationFrame(() => { frame = undefined; mark(); }); };
  new MutationObserver(later).observe(document.body, { childList: true, subtree: true });
  mark();
}

/** Words that a picture answers to are buttons; without it they are text. */
function mark() {
  for (const word of document.querySelectorAll(WORDS)) {
    const isLive = Boolean(presetOf(word));
    if (isLive === word.hasAttribute("role")) continue;
    for (const [name, value] of [["role", "button"], ["tabindex", "0"], ["data-lm-suppress-shortcuts", ""]]) {
      if (isLive) word.setAttribute(name, value);
      else word.removeAttribute(name);
    }
  }
}

function press(word) {
  if (word) presetOf(word)?.click();
}

/** The button of the nearest picture above that has a preset of this name. */
function presetOf(word) {
  const found = [...document.querySelectorAll(".ce-presets button")].filter(button =>
    button.textContent === word.title &&
    button.compareDocumentPosition(word) & Node.DOCUMENT_POSITION_FOLLOWING);
  return found.at(-1);
}
