"""Sizes of any integer type: numpy's and a tensor's become ints, what is no integer is named."""

import json
from dataclasses import asdict

import numpy as np
import pytest
import torch

from course_utils.layers import (
    FeedForward,
    GroupedQueryAttention,
    LayerNorm,
    LoRALinear,
    MixtureOfDepths,
    MixtureOfExperts,
    MultiHeadAttention,
    SoftMixtureOfExperts,
    SwiGLU,
)
from course_utils.masks import causal_mask, prefix_mask, sliding_window_mask
from course_utils.models import CausalLMConfig, EncoderConfig, GPT2Config
from course_utils.positions import alibi_bias, alibi_slopes, shift_matrix, sinusoidal_positions
from course_utils.training import train

KINDS = {"int64": np.int64, "uint8": np.uint8, "a tensor's": torch.tensor}
CONFIGS = {
    "GPT-2": lambda n: GPT2Config(n(31), n(13), n(18), n(2), n(6), n(23), np.float32(1e-3), n(3)),
    "causal": lambda n: CausalLMConfig(n(31), n(18), n(2), n(3), n(13), "rope", n(23)),
    "encoder": lambda n: EncoderConfig(n(31), n(18), n(2), n(3), n(23), n(13), n(5)),
}
LAYERS = {
    "norm": lambda n: LayerNorm(n(17)),
    "feed-forward": lambda n: FeedForward(n(17), n(23)),
    "SwiGLU": lambda n: SwiGLU(n(17), n(23)),
    "SwiGLU, by width": lambda n: SwiGLU(n(17)),
    "attention": lambda n: MultiHeadAttention(n(18), n(3)),
    "grouped": lambda n: GroupedQueryAttention(n(18), n(6), n(2)),
    "experts": lambda n: MixtureOfExperts(n(17), n(23), n(5), n(2)),
    "soft experts": lambda n: SoftMixtureOfExperts(n(17), n(23), n(5), n(2)),
    "depths": lambda n: MixtureOfDepths(torch.nn.Linear(17, 17), 0.5, n(17)),
    "LoRA": lambda n: LoRALinear(torch.nn.Linear(17, 23), n(3)),
}
TENSORS = {
    "causal": lambda n: causal_mask(n(5), n(7)),
    "window": lambda n: sliding_window_mask(n(7), n(3)),
    "prefix": lambda n: prefix_mask(n(7), n(3)),
    "slopes": lambda n: alibi_slopes(n(11)),
    "ALiBi": lambda n: alibi_bias(n(3), n(5), n(7)),
    "table": lambda n: sinusoidal_positions(n(5), n(18)),
    "shift": lambda n: shift_matrix(n(5), n(18)),
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


@every_kind
@pytest.mark.parametrize("name", CONFIGS)
def test_configs(kind, name):
    found, expected = CONFIGS[name](kind), CONFIGS[name](int)
    assert found == expected and json.dumps(asdict(found)) == json.dumps(asdict(expected))


@every_kind
@pytest.mark.parametrize("name", LAYERS)
def test_layers(kind, name):
    """Every number that a layer or a part of it remembers is one of Python's."""
    found, expected = LAYERS[name](kind), LAYERS[name](int)
    for ours, theirs in zip(found.modules(), expected.modules(), strict=True):
        numbers = {key: value for key, value in vars(theirs).items() if type(value) is int}
        assert {key: vars(ours)[key] for key in numbers} == numbers
        assert all(type(vars(ours)[key]) is int for key in numbers)


@every_kind
@pytest.mark.parametrize("name", TENSORS)
def test_tensors(kind, name):
    torch.testing.assert_close(TENSORS[name](kind), TENSORS[name](int))


@pytest.mark.parametrize("seeds", [np.array([7, 2]), torch.tensor([7, 2])], ids=["numpy", "torch"])
def test_seeds(seeds):
    def line(model, x):
        return model(x).square().mean()

    def batch(generator):
        return (torch.randn(5, 3, generator=generator),)

    run = {"steps": 3, "learning_rate": 0.1}
    found = train(lambda: torch.nn.Linear(3, 1), batch, line, seeds=seeds, **run)
    expected = train(lambda: torch.nn.Linear(3, 1), batch, line, seeds=(7, 2), **run)
    assert torch.equal(found.losses, expected.losses)
    with pytest.raises(ValueError, match="differ"):
        train(lambda: torch.nn.Linear(3, 1), batch, line, seeds=seeds.repeat(2), **run)


@pytest.mark.parametrize("wrong", [18.0, True, torch.tensor(True), torch.tensor([6, 3]), "18"])
def test_what_is_no_integer(wrong):
    for build in (
        lambda: GPT2Config(width=wrong),
        lambda: EncoderConfig(31, wrong, 2, 3, 23, 13),
        lambda: MultiHeadAttention(wrong, 3),
    ):
        with pytest.raises(TypeError, match="width must be an integer"):
            build()
