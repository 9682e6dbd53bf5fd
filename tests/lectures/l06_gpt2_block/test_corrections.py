"""The measured side of lecture 06's source notes: what the source texts say must fail.

One test for each of rows 18 to 21 of the corrections, each from scratch.
"""

import copy
import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from course_utils.layers import FeedForward, LayerNorm
from course_utils.layers.feedforward import SwiGLU
from course_utils.models.gpt2 import GPT2Block, GPT2Config
from tests.core.support_gpt2 import CLOSE, ours, some_ids


def norm_of_the_text(x):
    """As the source has it: the estimate with N - 1, and eps outside of the root."""
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5)


def relative_error(found, expected):
    return ((found - expected).norm() / expected.norm()).item()


@pytest.mark.parametrize("width", [5, 31, 769])
def test_row_18_the_estimate_with_one_less_shows_by_the_width(width):
    x = torch.randn(1000, width)
    expected = functional.layer_norm(x, (width,))
    torch.testing.assert_close(LayerNorm(width)(x), expected, rtol=0, atol=1e-5)
    off = relative_error(norm_of_the_text(x), expected)
    assert off == pytest.approx(1 - math.sqrt((width - 1) / width), rel=0.05)
    assert (norm_of_the_text(x) - expected).abs().max() > 100 * CLOSE["atol"]


def test_row_18_eps_outside_of_the_root_shows_in_small_vectors():
    width, size = 769, 0.01  # a variance of 1e-4, to which eps adds a tenth
    x = size * torch.randn(1000, width)
    expected = functional.layer_norm(x, (width,))
    off = relative_error(norm_of_the_text(x), expected)
    assert off == pytest.approx(math.sqrt(1 + 1e-5 / size**2) - 1, abs=0.005)
    torch.testing.assert_close(LayerNorm(width)(x), expected, rtol=0, atol=1e-5)


def test_row_19_a_block_learns_sixteen_tensors():
    with torch.device("meta"):
        block = GPT2Block(GPT2Config())
    sizes = {name: weight.numel() for name, weight in block.named_parameters()}
    assert len(sizes) == 16 and sum(sizes.values()) == 7_087_872
    biases = [name for name in sizes if name.startswith("attention.") and name.endswith("bias")]
    assert len(biases) == 4
    assert sum(sizes[name] for name in biases) == 4 * 768
    config = GPT2Config()
    assert config.block_parameters == sum(sizes.values())
    assert config.parameters == 124_439_808
    assert config.parameters + config.vocab_size * config.width > 163_000_000  # untied


def test_row_20_the_tanh_form_is_near_and_another_function():
    x = torch.linspace(-8, 8, 160_001, dtype=torch.float64)
    exact = x * torch.distributions.Normal(0, 1).cdf(x)
    tanh = 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    torch.testing.assert_close(functional.gelu(x, approximate="tanh"), tanh)
    gap = (exact - tanh).abs()
    assert 4.7e-4 < gap.max() < 5e-4
    assert x[gap.argmax()].abs() == pytest.approx(2.70, abs=0.01)


def test_row_20_it_shows_in_a_parity_test_of_a_model():
    model, ids = ours(), some_ids(2, 7)
    exact = copy.deepcopy(model)
    for block in exact.blocks:
        block.feedforward.activation = functional.gelu
    rounding = (model(ids) - model.double()(ids)).abs().max()
    model.float()
    gap = (model(ids) - exact(ids)).abs().max()
    assert gap > 10 * CLOSE["atol"] > 10 * rounding


def test_row_21_three_matrices_ask_for_two_thirds_of_the_width():
    def weights(layer):
        return sum(weight.numel() for weight in layer.parameters() if weight.dim() == 2)

    width = 96
    plain, as_wide, equal = FeedForward(width, 4 * width), SwiGLU(width, 4 * width), SwiGLU(width)
    assert weights(as_wide) == 1.5 * weights(plain)
    assert equal.hidden == 8 * width / 3 and weights(equal) == weights(plain)
    matrices = [layer for layer in equal.modules() if isinstance(layer, nn.Linear)]
    assert len(matrices) == 3 and all(layer.bias is None for layer in matrices)
    # Without the third, as the text has it, the result would not be of the model's width.
    x = torch.randn(2, width)
    assert (equal.gate(x) * functional.silu(equal.expand(x))).shape == (2, 256)
