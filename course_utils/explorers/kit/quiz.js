// A quiz: each answer says at once whether it is right, and why.

import { choices } from "./choices.js";
import { explorer } from "./explorer.js";
import { LETTERS, caption, compute } from "./quiz.compute.js";
import style from "./quiz.css";
import { freshId, html, set } from "./svg.js";

export default explorer({ mount, compute, caption, style });

function mount(stage, hand) {
  stage.closest(".ce").classList.replace("course-explorer", "quiz");
  const shown = hand.given.questions.map((question, i) => makeQuestion(question, i, hand));
  const line = html("code", {});
  // A saved notebook does not hold what was pressed; this line of the cell does.
  const keep = html("p", { class: "quiz-keep" }, "To keep these answers, write this in the cell: ", line);
  stage.append(...shown.map(each => each.element), keep);
  return state => {
    shown.forEach((each, i) => each.show(state.chosen[i]));
    set(line, { text: state.line });
    keep.hidden = !state.line || hand.alone;
  };
}

function makeQuestion({ prompt, options }, place, hand) {
  const id = freshId();
  const asked = html("p", { class: "quiz-prompt", id });
  asked.innerHTML = `<b>${place + 1}.</b> ${prompt}`; // the course's own, escaped by Python
  const answers = choices(options.map(each => each.text), answer, { "aria-labelledby": id });
  answers.buttons.forEach((button, i) => { button.innerHTML = options[i].label; });
  const said = html("p", { class: "quiz-said", role: "status" });

  function answer(text) {
    const at = options.findIndex(each => each.text === text);
    hand.change({ [place + 1]: LETTERS[at] });
  }

  return { element: html("div", { class: "quiz-question" }, asked, answers.element, said), show(option) {
    answers.show(option?.text);
    said.className = `quiz-said ${option ? `quiz-${option.correct ? "right" : "wrong"}` : ""}`;
    said.hidden = !option;
    const words = option ? `<b>${option.correct ? "Right." : "Not that one."}</b> ${option.why}` : "";
    if (said.innerHTML !== words) said.innerHTML = words;
  } };
}
