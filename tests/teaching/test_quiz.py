"""Quizzes: answered as widgets, read as a page."""

import itertools
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest
from ipywidgets import Widget
from ipywidgets.widgets.widget import _instances

from course_utils.explorers import shown
from course_utils.teaching import Option, Question, Quiz
from course_utils.teaching.quiz import read_quiz

LIVE = "application/vnd.jupyter.widget-view+json"

YES = Option("yes", "because d_k", correct=True)
NO = Option("no", "one reason")
NEVER = Option("never < 1", "another reason")
SMALL = Quiz("Small", (Question("Is it?", (NO, YES, NEVER)), Question("And now?", (YES, NO))))


def text_of(widget):
    """The text that a HTML widget shows."""
    return re.sub("<[^>]*>", "", widget.value)


@pytest.fixture
def live():
    return SMALL.live()


class TestLive:
    def test_nothing_is_chosen_or_said_at_first(self, live):
        for question in live.questions:
            assert question.radio.value is None
            assert question.feedback.value == ""
        assert text_of(live.score) == "0 of 2 right."

    def test_check_without_a_choice_asks_for_one(self, live):
        live.questions[0].button.click()
        assert text_of(live.questions[0].feedback) == "Nothing chosen. Choose an answer first."

    @pytest.mark.parametrize(
        ("choice", "said"),
        [
            (0, "Not that one. one reason"),
            (1, "Right. because dk"),
            (2, "Not that one. another reason"),
        ],
    )
    def test_every_choice_is_explained(self, live, choice, said):
        question = live.questions[0]
        question.radio.value = choice
        assert question.feedback.value == ""
        question.button.click()
        assert text_of(question.feedback) == said

    def test_a_new_choice_clears_the_explanation_and_the_score(self, live):
        question = live.questions[0]
        question.radio.value = 1
        question.button.click()
        assert text_of(live.score) == "1 of 2 right."
        question.radio.value = 0
        assert question.feedback.value == ""
        assert text_of(live.score) == "0 of 2 right."

    def test_the_score_counts_right_answers(self, live):
        live.questions[0].radio.value = 2
        live.questions[0].button.click()
        assert text_of(live.score) == "0 of 2 right."
        for question, choice in zip(live.questions, (1, 0), strict=True):
            question.radio.value = choice
            question.button.click()
        assert text_of(live.score) == "2 of 2 right."


class TestRecorded:
    """A saved notebook keeps no clicks: the line that records answers does."""

    def test_the_line_appears_with_the_first_checked_answer_and_follows(self, live):
        assert live.keep.value == ""
        live.questions[1].radio.value = 0
        assert live.keep.value == ""
        live.questions[1].button.click()
        assert text_of(live.keep).endswith(
            'write this in the cell: exercises.QUIZ.with_answers("- a")'
        )
        live.questions[0].radio.value = 2
        live.questions[0].button.click()
        assert text_of(live.keep).endswith('exercises.QUIZ.with_answers("c a")')
        live.questions[1].radio.value = 1
        assert text_of(live.keep).endswith('exercises.QUIZ.with_answers("c -")')

    def test_the_line_brings_the_answers_back(self, live):
        for question, place in zip(live.questions, (1, 1), strict=True):
            question.choose(place)
        line = text_of(live.keep).partition("cell: ")[2]
        again = eval(line, {"exercises": SimpleNamespace(QUIZ=SMALL)}).live()
        assert [question.radio.value for question in again.questions] == [1, 1]
        assert text_of(again.questions[1].feedback) == "Not that one. one reason"
        assert text_of(again.score) == "1 of 2 right." and again.keep.value == live.keep.value

    @pytest.mark.parametrize("letters", ["c -", "c-", " C - "])
    def test_letters_may_stand_apart_or_not(self, letters):
        assert SMALL.with_answers(letters).chosen == (2, None)

    def test_the_page_and_the_text_stay_as_they_are(self):
        recorded = SMALL.with_answers("a b")
        assert recorded.html() == SMALL.html() and repr(recorded) == repr(SMALL)
        assert SMALL.chosen == ()


class TestClosed:
    @pytest.fixture
    def run(self, monkeypatch):
        """Run a cell that shows the quiz, as a kernel would; return the new widgets' models."""
        runs = itertools.count()

        def run(cell):
            header = {"metadata": {"cellId": cell}, "header": {"msg_id": str(next(runs))}}
            kernel = SimpleNamespace(get_parent=lambda channel: header)
            monkeypatch.setattr(shown, "get_ipython", lambda: SimpleNamespace(kernel=kernel))
            before = {*_instances}
            SMALL._repr_mimebundle_()
            return {*_instances} - before

        return run

    def test_a_cell_that_runs_again_closes_what_it_showed(self, run):
        first, other = run("a"), run("b")
        assert len(first) == len(other) > 10
        again = run("a")
        assert len(again) == len(first)
        assert first.isdisjoint(_instances) and other < {*_instances}

    def test_a_quiz_shows_again_after_all_widgets_were_closed(self, run):
        Widget.close_all()
        assert SMALL._repr_mimebundle_()[LIVE]["model_id"] in _instances


class Page(HTMLParser):
    """Checks that tags are balanced and collects what <details> shows only when it is open."""

    def __init__(self, html):
        super().__init__()
        self.open, self.folded, self.shown, self.problems = [], "", "", []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")

    def handle_data(self, data):
        if "details" in self.open and "summary" not in self.open:
            self.folded += data
        else:
            self.shown += data


class TestPage:
    def test_the_bundle_has_the_widget_the_page_and_fixed_text(self):
        bundle = SMALL._repr_mimebundle_()
        assert set(bundle) == {LIVE, "text/html", "text/plain"}
        again = SMALL._repr_mimebundle_()
        assert bundle["text/html"] == again["text/html"]
        assert bundle["text/plain"] == again["text/plain"]
        assert bundle[LIVE]["model_id"] != again[LIVE]["model_id"]

    def test_answers_are_folded_and_questions_are_not(self):
        page = Page(SMALL.html())
        assert page.problems == [] and page.open == []
        assert "Is it?" in page.shown and "never < 1" in page.shown
        assert "reason" not in page.shown and "Right" not in page.shown
        assert "Not that one. one reason" in page.folded
        assert "Right. because dk" in page.folded

    def test_the_text_gives_no_answer_away(self):
        assert repr(SMALL) == (
            "Quiz: Small\n\n1. Is it?\n   a) no\n   b) yes\n   c) never < 1\n\n"
            "2. And now?\n   a) yes\n   b) no"
        )


def test_a_quiz_is_read_from_its_file(tmp_path):
    file = tmp_path / "quiz.toml"
    file.write_text(
        """
title = "Small"

[[questions]]
prompt = "And now?"

[[questions.options]]
text = "yes"
why = \"""
because \\
d_k\"""
correct = true

[[questions.options]]
text = "no"
why = "one reason"
""",
        encoding="utf-8",
    )
    assert read_quiz(file) == Quiz("Small", (Question("And now?", (YES, NO)),))
