// Every prediction of a lecture: what the reader guessed, beside what came out.

import { compute } from "./draw.compute.js";
import { explorer } from "./explorer.js";
import { isRight } from "./predict.compute.js";
import style from "./guesses.css";
import { onGuess, recall, remember } from "./remembered.js";
import { html } from "./svg.js";
import { number } from "./words.js";

export default explorer({ mount, style });

function mount(stage, hand) {
  stage.closest(".ce").classList.replace("course-explorer", "guesses");
  const { rows } = hand.given;
  const guesses = new Map(rows.map(row => [row.key, recall(row.key) ?? row.guess]));
  const shown = rows.map(row => [row, html("td")]);
  const head = ["prediction", "your guess", "what came out"];
  const table = html("table", {},
    html("thead", {}, html("tr", {}, ...head.map(text => html("th", { scope: "col" }, text)))),
    html("tbody", {}, ...shown.map(([row, cell]) => rowOf(row, cell))));
  const forget = html("button", { type: "button" }, "Forget my guesses");
  forget.addEventListener("click", () => rows.forEach(({ key }) => remember(key, "")));
  stage.append(table, forget);
  const write = () => {
    for (const [row, cell] of shown) {
      const guess = guesses.get(row.key);
      writeGuess(row, cell, guess);
      // On the site who jumps to the end has not been asked yet.
      cell.parentElement.classList.toggle("guesses-asked", Boolean(guess) || !hand.alone);
    }
    forget.hidden = ![...guesses.values()].some(Boolean);
  };
  hand.onClose(onGuess((key, guess) => {
    if (guesses.has(key)) guesses.set(key, guess);
    write();
  }));
  return write;
}

function rowOf({ question, answer, shown }, cell) {
  const asked = html("th", { scope: "row" }, question, html("p", {}, answer));
  return html("tr", {}, asked, cell, html("td", {}, html("b", {}, shown)));
}

function writeGuess(row, cell, guess) {
  cell.className = guess ? "" : "guesses-none";
  if (guess && row.curve) {
    cell.replaceChildren(`off by ${distanceOf(row, guess)}`);
    return;
  }
  const right = guess && isRight(row, guess);
  const mark = right ? [" ", html("span", { role: "img", "aria-label": "right" }, "✓")] : [];
  cell.replaceChildren(guess ? [guess, row.unit].filter(Boolean).join(" ") : "no guess", ...mark);
}

/** How far a curve that was drawn is from what came out, on average. */
function distanceOf({ curve }, guess) {
  const { gap } = compute({ guess }, { curve });
  return curve.y.log ? `a factor of ${number(gap, 1)}` : number(gap, curve.y.digits);
}
