"""Quizzes: answered as widgets, read as a page, and what the course's own must hold."""

import re
from html.parser import HTMLParser

import pytest

from course_utils.lectures.l00_start_here.quiz import QUIZ as QUIZ_00
from course_utils.lectures.l01_scaling.quiz import QUIZ as QUIZ_01
from course_utils.lectures.l02_softmax.quiz import QUIZ as QUIZ_02
from course_utils.lectures.l03_heads.quiz import QUIZ as QUIZ_03
from course_utils.lectures.l04_positions.quiz import QUIZ as QUIZ_04
from course_utils.lectures.l05_causal_mask.quiz import QUIZ as QUIZ_05
from course_utils.lectures.l06_gpt2_block.quiz import QUIZ as QUIZ_06
from course_utils.lectures.l07_dynamic_pruning.quiz import QUIZ as QUIZ_07
from course_utils.lectures.l08_flash_attention_tiling.quiz import QUIZ as QUIZ_08
from course_utils.teaching import Option, Question, Quiz
from tests.support_errors import raises_saying

QUIZZES = {
    "00": QUIZ_00,
    "01": QUIZ_01,
    "02": QUIZ_02,
    "03": QUIZ_03,
    "04": QUIZ_04,
    "05": QUIZ_05,
    "06": QUIZ_06,
    "07": QUIZ_07,
    "08": QUIZ_08,
}
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

    def test_each_display_starts_anew(self, live):
        live.questions[0].radio.value = 1
        assert SMALL.live().questions[0].radio.value is None


class TestRecorded:
    """A saved notebook keeps no clicks: the line that records answers does."""

    def test_the_line_appears_with_the_first_checked_answer_and_follows(self, live):
        assert live.keep.value == ""
        live.questions[1].radio.value = 0
        assert live.keep.value == ""
        live.questions[1].button.click()
        assert text_of(live.keep).endswith('write this in the cell: QUIZ.with_answers("- a")')
        live.questions[0].radio.value = 2
        live.questions[0].button.click()
        assert text_of(live.keep).endswith('QUIZ.with_answers("c a")')
        live.questions[1].radio.value = 1
        assert text_of(live.keep).endswith('QUIZ.with_answers("c -")')

    def test_the_line_brings_the_answers_back(self, live):
        for question, place in zip(live.questions, (1, 1), strict=True):
            question.choose(place)
        line = text_of(live.keep).partition("cell: ")[2]
        again = eval(line, {"QUIZ": SMALL}).live()
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

    @pytest.mark.parametrize(
        ("letters", "message"),
        [
            (
                "a",
                "letters must hold one for each of the 2 questions, with '-' for none; got 'a'",
            ),
            ("a c", "letters must be of a, b or '-', got 'c' for 'And now?'"),
            ("1 a", "letters must be of a, b, c or '-', got '1' for 'Is it?'"),
        ],
    )
    def test_other_letters_are_refused(self, letters, message):
        with raises_saying(ValueError, message):
            SMALL.with_answers(letters)

    def test_what_is_no_text_is_refused(self):
        with raises_saying(TypeError, "letters must be a text such as 'b - a', got ['a', 'b']"):
            SMALL.with_answers(["a", "b"])


class Page(HTMLParser):
    """Checks that tags are balanced and collects what stands inside <details>."""

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
        if "details" in self.open:
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
        assert "reason" not in page.shown and "right" not in page.shown
        assert "a, wrong. one reason" in page.folded
        assert "b, right. because dk" in page.folded

    def test_the_text_gives_no_answer_away(self):
        assert repr(SMALL) == (
            "Quiz: Small\n\n1. Is it?\n   a) no\n   b) yes\n   c) never < 1\n\n"
            "2. And now?\n   a) yes\n   b) no"
        )


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ((YES,), "options must number 2 to 8, got 1"),
            ((NO, NEVER), "options must hold exactly one right answer, got 0"),
            ((YES, YES), "options must hold exactly one right answer, got 2"),
            ((NO, NO, YES), "options must differ, got one twice in 'Q'"),
            ((YES, Option("x", " ")), "why must explain the option, got nothing for 'x'"),
        ],
    )
    def test_a_question_that_cannot_be_asked_is_refused(self, options, message):
        with raises_saying(ValueError, message):
            Question("Q", options)

    def test_an_empty_quiz_is_refused(self):
        with raises_saying(ValueError, "questions must hold at least one, got none for 'Empty'"):
            Quiz("Empty", ())


