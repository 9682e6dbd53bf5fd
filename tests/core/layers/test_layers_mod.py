"""Mixture of depths: the block it was made from, half of its work, and no look into the future."""

import pytest
import torch
from torch import nn

from course_utils.layers import KVCache
from course_utils.layers.mod import (
    GATES,
    MixtureOfDepths,
    RoutingDecision,
    kept_tokens,
    predictor_loss,
)
from course_utils.masks import causal_mask
from course_utils.measure.dependence import gradient_reach, leaks
from course_utils.models.gpt2 import GPT2Block, GPT2Config
from tests.support_flops import counted_flops

B, T, C, H = 2, 11, 15, 3
CLOSE = {"rtol": 0, "atol": 1e-5}  # float32, sums of fifteen numbers of size one


@pytest.fixture
def block():
    return GPT2Block(GPT2Config(width=C, num_heads=H))


@pytest.fixture
def x():
    return torch.randn(B, T, C)


def layer_of(block, capacity, **options):
    return MixtureOfDepths(block, capacity, C, **options)


def let_through(layer, x, share):
    """Shift the predictor's threshold so that about this share of x's tokens goes through.

    It comes to lie midway between two tokens: on one of them, rounding would decide.
    """
    with torch.no_grad():
        logits = layer.predictor(x).flatten().sort().values
        first = round((1 - share) * len(logits))
        layer.predictor[-1].bias -= (logits[first - 1] + logits[first]) / 2


def test_capacity_1_is_the_block(block, x):
    out, kept = layer_of(block, 1)(x)
    assert torch.equal(out, block(x)[0]) and kept.mask.all()
    scaled, _ = layer_of(block, 1, gate="weight")(x)
    assert not torch.allclose(scaled, out, atol=1e-2)  # the paper's gate does not keep that


def test_gradients_at_capacity_1(block, x):
    layer = layer_of(block, 1)
    inputs = x.clone().requires_grad_()
    names, weights = zip(*block.named_parameters(), strict=True)
    expected = torch.autograd.grad(block(inputs)[0].sin().sum(), (inputs, *weights))
    loss = layer(inputs)[0].sin().sum()
    found = torch.autograd.grad(loss, (inputs, *weights), retain_graph=True)
    for name, ours, theirs in zip(("x", *names), found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, **CLOSE, msg=name)
    (of_router,) = torch.autograd.grad(loss, layer.router.weight)
    assert of_router.abs().max() > 0.1


def test_gradient_of_the_router(block, x):
    """What gate "one" hands the router is the gradient of the paper's factor, taken at 1."""
    layer = layer_of(block, 0.5)
    out, kept = layer(x)
    (found,) = torch.autograd.grad(out.sin().sum(), layer.router.weight)
    factors = torch.ones(B, T, requires_grad=True)
    rows = []
    for row, keep, factor in zip(x, kept.mask, factors, strict=True):
        own = block(row[keep][None])[0][0] - row[keep]
        rows.append(row.index_put((keep,), row[keep] + factor[keep, None] * own))
    (by_factor,) = torch.autograd.grad(torch.stack(rows).sin().sum(), factors)
    torch.testing.assert_close(found[0], (by_factor[..., None] * x).sum(dim=(0, 1)), **CLOSE)


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("capacity", [0.07, 0.5, 0.9])
def test_it_is_equation_1_token_by_token(block, x, gate, capacity):
    layer = layer_of(block, capacity, gate=gate)
    out, kept = layer(x)
    K = kept_tokens(T, capacity)
    for row in range(B):
        r = x[row] @ layer.router.weight[0]
        best = sorted(range(T), key=lambda t: -r[t].item())[:K]
        assert kept.mask[row].nonzero().flatten().tolist() == sorted(best)
        whole = block(x[row, sorted(best)][None])[0][0]
        for place, t in enumerate(sorted(best)):
            g = 1 if gate == "one" else r[t]
            expected = x[row, t] + g * (whole[place] - x[row, t])
            torch.testing.assert_close(out[row, t], expected, **CLOSE)
    assert torch.equal(out[~kept.mask], x[~kept.mask])
    torch.testing.assert_close(kept.weights, x @ layer.router.weight[0], **CLOSE)


