"""Lecture 02's exercises: each named wrong idea gets its own diagnosis, and the references hold."""

import pytest
import torch

from course_utils.attention import effective_tokens, softmax_jacobian
from course_utils.lectures.l02_softmax.exercises.entropy_gradient import (
    ENTROPY_GRADIENT,
    ENTROPY_RANGE,
    check_entropy_gradient,
)
from course_utils.lectures.l02_softmax.exercises.jacobian_product import (
    JACOBIAN_PRODUCT,
    check_jacobian_product,
)
from course_utils.lectures.l02_softmax.exercises.softmax import (
    SOFTMAX,
    SOFTMAX_HIDDEN,
    SOFTMAX_RANGE,
    check_softmax,
)
from tests.lectures.l02_softmax.support_wrong_answers_02 import (
    RIGHT_ENTROPY_GRADIENT,
    RIGHT_PRODUCT,
    RIGHT_SOFTMAX,
    WRONG_ENTROPY_GRADIENT,
    WRONG_PRODUCT,
    WRONG_SOFTMAX,
    entropy_with,
    long_way_round,
    matrix_product,
    outer_product,
    softmax_of_columns,
    two_lines,
)
from tests.teaching.support_diagnoses import diagnoses, published

LECTURE = "02_softmax.ipynb"

STAGES = {
    check_softmax: (SOFTMAX, SOFTMAX_RANGE, SOFTMAX_HIDDEN),
    check_jacobian_product: (JACOBIAN_PRODUCT,),
    check_entropy_gradient: (ENTROPY_GRADIENT, ENTROPY_RANGE),
}

TestDiagnoses = diagnoses(
    STAGES,
    wrong={
        check_softmax: WRONG_SOFTMAX,
        check_jacobian_product: WRONG_PRODUCT,
        check_entropy_gradient: WRONG_ENTROPY_GRADIENT,
    },
    right={
        check_softmax: RIGHT_SOFTMAX,
        check_jacobian_product: RIGHT_PRODUCT,
        check_entropy_gradient: RIGHT_ENTROPY_GRADIENT,
    },
)

TestPublished = published(
    LECTURE,
    STAGES,
    {
        check_softmax: "softmax",
        check_jacobian_product: "jacobian_product",
        check_entropy_gradient: "entropy_gradient",
    },
)


class TestSoftmax:
    @pytest.mark.parametrize("stage", STAGES[check_softmax], ids=["small", "large", "hidden"])
    def test_the_reference_is_the_formula_in_float64(self, stage):
        for probe in stage.probes:
            scores = probe["scores"].double()
            # 1 / Σ_j exp(s_j − s_i): where a gap is too much for float64, 1/∞ is 0, as it should.
            gaps = scores.unsqueeze(-2) - scores.unsqueeze(-1)
            expected = (1 / gaps.exp().sum(-1)).masked_fill(scores == -torch.inf, 0.0)
            weights = stage.reference(**probe).double()
            torch.testing.assert_close(weights, expected, rtol=1e-5, atol=1e-7)

    def test_the_probes_hold_what_they_are_for(self):
        ranks = [probe["scores"].ndim for probe in SOFTMAX.probes]
        assert sorted(ranks) == [1, 2, 3]
        large = SOFTMAX_RANGE.probes[0]["scores"]
        assert large.amax(-1).gt(88.8).any() and large.amax(-1).lt(-104).any()
        assert torch.exp(large.double().amax()).isinf()
        hidden = torch.cat([probe["scores"].flatten() for probe in SOFTMAX_HIDDEN.probes])
        assert (hidden == -torch.inf).any() and hidden.isfinite().any()
        assert all(p["scores"].amax(-1).isfinite().all() for p in SOFTMAX_HIDDEN.probes)

    def test_the_limits_that_the_messages_state(self):
        assert torch.exp(torch.tensor([88.72, 88.73])).isinf().tolist() == [False, True]
        assert torch.exp(torch.tensor(-104.0)) == 0 < torch.exp(torch.tensor(-87.0))
        doubles = torch.tensor([709.7, 709.8], dtype=torch.float64)
        assert torch.exp(doubles).isinf().tolist() == [False, True]

    @pytest.mark.parametrize(
        ("answer", "quoted"),
        [
            (lambda s: s.softmax(0).nan_to_num(), "Your softmax runs over the first axis"),
            (lambda s: softmax_of_columns(s) * 1.0, "Your softmax runs over the first axis"),
            (lambda s: s.exp() / s.exp().sum(0), "Your softmax runs over the first axis"),
            (two_lines(power=2), "Your exponentials have base 2"),
            (two_lines(lambda s: s.median()), "With scores of shape (6, 3): `weights` is NaN"),
        ],
        ids=["with NaN replaced", "stable", "unstable", "base", "median"],
    )
    def test_whoever_is_wrong_twice_hears_of_one_thing(self, answer, quoted):
        message = check_softmax(answer).message
        assert quoted in message
        assert "88.73" not in message

    def test_scores_that_are_changed_in_place_do_no_harm(self):
        def softmax(scores):
            scores -= scores.amax(-1, keepdim=True)
            return scores.exp_().div_(scores.sum(-1, keepdim=True))

        assert check_softmax(softmax).passed and check_softmax(softmax).passed


