"""The quizzes of the lectures: their form, and the numbers that they state, computed."""

import pytest

from course_utils.lectures import COURSE
from tests.teaching.test_quiz import Page

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

    def test_the_page_is_well_formed(self, quiz):
        page = Page(quiz.html())
        assert page.problems == [] and page.open == []


class TestFacts:
    """The numbers that the quizzes state, computed."""

    def test_convolutions(self):
        plain = next(layers for layers in range(99) if 1 + 2 * layers >= 65)
        dilated = next(layers for layers in range(99) if 1 + 2 * (2**layers - 1) >= 65)
        assert (plain, dilated) == (32, 6)

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