@pytest.mark.parametrize("quiz", QUIZZES.values(), ids=QUIZZES)
class TestLectures:
    def test_there_are_three_to_five_questions_with_four_options(self, quiz):
        assert 3 <= len(quiz.questions) <= 5
        assert all(len(question.options) == 4 for question in quiz.questions)

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

    def test_the_page_is_well_formed(self, quiz):
        page = Page(quiz.html())
        assert page.problems == [] and page.open == []


class TestFacts:
    """The numbers that the quizzes state, computed."""

    def test_three_words(self):
        import torch

        weights = torch.softmax(torch.tensor([0.65, 0.45, 0.30]), 0)
        assert [round(w, 3) for w in weights.tolist()] == [0.396, 0.324, 0.279]
        printed = [0.348, 0.325, 0.327]
        assert printed[2] > printed[1] and sum(printed) == pytest.approx(1.0)

    def test_convolutions(self):
        plain = next(layers for layers in range(99) if 1 + 2 * layers >= 65)
        dilated = next(layers for layers in range(99) if 1 + 2 * (2**layers - 1) >= 65)
        assert (plain, dilated) == (32, 6)

    def test_a_mean_of_one_makes_the_variance_three(self):
        import torch

        generator = torch.Generator().manual_seed(0)
        q, k = torch.randn(2, 200_000, generator=generator) + 1
        # The kurtosis of this product is below 12: five relative errors of √(11/n) = 0.75 %.
        assert (q * k).var().item() == pytest.approx(3.0, rel=0.04)

    def test_correlation(self):
        import torch

        generator = torch.Generator().manual_seed(0)
        q, noise = torch.randn(2, 5_000, 64, generator=generator)
        k = 0.5 * q + (1 - 0.25) ** 0.5 * noise
        # One score has a standard deviation of √(1 + ρ²) = 1.12; five errors of 1.12/√n.
        assert ((q * k).sum(-1) / 8).mean().item() == pytest.approx(4.0, abs=0.08)

    def test_random_cosines_in_64_dimensions(self):
        import torch

        generator = torch.Generator().manual_seed(0)
        q, k = torch.nn.functional.normalize(
            torch.randn(2, 20_000, 64, generator=generator), dim=-1
        )
        within = ((q * k).sum(-1).abs() < 0.25).float().mean().item()
        assert within == pytest.approx(19 / 20, abs=0.01)

    def test_bytes_of_both_forms(self):
        from course_utils.lectures.l08_flash_attention_tiling.experiments.traffic import (
            naive_forward,
            tiled_forward,
        )

        tiled = tiled_forward(4096, 4096, 64, block_m=128, block_n=64)
        naive = naive_forward(4096, 4096, 64)
        assert [round(cost.bytes / 1e6) for cost in (tiled, naive)] == [35, 136]
        assert tiled.matmul_flops == naive.matmul_flops

    def test_bytes_of_the_weights_in_16_bits(self):
        assert round(2 * 4096 * 4096 / 1e6) == 34

    def test_the_traffic_of_keys_halves_with_twice_the_queries_in_a_tile(self):
        from course_utils.lectures.l08_flash_attention_tiling.experiments.traffic import (
            tiled_forward,
        )

        N, D = 4096, 64
        rows = 2 * 2 * N * D + 4 * N  # q, out and lse, which do not depend on the tiles
        tall, wide = (
            tiled_forward(N, N, D, block_m=M, block_n=8192 // M).bytes - rows for M in (128, 64)
        )
        assert wide == 2 * tall

    def test_causal_tiles(self):
        from course_utils.masks import causal_mask

        tiles = causal_mask(1024).unfold(0, 128, 128).unfold(1, 128, 128)
        visible = tiles.float().mean(dim=(-2, -1))
        whole, none = int((visible == 1).sum()), int((visible == 0).sum())
        assert (whole, 64 - whole - none, none) == (28, 8, 28)
