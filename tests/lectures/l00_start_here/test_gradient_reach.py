"""The gradient probe against whole Jacobians, and what the four curves must show."""

import pytest
import torch
from torch import nn

from course_utils.lectures.l00_start_here.experiments import gradient_reach as memory_probe
from course_utils.lectures.l00_start_here.experiments.gradient_reach import (
    KINDS,
    gradient_by_distance,
)
from tests.support_errors import raises_saying

LENGTH = 41


def curve(kind, **more):
    return gradient_by_distance(kind, **({"width": 16, "length": LENGTH} | more))


def jacobian_norms(layer, inputs):
    """|d(last state) / d(input)| for each distance, from the whole Jacobian."""
    jacobian = torch.autograd.functional.jacobian(lambda x: layer(x)[0][0, -1], inputs)
    return jacobian[:, 0].square().sum(dim=(0, 2)).sqrt().flip(0)


@pytest.mark.parametrize("kind", KINDS)
def test_estimated_norms_agree_with_whole_jacobians(kind, monkeypatch):
    width, length, sequences = 7, 5, 512
    monkeypatch.setattr(memory_probe, "_SEQUENCES", sequences)
    torch.manual_seed(3)
    estimate = memory_probe._gradient_norms(kind, width, length)
    torch.manual_seed(3)
    layer = memory_probe._fresh_layer(kind, width).double()
    inputs = torch.randn(sequences, length, width, dtype=torch.float64)
    norms = torch.stack([jacobian_norms(layer, one[None]) for one in inputs[:128]])
    exact = norms.square().mean(dim=0).sqrt()
    # Random directions: a mean square over 512 of them is good to about 10 %.
    assert torch.allclose(estimate, exact, rtol=0.2)
    assert not torch.allclose(estimate.flip(0), exact, rtol=0.2)


def test_attention_probe_reads_as_the_last_query_of_a_causal_layer():
    from course_utils.attention import attend
    from course_utils.masks import causal_mask

    layer = memory_probe._fresh_layer("attention", 7)
    x = torch.randn(1, 5, 7)
    q, k, v = layer.query(x), layer.key(x), layer.value(x)
    whole = attend(q, k, v, may_attend=causal_mask(5))[0]
    # float32, the same products in another shape.
    assert torch.allclose(layer(x)[0][:, -1], whole[:, -1], atol=1e-6)


def test_the_recurrent_layers_are_torchs_own_with_their_default_start():
    torch.manual_seed(5)
    expected = nn.GRU(7, 7, batch_first=True)
    torch.manual_seed(5)
    layer = memory_probe._fresh_layer("gru", 7)
    assert type(layer) is nn.GRU
    assert torch.equal(layer.weight_hh_l0, expected.weight_hh_l0)


@pytest.mark.parametrize("kind", KINDS)
def test_shares_are_finite_positive_and_add_up_to_about_one(kind):
    shares = curve(kind)
    assert shares.shape == (LENGTH,)
    assert shares.isfinite().all()
    assert (shares > 0).all()
    # Each trial's shares add up to 1; their medians need not, but nearly do.
    assert shares.sum().item() == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("width", [8, 32])
def test_recurrent_memory_fades_and_attention_stays(width):
    far = {kind: curve(kind, width=width)[30].item() for kind in KINDS}
    assert far["attention"] > 0.2 / LENGTH
    assert far["lstm"] < 1e-4
    assert far["gru"] < 1e-4
    assert far["rnn"] < 1e-9


def test_attention_is_level_over_the_distance():
    shares = curve("attention", trials=32)
    near, far = shares[1:11].mean(), shares[31:41].mean()
    assert (near / far).item() == pytest.approx(1.0, abs=0.25)


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
def test_a_recurrent_layer_forgets_by_about_the_same_factor_each_step(kind):
    logs = curve(kind, width=32, trials=9).log()[5:]
    distance = torch.arange(5, LENGTH, dtype=torch.float64)
    line = torch.stack([distance, torch.ones_like(distance)], dim=-1)
    slope, _ = torch.linalg.lstsq(line, logs[:, None]).solution.flatten()
    straightness = torch.corrcoef(torch.stack([distance, logs]))[0, 1]
    assert slope < -0.3
    assert straightness < -0.99


def test_the_same_seed_gives_the_same_curve_and_another_another():
    first = curve("gru", seed=4)
    memory_probe._median_shares.cache_clear()
    assert torch.equal(curve("gru", seed=4), first)
    assert not torch.equal(curve("gru", seed=5), first)


def test_the_callers_random_numbers_and_copy_are_their_own():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    memory_probe._median_shares.cache_clear()
    shares = curve("rnn")
    assert torch.equal(torch.rand(3), expected)
    shares.zero_()
    assert (curve("rnn") > 0).all()


def test_a_long_memory_does_not_underflow():
    shares = gradient_by_distance("rnn", width=8, length=211, trials=1)
    assert (shares > 0).all()
    assert shares[-1] < torch.finfo(torch.float32).tiny


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"kind": "cnn"}, ValueError, "kind must be one of rnn, lstm, gru, attention, got 'cnn'"),
        ({"width": 0}, ValueError, "width must be at least 1, got 0"),
        ({"length": 0}, ValueError, "length must be at least 1, got 0"),
        ({"length": 8.5}, TypeError, "length must be an integer, got 8.5 (float)"),
        ({"seed": -1}, ValueError, "seed must be at least 0, got -1"),
        ({"trials": 0}, ValueError, "trials must be at least 1, got 0"),
    ],
)
def test_the_probe_refuses_bad_input_by_name(arguments, error, message):
    with raises_saying(error, message):
        gradient_by_distance(**({"kind": "rnn", "width": 8, "length": 8} | arguments))
