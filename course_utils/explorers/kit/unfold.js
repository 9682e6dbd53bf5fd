// On the site an answer is folded until the prediction above it is made.

const FOLD = /^\s*(What came out|Output)/; // of an answer; of what cells before it print
const ANSWER = /^\s*What came out/;

/** Open what a guess was about. */
export function unfold(root) {
  onceThere(() => foldsOf(root).forEach(fold => { fold.open = true; }));
}

/** Call `tell` with the fold of a prediction's answer, where the page has one. */
export function atAnswer(root, tell) {
  onceThere(() => {
    const folds = foldsOf(root);
    const answer = folds.find(each => ANSWER.test(each.textContent)) ?? folds.at(-1);
    if (answer) tell(answer);
  });
}

/** The folds up to the next heading or the next prediction. */
function foldsOf(root) {
  const asked = root.closest(".course-asked");
  if (!asked) return [];
  const found = [...document.querySelectorAll(".course-asked, details, h1, h2, h3, strong")];
  const ofPage = each => each.matches(".course-asked") || !each.closest(".ce"); // not of a picture
  const later = found.slice(found.indexOf(asked) + 1).filter(ofPage);
  const isNext = ({ tagName, textContent }) => tagName !== "DETAILS" &&
    (tagName !== "STRONG" || textContent.startsWith("Predict"));
  const end = later.findIndex(isNext);
  return later.slice(0, end < 0 ? later.length : end)
    .filter(each => each.tagName === "DETAILS" && FOLD.test(each.textContent));
}

/** What comes below a prediction is not there while the page is read. */
function onceThere(act) {
  if (document.readyState !== "loading") act();
  else document.addEventListener("DOMContentLoaded", act, { once: true });
}
