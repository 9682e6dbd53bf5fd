"""A quiz as widgets: radio buttons, a Check button, and an explanation of what was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from course_utils.teaching.cards import card, inline

if TYPE_CHECKING:
    from course_utils.teaching.quiz import Question, Quiz

__all__ = ["LiveQuestion", "LiveQuiz"]

# A radio option of ipywidgets is one line of fixed height, its button floating after the text:
# long options would be cut off. The style sheet lets them wrap beside the button.
# Buttons that lost their kernel answer nothing, so a line says what helps.
# The radio buttons share no name, so the browser's arrow keys do not move between them, and
# JupyterLab takes arrow keys to move between cells: hence Tab and Space.
STYLE = """<style>
.course-quiz .widget-html-content { line-height: 1.5; }
.course-quiz .widget-html, .course-quiz .widget-html-content { height: auto; }
.course-quiz .widget-html-content,
.course-quiz .widget-radio-box label { font-size: var(--jp-content-font-size1, 14px); }
.course-quiz .widget-radio { width: auto; max-width: 46em; height: auto; }
.course-quiz .widget-radio-box { margin-bottom: 0 !important; }
.course-quiz .widget-radio-box label {
  display: flex; flex-direction: row-reverse; justify-content: flex-end; align-items: baseline;
  height: auto; line-height: 1.5; white-space: normal; padding: 3px 4px; cursor: pointer;
}
.course-quiz .widget-radio-box input {
  flex: none; height: auto; margin: 0 10px 0 2px; float: none; position: relative; top: 1px;
}
.course-quiz .widget-radio-box label:focus-within {
  outline: 2px solid var(--jp-brand-color1, #1976d2); outline-offset: -2px; border-radius: 3px;
}
.course-quiz .widget-button { min-width: 7em; margin-left: 4px; }
.course-quiz code { user-select: all; }
.course-quiz .course-quiz-ended { display: none; }
.course-quiz.jupyter-widgets-disconnected .course-quiz-ended { display: block; }
.course-quiz.jupyter-widgets-disconnected :is(.widget-button, input) { display: none; }
.course-quiz.jupyter-widgets-disconnected::before,
.course-quiz .jupyter-widgets-disconnected::before { content: none !important; }
</style>"""
ENDED = '<div class="course-quiz-ended"><strong>Run this cell to answer.</strong></div>'


def _html(value: str = "") -> widgets.HTML:
    return widgets.HTML(value, layout=widgets.Layout(width="auto", max_width="50em"))


def _close(widget: widgets.Widget) -> None:
    """Close a widget and all that it is made of: what is in it, its layout and its style."""
    for part in (*getattr(widget, "children", ()), getattr(widget, "style", None)):
        if isinstance(part, widgets.Widget):
            _close(part)
    if isinstance(widget, widgets.DOMWidget):
        widget.layout.close()
    widget.close()


class LiveQuestion:
    """One question on the page. ``radio``, ``button`` and ``feedback`` are its widgets."""

    def __init__(self, question: Question, number: int) -> None:
        self.question = question
        self.right = False
        self.checked: int | None = None
        prompt = _html(f"<div><strong>{number}.</strong> {inline(question.prompt)}</div>")
        texts = [(option.text, index) for index, option in enumerate(question.options)]
        self.radio = widgets.RadioButtons(
            options=texts, value=None, layout=widgets.Layout(width="auto")
        )
        self.button = widgets.Button(
            description="Check",
            tooltip=f"Check the answer to question {number}",
            layout=widgets.Layout(width="auto", align_self="flex-start"),
        )
        self.feedback = _html()
        self.box = widgets.VBox(
            [prompt, self.radio, self.button, self.feedback],
            layout=widgets.Layout(margin="0 0 14px 0"),
        )
        self.button.on_click(self._check)
        self.radio.observe(self._clear, names="value")

    def choose(self, place: int) -> None:
        """Choose an option, by its place, and check it."""
        self.radio.value = place
        self._check(None)

    def _check(self, _: Any) -> None:
        """Explain the chosen option."""
        if self.radio.value is None:
            self._say("Nothing chosen.", "Choose an answer first.", "neutral")
            return
        option = self.question.options[self.radio.value]
        self.right, self.checked = option.correct, self.radio.value
        if option.correct:
            self._say("Right.", option.why, "good")
        else:
            self._say("Not that one.", option.why, "careful")

    def _clear(self, _: Any) -> None:
        """A new choice is unchecked: the explanation of the last one goes."""
        self.right, self.checked = False, None
        self.feedback.value = ""

    def _say(self, verdict: str, why: str, tone: str) -> None:
        body = f"<strong>{verdict}</strong> {inline(why)}"
        self.feedback.value = card(body, tone=tone, role="status")


class LiveQuiz:
    """All questions of a quiz and the count of right answers; ``box`` is the widget to show.

    ``keep`` shows the line that records the checked answers in the cell: a click changes nothing
    in a saved notebook.
    """

    def __init__(self, quiz: Quiz) -> None:
        self.quiz = quiz
        self.questions = [
            LiveQuestion(question, number)
            for number, question in enumerate(quiz.questions, start=1)
        ]
        self.score, self.keep = _html(), _html()
        style = widgets.HTML(STYLE, layout=widgets.Layout(display="none"))
        title = _html(
            f"<div><strong>Quiz: {inline(quiz.title)}</strong></div>"
            f"<div>By keyboard: Tab moves on, Space chooses, Enter checks.</div>{ENDED}"
        )
        self.box = widgets.VBox(
            [style, title, *(question.box for question in self.questions), self.score, self.keep],
            layout=widgets.Layout(overflow="visible"),
        )
        self.box.add_class("course-quiz")
        for question in self.questions:
            question.feedback.observe(self._count, names="value")
        self._count(None)
        for question, place in zip(self.questions, quiz.chosen, strict=False):
            if place is not None:
                question.choose(place)

    def close(self) -> None:
        """Close the widgets. Running a cell again closes what it showed before."""
        _close(self.box)

    def _count(self, _: Any) -> None:
        right = sum(question.right for question in self.questions)
        self.score.value = f'<div role="status">{right} of {len(self.questions)} right.</div>'
        self.keep.value = self._line_to_keep()

    def _line_to_keep(self) -> str:
        checked = [question.checked for question in self.questions]
        if all(place is None for place in checked):
            return ""
        line = inline(f"`{self.quiz.recording(checked)}`")
        return f"<div>To keep these answers, write this in the cell: {line}</div>"