class TestJacobianProduct:
    @pytest.mark.parametrize("probe", JACOBIAN_PRODUCT.probes[:3])
    def test_the_reference_is_the_librarys_matrix_times_u(self, probe):
        p, u = probe.values()
        expected = (softmax_jacobian(p) @ u.unsqueeze(-1)).squeeze(-1)
        torch.testing.assert_close(JACOBIAN_PRODUCT.reference(p, u), expected)

    def test_the_reference_is_what_finite_differences_show(self):
        z, u, step = torch.randn(5, 7).double(), torch.randn(5, 7).double(), 1e-6
        difference = (z + step * u).softmax(-1) - (z - step * u).softmax(-1)
        expected = JACOBIAN_PRODUCT.reference(z.softmax(-1), u)
        # The error of a central difference is of order step²; rounding gives 1e-16 / step.
        torch.testing.assert_close(difference / (2 * step), expected, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("answer", [matrix_product, outer_product])
    def test_a_matrix_is_noticed_though_the_numbers_are_right(self, answer):
        verdict = check_jacobian_product(answer)
        assert (verdict.passed, verdict.started) == (False, True)
        assert verdict.message.startswith("The numbers are right. For a row of 509")
        assert "a matrix of 509×509" in verdict.message
        assert verdict.exercise == JACOBIAN_PRODUCT.heading

    def test_a_few_rows_of_the_matrix_at_a_time_are_no_matrix(self):
        def jacobian_product(p, u):
            blocks = []
            for some, own in zip(p.split(101, -1), (p * u).split(101, -1), strict=True):
                rows = some.unsqueeze(-1) * p.unsqueeze(-2)
                blocks.append(own - (rows @ u.unsqueeze(-1)).squeeze(-1))
            return torch.cat(blocks, -1)

        assert check_jacobian_product(jacobian_product).passed


class TestEntropyGradient:
    @pytest.mark.parametrize("stage", STAGES[check_entropy_gradient], ids=["near", "far"])
    def test_the_reference_is_what_autograd_gives(self, stage):
        for probe in stage.probes:
            z = probe["z"].double().requires_grad_()
            H = effective_tokens(z.softmax(-1)).log()
            (expected,) = torch.autograd.grad(H.sum(), z)
            torch.testing.assert_close(stage.reference(z.detach()), expected, rtol=1e-9, atol=1e-12)

    def test_it_is_0_where_weights_are_alike_and_at_a_vertex(self):
        z = torch.tensor([[3.0, 3.0, 3.0], [0.0, 500.0, 1.0]])
        gradient = ENTROPY_GRADIENT.reference(z)
        # ln 3 rounds to 1e-7 in float32.
        torch.testing.assert_close(gradient, torch.zeros(2, 3), rtol=0, atol=1e-7)

    def test_a_weight_above_exp_minus_H_has_a_negative_entry(self):
        for probe in ENTROPY_GRADIENT.probes:
            p = probe["z"].softmax(-1)
            above = p > 1 / effective_tokens(p).unsqueeze(-1)
            assert torch.equal(ENTROPY_GRADIENT.reference(probe["z"]) < 0, above)

    @pytest.mark.parametrize(
        ("answer", "quoted"),
        [
            (long_way_round, "0·(−∞) is NaN"),
            (entropy_with(lambda p, log_p, H: p * (log_p + H)), "has the other sign"),
            (
                entropy_with(lambda p, log_p, H: -p * (log_p + H), log=lambda p: (p + 0.1).log()),
                "you gave",
            ),
        ],
        ids=["through exercise 2", "sign and NaN", "a large epsilon"],
    )
    def test_other_roads_to_a_mistake(self, answer, quoted):
        assert quoted in check_entropy_gradient(answer).message


class TestQuizFacts:
    """The numbers that the quiz states, computed."""

    def test_a_sum_overflows_before_its_terms(self):
        terms = torch.exp(torch.full((64,), 85.0))
        assert terms.isfinite().all() and f"{terms[0]:.1e}" == "8.2e+36"
        assert (terms / terms.sum()).tolist() == [0.0] * 64
        assert f"{torch.finfo(torch.float32).max:.1e}" == "3.4e+38"

    def test_the_printed_row(self):
        weights = torch.softmax(torch.tensor([1.0, 2.0, -torch.inf, 3.0]), 0)
        assert [round(w, 4) for w in weights.tolist()] == [0.09, 0.2447, 0.0, 0.6652]
        assert sum([0.0116, 0.0315, 0.8569]) == pytest.approx(0.9)

    def test_norms_of_the_jacobian(self):
        def norm(p):
            return softmax_jacobian(p.double()).norm(dim=(-2, -1))

        assert norm(torch.full((64,), 1 / 64)).item() == pytest.approx(63**0.5 / 64)
        assert round(63**0.5 / 64, 3) == 0.124
        assert norm(torch.tensor([0.5, 0.0, 0.5])).item() == pytest.approx(0.5)
        spread, pair = torch.full((1000,), 0.01 / 999), torch.zeros(1000)
        spread[0] = pair[0] = 0.99
        pair[1] = 0.01
        assert 0.0099 < norm(spread) < norm(pair) < 0.02
        for S in (2, 3, 7, 64):
            concentration = torch.full((S,), 0.3, dtype=torch.float64)
            rows = torch.distributions.Dirichlet(concentration).sample((2000,))
            # A sampled row sums to 1 within rounding.
            assert norm(rows).max() <= 0.5 + 1e-12

    def test_the_norm_rises_and_falls_on_the_way_to_a_vertex(self):
        scores = torch.randn(64, generator=torch.Generator().manual_seed(0)).double()
        rows = torch.stack([(t * scores).softmax(-1) for t in torch.arange(0, 12, 0.05).tolist()])
        norms = softmax_jacobian(rows).norm(dim=(-2, -1))
        peak = int(norms.argmax())
        assert (norms[: peak + 1].diff() > 0).all() and (norms[peak:].diff() < 0).all()
        assert 0.4 < rows[peak].max() < 0.65

    @staticmethod
    def _gradient(scaled, seed):
        """The gradient of W_q (32, 64, 64), and the weights, at initialisation."""
        draw = torch.Generator().manual_seed(seed)
        x, cotangent = torch.randn(2, 32, 64, 64, generator=draw)
        w_q, w_k, w_v = torch.randn(3, 64, 64, generator=draw) / 8
        w_q = w_q.expand(32, 64, 64).clone().requires_grad_()
        q = x @ w_q
        q.retain_grad()
        scores = q @ (x @ w_k).mT * (0.125 if scaled else 1.0)
        weights = scores.softmax(-1)
        (weights @ (x @ w_v) * cotangent).sum().backward()
        return w_q.grad.sum(0).norm(), q.grad.norm(dim=-1).flatten(), weights.detach()

    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_without_the_scale_the_gradient_grows_and_becomes_uneven(self, seed):
        total, rows, weights = self._gradient(scaled=False, seed=seed)
        scaled_total, scaled_rows, _ = self._gradient(scaled=True, seed=seed)
        assert 7 < total / scaled_total < 13

        def held_by_a_fifth(norms):
            return (norms.sort().values.flip(0)[: len(norms) // 5].sum() / norms.sum()).item()

        # 2048 queries, but one pair of matrices a seed: seeds differ by a few hundredths.
        assert held_by_a_fifth(rows) == pytest.approx(0.58, abs=0.03)
        assert held_by_a_fifth(scaled_rows) == pytest.approx(0.30, abs=0.03)
        top = weights.amax(-1)
        assert top.mean().item() == pytest.approx(0.79, abs=0.03)
        assert (top > 0.99).float().mean().item() == pytest.approx(0.18, abs=0.04)
        assert (top * (1 - top)).mean().item() == pytest.approx(0.12, abs=0.02)

    def test_words_that_hold_nine_tenths(self):
        logits = torch.tensor([3.2, 2.6, 2.1, 1.9, 1.2, -0.5, -2.0, -4.0])
        for temperature, words in ((0.5, 3), (1.0, 4), (2.0, 5)):
            held = (logits / temperature).softmax(-1).cumsum(0)
            assert int((held < 0.9).sum()) + 1 == words
