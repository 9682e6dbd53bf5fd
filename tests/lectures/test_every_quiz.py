"""The quizzes of the lectures: their form."""

import pytest

from course_utils.teaching.cards import inline
from course_utils.teaching.quiz import LETTERS
from lectures import COURSE
from tests.explorers.support_browser import InBrowser

QUIZZES = {lecture.stem: lecture.module("exercises").QUIZ for lecture in COURSE}


@pytest.mark.parametrize("quiz", QUIZZES.values(), ids=QUIZZES)
class TestForm:
    def test_there_are_three_to_five_questions_with_four_options(self, quiz):
        assert 3 <= len(quiz.questions) <= 5
        for question in quiz.questions:
            assert len({option.text for option in question.options}) == 4
            assert sum(option.correct for option in question.options) == 1

    def test_each_explanation_is_its_own_and_a_sentence(self, quiz):
        reasons = [option.why for question in quiz.questions for option in question.options]
        assert len(set(reasons)) == len(reasons)
        assert all(reason[-1] == "." and len(reason) >= 50 for reason in reasons)

    def test_neither_place_nor_length_gives_the_answer_away(self, quiz):
        places = [question.options.index(question.answer) for question in quiz.questions]
        assert max(places.count(place) for place in places) <= 2
        longest = [max(q.options, key=lambda option: len(option.text)) for q in quiz.questions]
        assert sum(option.correct for option in longest) < len(longest) - 1

    def test_options_are_plain_text(self, quiz):
        for question in quiz.questions:
            assert not any(set("$`<>\\") & set(option.text) for option in question.options)

    def test_the_page_calls_the_right_option_right(self, quiz):
        with InBrowser(quiz.live()) as page:
            for number, question in enumerate(quiz.questions, start=1):
                letters = LETTERS[: len(question.options)]
                states = page.states([{str(number): letter} for letter in letters])
                judged = [state.right == 1 for state in states]
                assert judged == [option.correct for option in question.options]
                told = [state.chosen[number - 1]["why"] for state in states]
                assert told == [inline(option.why) for option in question.options]
