"""The numbers that lecture 02's quiz states, computed."""

import pytest
import torch

from course_utils.attention import softmax_jacobian


def test_sum_overflows_before_terms():
    terms = torch.exp(torch.full((64,), 85.0))
    assert terms.isfinite().all() and f"{terms[0]:.1e}" == "8.2e+36"
    assert (terms / terms.sum()).tolist() == [0.0] * 64
    assert f"{torch.finfo(torch.float32).max:.1e}" == "3.4e+38"


def test_norms_of_the_jacobian():
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


def test_norm_rises_then_falls():
    scores = torch.randn(64, generator=torch.Generator().manual_seed(0)).double()
    rows = torch.stack([(t * scores).softmax(-1) for t in torch.arange(0, 12, 0.05).tolist()])
    norms = softmax_jacobian(rows).norm(dim=(-2, -1))
    peak = int(norms.argmax())
    assert (norms[: peak + 1].diff() > 0).all() and (norms[peak:].diff() < 0).all()
    assert 0.4 < rows[peak].max() < 0.5


def gradient(scaled, seed):
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
def test_unscaled_gradient_is_uneven(seed):
    total, rows, weights = gradient(scaled=False, seed=seed)
    scaled_total, scaled_rows, _ = gradient(scaled=True, seed=seed)
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


def test_words_that_hold_nine_tenths():
    logits = torch.tensor([3.2, 2.6, 2.1, 1.9, 1.2, -0.5, -2.0, -4.0])
    for temperature, words in ((0.5, 3), (1.0, 4), (2.0, 5)):
        held = (logits / temperature).softmax(-1).cumsum(0)
        assert int((held < 0.9).sum()) + 1 == words