@pytest.mark.parametrize("routing", ["top_k", "predicted"])
def test_skipped_tokens_cost_nothing(routing):
    T, C, H = 64, 24, 3
    block, x = GPT2Block(GPT2Config(width=C, num_heads=H)), torch.randn(1, T, C)
    layer = MixtureOfDepths(block, 0.5, C)
    let_through(layer, x, 0.5)
    seen = []
    block.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0].shape))
    found, half = (counted_flops(call) for call in (
        lambda: layer(x, routing=routing), lambda: block(x[:, : T // 2])
    ))  # fmt: skip
    assert seen == [(1, T // 2, C)] * 2
    assert found == half + 2 * T * C + 2 * T * (C * 6 + 6)  # the router; the predictor's two layers


@pytest.mark.parametrize(
    ("length", "capacity", "expected"),
    [(7, 0.5, 4), (100, 0.07, 7), (13, 1, 13), (5, 1e-6, 1), (1, 0.5, 1), (30, 0.1, 3)],
)
def test_how_many_are_kept(length, capacity, expected):
    assert kept_tokens(length, capacity) == expected
    _, kept = MixtureOfDepths(nn.Linear(C, C), capacity, C)(torch.ones(B, length, C))  # all equal
    assert kept.mask.sum(dim=1).tolist() == [expected] * B


@pytest.mark.parametrize("capacity", [-0.5, 0, 1.5])
def test_no_share_of_the_tokens(capacity):
    with pytest.raises(ValueError, match="at most 1"):
        kept_tokens(7, capacity)


def test_other_weights_choose(block, x):
    weights = torch.randn(B, T)
    out, kept = layer_of(block, 0.5)(x, weights=weights)
    best = weights.topk(kept_tokens(T, 0.5), dim=1).indices
    assert torch.equal(kept.mask, torch.zeros(B, T, dtype=torch.bool).scatter(1, best, True))
    assert torch.equal(kept.weights, weights) and torch.equal(out[~kept.mask], x[~kept.mask])


# The future.


def changed_from(x, place):
    """The same sequence with other tokens from this place on, louder, so that they rank high."""
    later = x.clone()
    later[:, place:] = 5 * torch.randn_like(later[:, place:])
    return later


def test_top_k_depends_on_the_future(block, x):
    layer = layer_of(block, 0.5)
    reach = gradient_reach(lambda row: layer(row[None])[0][0], x[0])
    assert leaks(reach, causal_mask(T)) == []  # a choice has no gradient
    flips = 0
    for place in range(1, T):
        (out, kept), (other, others) = layer(x), layer(changed_from(x, place))
        before = (kept.mask != others.mask)[:, :place]
        flips += int(before.sum())
        assert ((out - other).abs().amax(dim=-1)[:, :place][before] > 1e-4).all()
    assert flips > 5


def test_predictor_is_causal(block, x):
    layer = layer_of(block, 0.5)
    let_through(layer, x, 0.5)
    reach = gradient_reach(lambda row: layer(row[None], routing="predicted")[0][0], x[0])
    assert leaks(reach, causal_mask(T)) == []
    out, kept = layer(x, routing="predicted")
    assert 0 < kept.mask.sum() < B * T
    for place in range(1, T):
        other, others = layer(changed_from(x, place), routing="predicted")
        assert torch.equal(kept.mask[:, :place], others.mask[:, :place])
        torch.testing.assert_close(out[:, :place], other[:, :place], **CLOSE)


@pytest.mark.parametrize("gate", GATES)
def test_cache_holds_kept_tokens(block, x, gate):
    layer = layer_of(block, 0.5, gate=gate)
    let_through(layer, x[:1], 0.5)
    with torch.no_grad():
        expected, kept = layer(x[:1], routing="predicted")
        cache = KVCache()
        steps = [layer(part, cache, routing="predicted") for part in x[:1].split((3, 1, 5, 2), 1)]
    torch.testing.assert_close(torch.cat([out for out, _ in steps], dim=1), expected, **CLOSE)
    assert torch.equal(torch.cat([each.mask for _, each in steps], dim=1), kept.mask)
    assert cache.length == kept.mask.sum() < T


def test_nothing_kept(block, x):
    layer = layer_of(block, 0.5)
    with torch.no_grad():
        layer.predictor[-1].bias.fill_(-100)
    block.register_forward_hook(lambda *_: pytest.fail("the block was computed"))
    out, kept = layer(x, routing="predicted")
    assert torch.equal(out, x) and not kept.mask.any()


# The predictor's training.


def test_predictor_learns_alone(block, x):
    layer = layer_of(block, 0.5)
    _, kept = layer(x)
    predictor_loss(kept).backward()
    assert all(each.grad.abs().max() > 0 for each in layer.predictor.parameters())
    assert layer.router.weight.grad is None
    assert all(each.grad is None for each in block.parameters())
    inputs = x.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="not have been used"):
        torch.autograd.grad(predictor_loss(layer(inputs)[1]), inputs)


def test_loss_by_hand():
    mask = torch.tensor([[True, False, False]])
    logits = torch.tensor([[2.0, 1.0, -1.0]])
    kept = RoutingDecision(mask, logits, logits)
    chances = logits.sigmoid()
    by_hand = -(chances[0, 0].log() + (1 - chances[0, 1:]).log().sum()) / 3
    torch.testing.assert_close(predictor_loss(kept), by_hand)
