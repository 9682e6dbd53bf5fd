"""Quizzes: what the page says to an answer, and how answers are kept."""

from types import SimpleNamespace

import pytest

from course_utils.teaching import Option, Question, Quiz
from course_utils.teaching.quiz import read_quiz
from tests.explorers.support_browser import InBrowser

LIVE = "application/vnd.jupyter.widget-view+json"

YES = Option("yes", "because d_k", correct=True)
NO = Option("no", "one reason")
NEVER = Option("never < 1", "another reason")
SMALL = Quiz("Small", (Question("Is it?", (NO, YES, NEVER)), Question("And now?", (YES, NO))))


@pytest.fixture(scope="module")
def page():
    with InBrowser(SMALL.live()) as found:
        yield found


class TestLive:
    def test_nothing_is_chosen_at_first(self, page):
        state = page.compute()
        assert state.words == "0 of 2 right." and state.line == ""

    @pytest.mark.parametrize(
        ("letter", "right", "why"),
        [("a", 0, "one reason"), ("b", 1, "d<sub"), ("c", 0, "another reason")],
    )
    def test_every_choice_is_judged_and_explained(self, page, letter, right, why):
        state = page.compute(**{"1": letter})
        assert why in state.chosen[0]["why"] and state.words == f"{right} of 2 right."

    def test_both_questions_count(self, page):
        assert page.compute(**{"1": "b", "2": "a"}).words == "2 of 2 right."

    def test_a_press_reaches_the_kernel(self):
        live = SMALL.live()
        live.widget().values = {"1": "b", "2": "-"}
        assert live.values == {"1": "b", "2": "-"}
        live.close()


class TestRecorded:
    """A saved notebook keeps no clicks: the line that records answers does."""

    def test_the_line_follows_what_is_pressed(self, page):
        assert page.compute(**{"2": "a"}).line == 'exercises.QUIZ.with_answers("- a")'
        assert page.compute(**{"1": "c", "2": "a"}).line == 'exercises.QUIZ.with_answers("c a")'

    def test_the_line_brings_the_answers_back(self, page):
        line = page.compute(**{"1": "b", "2": "b"}).line
        again = eval(line, {"exercises": SimpleNamespace(QUIZ=SMALL)})
        assert again.live().values == {"1": "b", "2": "b"}

    @pytest.mark.parametrize("letters", ["c -", "c-", " C - "])
    def test_letters_may_stand_apart_or_not(self, letters):
        assert SMALL.with_answers(letters).chosen == (2, None)

    def test_the_text_stays_as_it_is(self):
        assert repr(SMALL.with_answers("a b")) == repr(SMALL) and SMALL.chosen == ()


class TestShown:
    def test_the_bundle_has_the_widget_and_the_questions(self):
        bundle, _ = SMALL._repr_mimebundle_()
        assert set(bundle) == {LIVE, "text/plain"} and bundle["text/plain"] == repr(SMALL)

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
