"""Lecture 02's exercises: right answers in other words, and references against definitions."""

import pytest
import torch
import torch.nn.functional as F

from course_utils.attention import effective_tokens, masked_softmax, softmax_jacobian
from lectures.l02_softmax.exercises import (
    check_entropy_gradient,
    check_softmax,
)
from lectures.l02_softmax.exercises.entropy_gradient import ENTROPY_GRADIENT
from lectures.l02_softmax.exercises.softmax import LARGE_SCORES, SOFTMAX

# Softmax


def hidden(scores, may_attend):
    return scores if may_attend is None else scores.masked_fill(~may_attend, -torch.inf)


def by_hand(scores, may_attend=None):
    scores = hidden(scores, may_attend)
    e = (scores - scores.max(-1, keepdim=True)[0]).exp().nan_to_num()
    return e / (e.sum(-1, keepdim=True) + 1e-9)  # an epsilon that does no harm


def in_place(scores, may_attend=None):
    scores = hidden(scores, may_attend).clamp(min=-1e30)
    scores -= scores.amax(-1, keepdim=True)
    scores.exp_().div_(scores.sum(-1, keepdim=True))
    return scores if may_attend is None else scores * may_attend


def as_the_library(scores, may_attend=None):
    """A very low number for −∞, and zeros afterwards."""
    seen = torch.ones_like(scores, dtype=torch.bool) if may_attend is None else may_attend
    weights = by_hand(scores.masked_fill(~seen, torch.finfo(scores.dtype).min))
    return weights.masked_fill(~seen, 0.0)


@pytest.mark.parametrize("answer", [by_hand, in_place, as_the_library])
def test_right_softmax_passes(answer):
    verdict = check_softmax(answer)
    assert verdict.passed and "hidden key" in verdict.message


def test_the_reference_agrees_with_the_library():
    scores = torch.randn(2, 3, 5, 7)
    mask = torch.rand(3, 5, 7) < 0.3
    mask[1, 2] = False
    for may_attend in (None, mask):
        expected = masked_softmax(scores, may_attend)
        torch.testing.assert_close(SOFTMAX.reference(scores, may_attend), expected)


def test_no_gradient_is_nan():
    scores = torch.randn(3, 4, requires_grad=True)
    seen = torch.tensor([[True, False, True, True], 4 * [False], 4 * [True]])
    (SOFTMAX.reference(scores, seen) * torch.randn(3, 4)).sum().backward()
    assert scores.grad.isfinite().all() and (scores.grad[~seen] == 0).all()


def by_log_sum_exp(scores):
    shifted = scores - scores.amax(-1, keepdim=True)  # at 10⁹ a logarithm would be rounded away
    return (shifted - shifted.logsumexp(-1, keepdim=True)).exp()


@pytest.mark.parametrize(
    "answer",
    [
        lambda scores: scores.softmax(-1),
        lambda scores: F.softmax(scores, dim=-1),
        lambda scores: torch.special.softmax(scores, -1),
        by_log_sum_exp,
        torch.nn.Softmax(dim=-1),
    ],
    ids=["method", "function", "special", "log-sum-exp", "module"],
)
def test_a_borrowed_softmax_is_noticed(answer):
    def softmax(scores, may_attend=None):
        weights = answer(hidden(scores, may_attend))
        return weights if may_attend is None else weights.nan_to_num()

    assert "torch computed them" in check_softmax(softmax).message


@pytest.mark.parametrize("stage", SOFTMAX.stages)
def test_softmax_is_the_formula(stage):
    for probe in stage.probes:
        scores = hidden(probe["scores"].double(), probe.get("may_attend"))
        # 1 / Σ_j exp(s_j − s_i): where a gap is too much for float64, 1/∞ is 0, as it should.
        gaps = scores.unsqueeze(-2) - scores.unsqueeze(-1)
        expected = (1 / gaps.exp().sum(-1)).masked_fill(scores == -torch.inf, 0.0)
        weights = stage.reference(**probe).double()
        torch.testing.assert_close(weights, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("low", [-50.0, -80.0])
@pytest.mark.parametrize("high", [50.0, 80.0])
def test_clipping_is_noticed_at_any_limit(low, high):
    def softmax(scores, may_attend=None):
        return by_hand(scores.clamp(low, high), may_attend)

    assert LARGE_SCORES.recognise(softmax).name == "clipped scores"


def test_an_inverted_mask_is_noticed_before_empty_rows():
    def softmax(scores, may_attend=None):
        scores = hidden(scores, None if may_attend is None else ~may_attend)
        exponentials = (scores - scores.amax(-1, keepdim=True)).exp()
        return exponentials / exponentials.sum(-1, keepdim=True)

    assert "upside down" in check_softmax(softmax).message


def test_a_softmax_without_a_gradient_does_not_pass():
    def softmax(scores, may_attend=None):
        return torch.from_numpy(by_hand(scores, may_attend).detach().numpy())

    assert "autograd" in check_softmax(softmax).message


def test_limits_that_the_messages_state():
    assert torch.exp(torch.tensor([88.72, 88.73])).isinf().tolist() == [False, True]
    assert torch.exp(torch.tensor(-104.0)) == 0 < torch.exp(torch.tensor(-87.0))


# The gradient of the entropy


def entropy_by_autograd(z):
    z = z.clone().requires_grad_()
    log_p = F.log_softmax(z, -1)
    return torch.autograd.grad(-(log_p.exp() * log_p).sum(), z)[0]


def through_the_jacobian(z):
    log_p = F.log_softmax(z, -1)
    p, u = log_p.exp(), -(log_p + 1)
    return (softmax_jacobian(p) @ u.unsqueeze(-1)).squeeze(-1)


def with_a_lowest_weight(z):
    p = z.softmax(-1)
    log_p = p.clamp(min=1e-30).log()
    return -p * (log_p - (p * log_p).sum(-1, keepdim=True))


def by_backward(z):
    z = z.clone().requires_grad_()
    effective_tokens(z.softmax(-1)).log().sum().backward()
    return z.grad


@pytest.mark.parametrize("answer", [entropy_by_autograd, by_backward])
def test_autograd_is_noticed(answer):
    assert "autograd found them" in check_entropy_gradient(answer).message


@pytest.mark.parametrize("answer", [through_the_jacobian, with_a_lowest_weight])
def test_right_entropy_gradient_passes(answer):
    assert check_entropy_gradient(answer).passed


@pytest.mark.parametrize("stage", ENTROPY_GRADIENT.stages, ids=["near", "far", "by formula"])
def test_entropy_gradient_is_autograds(stage):
    for probe in stage.probes:
        z = probe["z"].double().requires_grad_()
        H = effective_tokens(z.softmax(-1)).log()
        (expected,) = torch.autograd.grad(H.sum(), z)
        torch.testing.assert_close(stage.reference(z.detach()), expected, rtol=1e-9, atol=1e-12)
