"""The leak detector against the whole Jacobian, against chains of reads, and on planted leaks."""

import itertools

import pytest
import torch
from torch import nn

from course_utils.layers import EncoderBlock
from course_utils.masks import causal_mask
from course_utils.measure import dependence as module
from course_utils.measure.dependence import gradient_reach, leaks, reach_through
from tests.core.support_properties import given, st

T, C = 11, 6


def block():
    """Attention and a feed-forward layer, each with LayerNorm before and a residual around."""
    return EncoderBlock(C, 1, 2 * C, norm_first=True)


def stack(may_attend, num_layers):
    blocks = [block() for _ in range(num_layers)]

    def model(x):
        for each in blocks:
            x, _ = each(x[None], may_attend)
            x = x[0]
        return x

    return model


# The gradient


def test_sums_the_whole_jacobian():
    model, x = stack(causal_mask(5), 2), torch.randn(5, C)
    jacobian = torch.autograd.functional.jacobian(model, x)  # (T, E, S, C)
    # Both are backpropagation in float32, batched in another way.
    torch.testing.assert_close(gradient_reach(model, x), jacobian.abs().sum((1, 3)))


def test_unequal_inputs_and_outputs():
    mix = torch.randn(3, 7)
    widen = torch.randn(2, 5)
    reach = gradient_reach(lambda x: mix @ x @ widen, torch.randn(7, 2))
    torch.testing.assert_close(reach, mix.abs() * widen.abs().sum())


def test_many_outputs_are_taken_in_parts(monkeypatch):
    model, x = stack(causal_mask(5), 1), torch.randn(5, C)
    whole = gradient_reach(model, x)
    monkeypatch.setattr(module, "_CHUNK_SIZE", 7)  # 30 numbers: four parts and a rest
    torch.testing.assert_close(gradient_reach(model, x), whole)


def test_constants_depend_on_nothing():
    constant = torch.ones(3, 2, requires_grad=True)
    for model in (lambda x: torch.ones(3, 2), lambda x: 2 * constant, lambda x: x.detach()[:3]):
        reach = gradient_reach(model, torch.randn(5, 2))
        assert reach.shape == (3, 5) and bool((reach == 0).all())


def test_leaves_no_gradient_behind():
    layer, x = nn.Linear(C, 2), torch.randn(3, C)
    model = lambda x: layer(x).tanh()  # noqa: E731
    with torch.no_grad():
        quiet = gradient_reach(model, x)
    assert torch.equal(quiet, gradient_reach(model, x)) and not quiet.requires_grad
    assert x.grad is None and not x.requires_grad
    assert all(parameter.grad is None for parameter in layer.parameters())


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_exact_zeros_in_other_dtypes(dtype):
    layer = block().to(dtype)
    reach = gradient_reach(
        lambda x: layer(x[None], causal_mask(5))[0][0], torch.randn(5, C, dtype=dtype)
    )
    assert reach.dtype == dtype and torch.equal(reach != 0, causal_mask(5))


# Planted leaks. What leaves none is in tests/core/layers/test_layers_dependence.py.


@pytest.mark.parametrize("num_layers", [1, 2])
def test_off_by_one_is_found(num_layers):
    one_too_many = torch.ones(T, T).tril(1) > 0
    reach = gradient_reach(stack(one_too_many, num_layers), torch.randn(T, C))
    ahead = [(t, s) for t in range(T) for s in range(t + 1, min(t + num_layers, T - 1) + 1)]
    assert leaks(reach, reach_through(causal_mask(T), num_layers)) == ahead


def test_leak_around_the_mask_is_found():
    layer = stack(causal_mask(5), 1)
    centred = lambda x: layer(x - x.mean(dim=0))  # over all tokens, the later too  # noqa: E731
    found = leaks(gradient_reach(centred, torch.randn(5, C)), causal_mask(5))
    assert found == [(t, s) for t in range(5) for s in range(t + 1, 5)]


def test_one_mask_row_for_all():
    reach = torch.ones(3, 4)
    assert leaks(reach, torch.tensor([[True, True, True, False]])) == [(0, 3), (1, 3), (2, 3)]
    assert leaks(reach * 0, torch.zeros(1, 1) > 0) == []


# Reach, as chains of reads


def by_chains(may_attend, num_layers):
    """Every chain of tokens, one step for each layer, tried one after the other."""
    size = len(may_attend)
    step = (may_attend | torch.eye(size, dtype=torch.bool)).tolist()
    reached = torch.zeros(size, size, dtype=torch.bool)
    for chain in itertools.product(range(size), repeat=num_layers + 1):
        if all(step[t][s] for t, s in itertools.pairwise(chain)):
            reached[chain[0], chain[-1]] = True
    return reached


@given(data=st.data(), size=st.integers(1, 4), num_layers=st.integers(1, 4))
def test_reach_is_that_of_every_chain(data, size, num_layers):
    row = st.lists(st.booleans(), min_size=size, max_size=size)
    may_attend = torch.tensor(data.draw(st.lists(row, min_size=size, max_size=size)))
    assert torch.equal(reach_through(may_attend, num_layers), by_chains(may_attend, num_layers))


def test_many_chains_do_not_overflow():
    # Without going back to 0 and 1 there would be 401**63 chains, beyond the largest float32.
    assert bool(reach_through(torch.ones(401, 401) > 0, 64).all())
