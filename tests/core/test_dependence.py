"""The leak detector against the whole Jacobian, against chains of reads, and on planted leaks."""

import itertools

import pytest
import torch
from torch import nn

from course_utils.attention import attend
from course_utils.masks import causal_mask, padding_mask, prefix_mask, sliding_window_mask
from course_utils.measure import dependence as module
from course_utils.measure.dependence import gradient_reach, leaks, reach_through
from tests.core.support_properties import given, st

T, C = 11, 6
DOCUMENTS = torch.tensor([0] * 3 + [1] * 1 + [2] * 7)
MASKS = {
    "causal": causal_mask(T),
    "window": sliding_window_mask(T, 3),
    "prefix": prefix_mask(T, 4),
    "padding": padding_mask([7], T)[0, 0].expand(T, T),
    "packed": causal_mask(T) & (DOCUMENTS[:, None] == DOCUMENTS),
    "every key": torch.ones(T, T) > 0,
}


class Block(nn.Module):
    """Attention and a feed-forward layer, each with LayerNorm before and a residual around."""

    def __init__(self, width):
        super().__init__()
        self.attention_norm, self.norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.feed_forward = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x, may_attend):
        y = self.attention_norm(x)
        x = x + attend(self.query(y), self.key(y), self.value(y), may_attend=may_attend)[0]
        return x + self.feed_forward(self.norm(x))


def stack(may_attend, num_layers):
    blocks = [Block(C) for _ in range(num_layers)]

    def model(x):
        for block in blocks:
            x = block(x, may_attend)
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


def test_layernorm_hides_nothing():
    norm, x = nn.LayerNorm(C), torch.randn(3, C)
    assert (gradient_reach(norm, x).diagonal() > 1).all()


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
    block, x = Block(C), torch.randn(3, C)
    model = lambda x: block(x, None)  # noqa: E731
    with torch.no_grad():
        quiet = gradient_reach(model, x)
    assert torch.equal(quiet, gradient_reach(model, x)) and not quiet.requires_grad
    assert x.grad is None and not x.requires_grad
    assert all(parameter.grad is None for parameter in block.parameters())


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_exact_zeros_in_other_dtypes(dtype):
    block = Block(C).to(dtype)
    reach = gradient_reach(lambda x: block(x, causal_mask(5)), torch.randn(5, C, dtype=dtype))
    assert reach.dtype == dtype and torch.equal(reach != 0, causal_mask(5))


# The proof: what a mask hides is exactly zero, through any number of layers


@pytest.mark.parametrize("num_layers", [1, 2, 3])
@pytest.mark.parametrize("kind", MASKS)
def test_gradient_follows_the_mask(kind, num_layers):
    may_reach = reach_through(MASKS[kind], num_layers)
    reach = gradient_reach(stack(MASKS[kind], num_layers), torch.randn(T, C))
    assert torch.equal(reach != 0, may_reach)
    assert leaks(reach, may_reach) == []


@pytest.mark.parametrize("num_layers", [1, 2])
def test_off_by_one_is_found(num_layers):
    one_too_many = torch.ones(T, T).tril(1) > 0
    reach = gradient_reach(stack(one_too_many, num_layers), torch.randn(T, C))
    ahead = [(t, s) for t in range(T) for s in range(t + 1, min(t + num_layers, T - 1) + 1)]
    assert leaks(reach, reach_through(causal_mask(T), num_layers)) == ahead


def test_leak_around_the_mask_is_found():
    block = Block(C)

    def model(x):
        return block(x - x.mean(dim=0), causal_mask(5))  # centred over all tokens, the later too

    found = leaks(gradient_reach(model, torch.randn(5, C)), causal_mask(5))
    assert found == [(t, s) for t in range(5) for s in range(t + 1, 5)]


def test_an_empty_row_depends_on_itself():
    may_attend = causal_mask(5).clone()
    may_attend[3] = False
    assert torch.equal(
        gradient_reach(stack(may_attend, 1), torch.randn(5, C)) != 0,
        reach_through(may_attend, 1),
    )


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


@given(window=st.integers(1, 13), num_layers=st.integers(1, 7))
def test_reach_of_stacked_windows(window, num_layers):
    reached = reach_through(sliding_window_mask(13, window), num_layers)
    assert torch.equal(reached, sliding_window_mask(13, (window - 1) * num_layers + 1))


def test_many_chains_do_not_overflow():
    # Without going back to 0 and 1 there would be 401**63 chains, beyond the largest float32.
    assert bool(reach_through(torch.ones(401, 401) > 0, 64).all())
