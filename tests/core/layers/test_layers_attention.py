"""Multi-head attention against PyTorch's two: nn.MultiheadAttention and the fused function."""

import pytest
import torch
from torch.nn import functional as F

from course_utils.attention import attend
from course_utils.layers import Alibi, MultiHeadAttention, Rotary, merge_heads, split_heads
from course_utils.masks import causal_mask, padding_mask
from course_utils.positions import alibi_bias, apply_rope
from tests.core.support_layers import CLOSE, torch_attention

B, T, S, C, H = 2, 7, 11, 15, 3
CASES = {"self": None, "cross": S}
# Both kinds of mask, for S keys: one per query and key, one per sequence.
MASKS = {
    "none": lambda S: None,
    "causal": lambda S: causal_mask(T, S),
    "random": lambda S: torch.rand(B, H, T, S, generator=torch.manual_seed(3)) < 0.7,
    "padding": lambda S: padding_mask([4, S], S),
}


def inputs(memory_length):
    x = torch.randn(B, T, C)
    return x, None if memory_length is None else torch.randn(B, memory_length, C)


def in_torchs_terms(may_attend):
    """PyTorch's two masks, in which True means: may not."""
    if may_attend is None:
        return {}
    if may_attend.shape[-2] == 1:
        return {"key_padding_mask": ~may_attend[:, 0, 0]}
    if may_attend.ndim == 4:
        may_attend = may_attend.flatten(0, 1)  # (B * H, T, S)
    return {"attn_mask": ~may_attend}


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("memory_length", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("bias", [True, False])
def test_as_torchs_module(memory_length, kind, bias):
    layer, (x, memory) = MultiHeadAttention(C, H, bias=bias), inputs(memory_length)
    source = x if memory is None else memory
    may_attend = MASKS[kind](source.shape[1])
    expected, weights = torch_attention(layer)(
        x, source, source, average_attn_weights=False, **in_torchs_terms(may_attend)
    )
    out, heads = layer(x, memory=memory, may_attend=may_attend)
    assert torch.allclose(out, expected, **CLOSE)
    assert torch.allclose(heads.weights, weights, **CLOSE)


def test_empty_row_gives_output_bias():
    layer, (x, _) = MultiHeadAttention(C, H), inputs(None)
    may_attend = causal_mask(T)
    may_attend[0] = False
    out, heads = layer(x, may_attend=may_attend)
    assert torch.equal(heads.weights[:, :, 0], torch.zeros(B, H, T))
    assert torch.equal(out[:, 0], layer.output.bias.expand(B, C))


# Positions


WIDE = 18  # heads of width 6, which is even


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_rotary_turns_queries_and_keys(pairing):
    layer = MultiHeadAttention(WIDE, H, position=Rotary(base=500.0, pairing=pairing))
    x = torch.randn(B, T, WIDE)
    plain = [split_heads(project(x), H) for project in (layer.query, layer.key, layer.value)]
    places = torch.arange(T)
    q, k = (apply_rope(each, places, base=500.0, pairing=pairing) for each in plain[:2])
    expected, weights = attend(q, k, plain[2], may_attend=causal_mask(T))
    out, heads = layer(x, may_attend=causal_mask(T))
    assert torch.allclose(out, layer.output(merge_heads(expected)), **CLOSE)
    assert torch.allclose(heads.weights, weights, **CLOSE)
    # The heads as they met: their products explain the weights.
    assert torch.allclose(heads.queries, q) and torch.allclose(heads.keys, k)


def test_alibi_biases_the_scores_alone():
    layer, x = MultiHeadAttention(C, H, position=Alibi()), torch.randn(B, T, C)
    q, k, v = (split_heads(project(x), H) for project in (layer.query, layer.key, layer.value))
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=alibi_bias(H, T, T))
    assert torch.allclose(layer(x)[0], layer.output(merge_heads(expected)), **CLOSE)
    layer.position = None
    assert not torch.allclose(layer(x)[0], layer.output(merge_heads(expected)), atol=1e-3)


def test_interpolated_positions():
    x = torch.randn(1, 2, 4 * T, 6)
    stretched = Rotary(interpolation=4).rotate(x, start=0)
    # Every fourth token stands where the unstretched scheme has a token.
    assert torch.allclose(stretched[:, :, ::4], Rotary().rotate(x[:, :, ::4], start=0), atol=1e-6)


def test_ntk_slows_slow_pairs():
    x, start = torch.ones(1, 1, 1, 6, dtype=torch.float64), 7
    angles = []
    for scheme in (Rotary(base=500), Rotary(base=500, ntk=4)):
        first, second = scheme.rotate(x, start)[0, 0, 0].chunk(2)
        angles.append(torch.atan2(second, first) - torch.pi / 4)
    plain, slowed = angles
    # Modulo a whole turn, which the fastest pair has made.
    assert torch.allclose(plain[0] % (2 * torch.pi), torch.tensor(7.0).double() % (2 * torch.pi))
    assert torch.allclose(slowed[0], plain[0])
    assert torch.allclose(slowed[2], plain[2] / 4)
