"""A device without float64, as Apple's GPUs are: what it computes is what the CPU does."""

import pytest
import torch

from course_utils.language_modeling import text_loss, unigram_entropy
from course_utils.layers import MultiHeadAttention, Rotary
from course_utils.models import GPT2, CausalLM, CausalLMConfig, GPT2Config, generate
from course_utils.models.causal_lm import POSITIONS
from course_utils.positions import (
    apply_rope,
    interpolated_positions,
    rope_frequencies,
    shift_matrix,
    sinusoidal_positions,
)
from course_utils.sampling import next_token_probabilities
from tests.support_apple import MPS, pretend_apple

B, T, C, H, V, P = 2, 5, 18, 3, 31, 13


@pytest.fixture
def apple():
    with pretend_apple():
        yield


def on_apple(module):
    """The module with its weights on the device; ``module.to`` takes no pretended tensors."""
    for part in module.requires_grad_(False).modules():
        for held in (part._parameters, part._buffers):
            held |= {name: x.to(MPS) for name, x in held.items() if x is not None}
    return module


def off_apple(found):
    """What was computed, on the CPU; until here it was on the device."""
    assert found.device.type == "mps"
    return found.cpu()


def alike(found, expected):
    """Equal to the last bit, and of one dtype: ``torch.equal`` does not mind which."""
    return found.dtype == expected.dtype and torch.equal(found, expected)


def test_the_pretence_refuses_what_the_device_would(apple):
    x = torch.ones(3).to(MPS)
    for wrong in (
        x.double,
        lambda: x.to("cpu", torch.float64),
        lambda: torch.ones(3, dtype=torch.float64, device=MPS),
        lambda: torch.ones(3, dtype=torch.float64).to(MPS),
    ):
        with pytest.raises(TypeError, match="float64"):
            wrong()
    assert x.cpu().double().sum() == 3


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rope(apple, pairing, dtype):
    x, positions = torch.randn(B, H, T, 6).to(dtype), torch.arange(99_991, 99_991 + T)
    expected = apply_rope(x, interpolated_positions(positions, 3), pairing=pairing)
    moved = interpolated_positions(positions.to(MPS), 3)
    assert alike(off_apple(apply_rope(x.to(MPS), moved, pairing=pairing)), expected)
    plain = apply_rope(x.to(MPS), positions.to(MPS))
    assert alike(off_apple(plain), apply_rope(x, positions))


def test_a_layer_with_rope(apple):
    layer = MultiHeadAttention(C, H, position=Rotary(interpolation=2, ntk=1.5))
    x = torch.randn(B, T, C)
    expected = layer(x)[0].detach()
    assert alike(off_apple(on_apple(layer)(x.to(MPS))[0]), expected)


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_model_with_caches(apple, positions):
    model = CausalLM(CausalLMConfig(V, C, 2, H, P, positions)).requires_grad_(False)
    ids = torch.randint(V, (B, T))
    expected, loss = model(ids), text_loss(model, ids.flatten(), length=4)
    model, caches = on_apple(model), model.new_caches()
    with torch.no_grad():
        found = [model(part, caches=caches) for part in ids.to(MPS).split((2, 3), dim=1)]
    torch.testing.assert_close(torch.cat([part.cpu() for part in found], dim=1), expected)
    assert text_loss(model, ids.flatten().to(MPS), length=4) == pytest.approx(loss, rel=1e-6)


@pytest.mark.parametrize("draw", [{"temperature": 0}, {"temperature": 0.7, "k": 7, "p": 0.8}, {}])
def test_generate(apple, draw):
    model, ids = GPT2(GPT2Config(V, P, C, 2, H)), torch.randint(V, (B, T))
    torch.manual_seed(2)
    expected = generate(model, ids, P - T, **draw)
    torch.manual_seed(2)
    found = generate(on_apple(model), ids.to(MPS), P - T, **draw)
    assert alike(off_apple(found), expected)


@pytest.mark.parametrize("temperature", [5e-324, 1e-30, 0.3, 1e30])
def test_probabilities_in_float32(apple, temperature):
    logits = torch.tensor([[1.0, 3.0, 3.0, -torch.inf], [3e38, -3e38, 0.0, 5.0]])
    expected = next_token_probabilities(logits, temperature=temperature, p=0.9)
    found = next_token_probabilities(logits.to(MPS), temperature=temperature, p=0.9)
    torch.testing.assert_close(found.cpu(), expected)


def test_numbers_of_texts(apple):
    ids = torch.randint(7, (97,))
    assert unigram_entropy(ids.to(MPS), 7) == unigram_entropy(ids, 7)


def test_tables_on_the_default_device():
    """`meta` is a device that can be the default one everywhere."""
    expected = sinusoidal_positions(T, C), shift_matrix(3, C)
    with torch.device("meta"):
        tables = sinusoidal_positions(T, C), shift_matrix(3, C)
        assert rope_frequencies(C).device.type == "cpu"
        assert apply_rope(torch.ones(T, C), torch.arange(T, device="cpu")).is_meta
    for table, known in zip(tables, expected, strict=True):
        assert table.is_meta and table.shape == known.shape and table.dtype == known.dtype
