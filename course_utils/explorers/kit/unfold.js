// On the site an answer is folded until the prediction above it is made.

const ANSWER = /^\s*(What came out|Output)/; // the fold of an answer; of what cells before it print

/** Open what a guess was about: up to the next heading or the next prediction. */
export function unfold(root) {
  const asked = root.closest(".course-asked");
  if (!asked) return;
  if (document.readyState === "loading") { // what comes below is not there yet
    document.addEventListener("DOMContentLoaded", () => unfold(root), { once: true });
    return;
  }
  const found = [...document.querySelectorAll(".course-asked, details, h1, h2, h3, strong")];
  const ofPage = each => each.matches(".course-asked") || !each.closest(".ce"); // not of a picture
  const later = found.slice(found.indexOf(asked) + 1).filter(ofPage);
  for (const each of later) {
    const words = each.textContent;
    if (each.tagName === "DETAILS") each.open ||= ANSWER.test(words);
    else if (each.tagName !== "STRONG" || words.startsWith("Predict")) return;
  }
}
