"""Lecture 02's exercises: right answers in other words, and references against definitions."""

import pytest
import torch
import torch.nn.functional as F

from course_utils.attention import effective_tokens, softmax_jacobian
from course_utils.lectures.l02_softmax.exercises import (
    check_entropy_gradient,
    check_jacobian_product,
    check_softmax,
)
from course_utils.lectures.l02_softmax.exercises.entropy_gradient import ENTROPY_GRADIENT
from course_utils.lectures.l02_softmax.exercises.jacobian_product import JACOBIAN_PRODUCT
from course_utils.lectures.l02_softmax.exercises.softmax import SOFTMAX

# Softmax


def by_hand(scores):
    e = (scores - scores.max(-1, keepdim=True)[0]).exp()
    return e / (e.sum(-1, keepdim=True) + 1e-9)  # an epsilon that does no harm


def in_place(scores):
    scores -= scores.amax(-1, keepdim=True)
    return scores.exp_().div_(scores.sum(-1, keepdim=True))


@pytest.mark.parametrize(
    "answer",
    [
        by_hand,
        in_place,
        lambda scores: by_hand(scores.clamp(min=-1e9)),
    ],
    ids=["by hand", "in place", "−∞ as a low number"],
)
def test_right_softmax_passes(answer):
    verdict = check_softmax(answer)
    assert verdict.passed and "hidden key" in verdict.message


@pytest.mark.parametrize(
    "answer",
    [
        lambda scores: scores.softmax(-1),
        lambda scores: F.softmax(scores, dim=-1),
        lambda scores: torch.special.softmax(scores, -1),
        lambda scores: (scores - scores.logsumexp(-1, keepdim=True)).exp(),
        torch.nn.Softmax(dim=-1),
    ],
    ids=["method", "function", "special", "log-sum-exp", "module"],
)
def test_a_borrowed_softmax_is_noticed(answer):
    assert "torch computed them" in check_softmax(answer).message


@pytest.mark.parametrize("stage", SOFTMAX.stages, ids=["small", "large", "hidden", "by hand"])
def test_softmax_is_the_formula(stage):
    for probe in stage.probes:
        scores = probe["scores"].double()
        # 1 / Σ_j exp(s_j − s_i): where a gap is too much for float64, 1/∞ is 0, as it should.
        gaps = scores.unsqueeze(-2) - scores.unsqueeze(-1)
        expected = (1 / gaps.exp().sum(-1)).masked_fill(scores == -torch.inf, 0.0)
        weights = stage.reference(**probe).double()
        torch.testing.assert_close(weights, expected, rtol=1e-5, atol=1e-7)


def test_limits_that_the_messages_state():
    assert torch.exp(torch.tensor([88.72, 88.73])).isinf().tolist() == [False, True]
    assert torch.exp(torch.tensor(-104.0)) == 0 < torch.exp(torch.tensor(-87.0))


# The Jacobian's product


def rows_of(p, u):
    return torch.einsum("...s,...s->...", p, u).unsqueeze(-1)


def by_autograd(p, u):
    z = p.log().requires_grad_()
    return torch.autograd.grad(z.softmax(-1), z, u)[0]


def block_by_block(p, u):
    """A hundred rows of the matrix at a time are not the matrix."""
    blocks = []
    for some, own in zip(p.split(101, -1), (p * u).split(101, -1), strict=True):
        rows = some.unsqueeze(-1) * p.unsqueeze(-2)
        blocks.append(own - (rows @ u.unsqueeze(-1)).squeeze(-1))
    return torch.cat(blocks, -1)


@pytest.mark.parametrize(
    "answer", [lambda p, u: p * u - rows_of(p, u) * p, by_autograd, block_by_block]
)
def test_right_product_passes(answer):
    assert check_jacobian_product(answer).passed


def whole_matrix(p, u):
    jacobian = torch.diag_embed(p) - torch.einsum("...s,...t->...st", p, p)
    return torch.einsum("...st,...t->...s", jacobian, u)


def numpys_matrix(p, u):
    p, u = p.numpy(), u.numpy()
    return torch.from_numpy(p * u - (p[..., :, None] * p[..., None, :] @ u[..., None])[..., 0])


def outer_product(p, u):
    return p * u - torch.einsum("...st,...t->...s", p.unsqueeze(-1) * p.unsqueeze(-2), u)


@pytest.mark.parametrize("answer", [whole_matrix, outer_product, numpys_matrix])
def test_a_matrix_is_noticed(answer):
    verdict = check_jacobian_product(answer)
    assert (verdict.passed, verdict.started) == (False, True)
    assert verdict.message.startswith("The numbers are right. But for a row of 509")


def test_product_is_the_matrix_times_u():
    for probe in JACOBIAN_PRODUCT.probes:
        p, u = probe.values()
        expected = (softmax_jacobian(p) @ u.unsqueeze(-1)).squeeze(-1)
        torch.testing.assert_close(JACOBIAN_PRODUCT.reference(p, u), expected)


# The gradient of the entropy


def entropy_by_autograd(z):
    z = z.clone().requires_grad_()
    log_p = F.log_softmax(z, -1)
    return torch.autograd.grad(-(log_p.exp() * log_p).sum(), z)[0]


def through_exercise_2(z):
    log_p = F.log_softmax(z, -1)
    p, u = log_p.exp(), -(log_p + 1)
    return p * u - rows_of(p, u) * p


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


@pytest.mark.parametrize("answer", [through_exercise_2, with_a_lowest_weight])
def test_right_entropy_gradient_passes(answer):
    assert check_entropy_gradient(answer).passed


@pytest.mark.parametrize("stage", ENTROPY_GRADIENT.stages, ids=["near", "far", "by formula"])
def test_entropy_gradient_is_autograds(stage):
    for probe in stage.probes:
        z = probe["z"].double().requires_grad_()
        H = effective_tokens(z.softmax(-1)).log()
        (expected,) = torch.autograd.grad(H.sum(), z)
        torch.testing.assert_close(stage.reference(z.detach()), expected, rtol=1e-9, atol=1e-12)
