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


def gradients(scale, seed):
    """The gradient that each of 4,000 queries receives, and its largest weight."""
    draw = torch.Generator().manual_seed(seed)
    q, k, u = (torch.randn(shape, generator=draw) for shape in ((4000, 64), (64, 64), (4000, 64)))
    q.requires_grad_()
    weights = (scale * q @ k.T).softmax(-1)
    (weights * u).sum().backward()
    return q.grad.norm(dim=-1), weights.detach().amax(-1)


def held_by_a_fifth(sizes):
    return (sizes.sort(descending=True).values[: len(sizes) // 5].sum() / sizes.sum()).item()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_undivided_gradients_are_unequal(seed):
    plain, sharpest = gradients(1.0, seed)
    divided, _ = gradients(1 / 8, seed)
    assert 4 < plain.median() / divided.median() < 6
    # One set of keys a seed: seeds differ by a few hundredths.
    assert held_by_a_fifth(plain) == pytest.approx(0.58, abs=0.03)
    assert held_by_a_fifth(divided) == pytest.approx(0.29, abs=0.03)
    assert sharpest.mean().item() == pytest.approx(0.79, abs=0.03)
    dead = sharpest > 0.99
    assert dead.float().mean().item() == pytest.approx(0.2, abs=0.04)
    assert plain[dead].median() < divided.median() / 10


def test_a_wrong_output_is_heard():
    z = torch.tensor([7.3] + 15 * [0.0], dtype=torch.float64, requires_grad=True)
    p = z.softmax(-1)
    (-p[5].log()).backward()
    right = torch.zeros(16)
    right[5] = 1
    assert torch.allclose(z.grad, p.detach() - right)
    assert round(p[0].item(), 2) == 0.99 and -z.grad[5] > 0.99
