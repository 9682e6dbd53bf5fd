"""The gradient by distance against whole Jacobians, and what the curves must show."""

import pytest
import torch

from course_utils.attention import attend
from course_utils.masks import causal_mask
from lectures.l00_start_here.experiments import gradient_reach
from lectures.l00_start_here.experiments.gradient_reach import (
    KINDS,
    gradient_by_distance,
)
from lectures.l00_start_here.explorers.gradient_reach import GradientReach, written

LENGTH = 41


def curve(kind, **more):
    return gradient_by_distance(kind, **({"width": 16, "length": LENGTH} | more))


def jacobian_norms(layer, inputs):
    """|d(last state) / d(input)| for each distance, from the whole Jacobian."""
    jacobian = torch.autograd.functional.jacobian(lambda x: layer(x)[0][0, -1], inputs)
    return jacobian[:, 0].square().sum(dim=(0, 2)).sqrt().flip(0)


@pytest.mark.parametrize("kind", KINDS)
def test_norms_are_those_of_jacobians(kind, monkeypatch):
    width, length, sequences = 7, 5, 512
    monkeypatch.setattr(gradient_reach, "SEQUENCES", sequences)
    torch.manual_seed(3)
    estimate = gradient_reach._gradient_norms(kind, width, length)
    torch.manual_seed(3)
    layer = gradient_reach._fresh_layer(kind, width).double()
    inputs = torch.randn(sequences, length, width, dtype=torch.float64)
    norms = torch.stack([jacobian_norms(layer, one[None]) for one in inputs[:128]])
    exact = norms.square().mean(dim=0).sqrt()
    # Random directions: a mean square over 512 of them is good to about 10 %.
    assert torch.allclose(estimate, exact, rtol=0.2)
    assert not torch.allclose(estimate.flip(0), exact, rtol=0.2)


def test_attention_is_a_causal_last_query():
    layer = gradient_reach._fresh_layer("attention", 7)
    x = torch.randn(1, 5, 7)
    q, k, v = layer.query(x), layer.key(x), layer.value(x)
    whole = attend(q, k, v, may_attend=causal_mask(5))[0]
    # float32, the same products in another shape.
    assert torch.allclose(layer(x)[0][:, -1], whole[:, -1], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_shares_sum_to_about_one(kind):
    shares = curve(kind)
    assert shares.shape == (LENGTH,) and shares.isfinite().all() and (shares > 0).all()
    # Each trial's shares add up to 1; their medians need not, but nearly do.
    assert shares.sum().item() == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("width", [8, 32])
def test_recurrent_shares_fade(width):
    far = {kind: curve(kind, width=width)[30].item() for kind in KINDS}
    assert far["attention"] > 0.2 / LENGTH
    assert far["lstm"] < 1e-4 and far["rnn"] < 1e-9


@pytest.mark.parametrize("kind", ["rnn", "lstm"])
def test_recurrent_decay_is_geometric(kind):
    logs = curve(kind, width=32, trials=9).log()[5:]
    distance = torch.arange(5, LENGTH, dtype=torch.float64)
    straightness = torch.corrcoef(torch.stack([distance, logs]))[0, 1]
    assert straightness < -0.99
    assert logs.diff().mean() < -0.3


def test_a_seed_gives_its_own_curve():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    first = curve("lstm", seed=4)
    assert torch.equal(torch.rand(3), expected), "the caller's random numbers are their own"
    gradient_by_distance.cache_clear()
    assert torch.equal(curve("lstm", seed=4), first)
    assert not torch.equal(curve("lstm", seed=5), first)


def test_long_reach_does_not_underflow():
    shares = gradient_by_distance("rnn", width=8, length=211, trials=1)
    assert (shares > 0).all()
    assert shares[-1] < torch.finfo(torch.float32).tiny


def state_of(explorer):
    return explorer.compute(**explorer.values)


def test_the_pictures_shares_are_the_curves():
    start = {"orthogonal": True, "bias": 3}
    for name, (kind, more) in enumerate(
        [("rnn", {"orthogonal": True}), ("lstm", {"forget_bias": 3.0}), ("attention", {})]
    ):
        expected = gradient_by_distance(kind, width=8, length=64, **more).float()
        explorer = GradientReach(distance=41, width=8, **start)
        state = state_of(explorer)
        assert state.shares[name] == expected[41].item()
        sent = explorer.given()["curves"][state.rows[name]]
        assert sent.tolist() == expected.tolist()


def test_small_shares_are_written_as_powers_of_ten():
    shares = (0.0156, 0.001, 0.00099, 2e-7, 3e-26)
    assert [written(share) for share in shares] == ["0.016", "0.001", "10⁻³", "10⁻⁷", "10⁻²⁶"]


def test_reach_is_the_fewest_last_inputs_with_nine_tenths():
    state = state_of(GradientReach(width=32))
    for row, reach in zip(state.rows, state.reach, strict=True):
        curve = GradientReach().given()["curves"][row]
        parts = curve / curve.sum()
        assert parts[:reach].sum() >= 0.9 > parts[: reach - 1].sum()
    assert state.reach[0] < state.reach[1] < 10 < 50 < state.reach[2]
    moved = state_of(GradientReach(width=32, orthogonal=True, bias=3))
    assert moved.reach[0] > 2 * state.reach[0] and moved.reach[1] > 10 * state.reach[1]
