"""RoPE against transformers' Llama and GPT-J, against its algebra, and far out."""

import math

import pytest
import torch
from transformers import LlamaConfig
from transformers.models.gptj import modeling_gptj as gptj
from transformers.models.llama import modeling_llama as llama

from course_utils.positions import (
    PAIRINGS,
    apply_rope,
    interpolated_positions,
    ntk_base,
    pairing_permutation,
    rope_frequencies,
)

B, H, T, D = 2, 3, 11, 14
FAR = torch.tensor([0, 1, 2, 17, 256, 1009, 2048, 4999, 7919, 9998, 9999, 10_000])
# Coordinates of a few units in float32; each result is a sum of two products.
CLOSE = {"rtol": 0, "atol": 1e-5}


def normal(*shape, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


# Against other code


def llama_rotary(positions, width, *, dtype=torch.float32, **rope):
    """The cosines and sines that transformers' Llama turns with, for one sequence."""
    rope = {"rope_type": "default", "rope_theta": 10_000.0, **rope}
    config = LlamaConfig(
        hidden_size=width, num_attention_heads=1, max_position_embeddings=T, rope_parameters=rope
    )
    return llama.LlamaRotaryEmbedding(config)(torch.zeros(1, dtype=dtype), positions[None])


@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
@pytest.mark.parametrize("width", [2, 14, 64, 128])
def test_rope_as_llama(base, width):
    q, k = normal(B, H, T, width), normal(B, H, T, width, seed=1)
    positions = torch.arange(5, 5 + T)
    theirs = llama.apply_rotary_pos_emb(q, k, *llama_rotary(positions, width, rope_theta=base))
    for x, reference in zip((q, k), theirs, strict=True):
        assert torch.allclose(apply_rope(x, positions, base=base), reference, **CLOSE)
        if width > 2:
            other = apply_rope(x, positions, base=base, pairing="interleaved")
            assert not torch.allclose(other, reference, atol=0.1)


def test_rope_far_out():
    width = 64
    x = normal(B, H, len(FAR), width)
    angles = FAR[:, None].double() * 10_000 ** (-torch.arange(0, width, 2).double() / width)
    angles = torch.cat([angles, angles], dim=-1)[None]
    exact = llama.apply_rotary_pos_emb(x.double(), x.double(), angles.cos(), angles.sin())[0]
    assert torch.allclose(apply_rope(x, FAR).double(), exact, atol=2e-6)
    single = llama.apply_rotary_pos_emb(x, x, *llama_rotary(FAR, width))[0]
    assert 1e-4 < (single - exact).abs().max() < 2e-3


def test_interleaved_rope_as_gptj():
    x = normal(B, T, H, D)  # its layout
    sin, cos = gptj.create_sinusoidal_positions(T, D).expand(B, T, D).chunk(2, dim=-1)
    reference = gptj.apply_rotary_pos_emb(x, sin, cos).transpose(1, 2)
    ours = apply_rope(x.transpose(1, 2), torch.arange(T), pairing="interleaved")
    assert torch.allclose(ours, reference, **CLOSE)


# What RoPE is for


def distances():
    """All pairs of the far positions, each with its distance."""
    return FAR[:, None] - FAR


def relative_scores(q, k, **how):
    """The scores of one query vector at all far places with one key vector at all of them."""
    turned = [apply_rope(x.expand(len(FAR), -1), FAR, **how) for x in (q, k)]
    return turned[0] @ turned[1].mT / math.sqrt(len(q))


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("base", [10_000, 500_000])
def test_row_16_scores_by_distance(pairing, base):
    width = 64
    q, k = normal(width), normal(width, seed=1)
    scores = relative_scores(q, k, base=base, pairing=pairing)
    order = pairing_permutation(width) if pairing == "interleaved" else torch.arange(width)
    pairs_q, pairs_k = (torch.complex(*x[order].double().chunk(2)) for x in (q, k))
    turns = torch.exp(1j * distances()[..., None] * rope_frequencies(width, base=base))
    exact = (pairs_q * pairs_k.conj() * turns).real.sum(-1) / math.sqrt(width)
    assert torch.allclose(scores.double(), exact, **CLOSE)
    # The formula in the text, without its unnamed cross terms, is something else.
    text = ((pairs_q * pairs_k.conj()).real * turns.real).sum(-1) / math.sqrt(width)
    assert (text - exact).abs().max() > 0.1


@pytest.mark.parametrize("width", [2, 6, 14, 64])
def test_permutation_between_pairings(width):
    order = pairing_permutation(width)
    x = normal(T, width)
    interleaved = apply_rope(x, torch.arange(T), pairing="interleaved")
    assert torch.equal(interleaved[:, order], apply_rope(x[:, order], torch.arange(T)))
    if width > 4:  # below, the permutation is its own inverse
        back = apply_rope(x[:, order.argsort()], torch.arange(T))
        assert not torch.allclose(back, interleaved[:, order.argsort()], atol=1e-2)


def test_positions_by_sequence():
    x = normal(B, H, T, D)
    places = torch.stack([torch.arange(T), torch.arange(T) + 100])[:, None]  # (B, 1, T)
    turned = apply_rope(x, places)
    for b in range(B):
        assert torch.equal(turned[b], apply_rope(x[b], places[b, 0]))


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_rope_rounds_once(dtype, pairing):
    x = normal(H, len(FAR), D).to(dtype)
    turned = apply_rope(x, FAR, pairing=pairing)
    assert turned.dtype == dtype
    exact = apply_rope(x.double(), FAR, pairing=pairing)
    # Half a unit in the last place for 16 bits; some more where the sum itself is rounded.
    units = {torch.float16: 0.51, torch.bfloat16: 0.51}.get(dtype, 4)
    assert ((turned - exact).abs() <= units * torch.finfo(dtype).eps * exact.abs().clamp(1)).all()


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_gradient_turns_back(pairing):
    x, upstream = normal(H, T, D).requires_grad_(), normal(H, T, D, seed=1)
    apply_rope(x, torch.arange(T), pairing=pairing).backward(upstream)
    assert torch.allclose(x.grad, apply_rope(upstream, -torch.arange(T), pairing=pairing), **CLOSE)


# Longer texts


@pytest.mark.parametrize("factor", [2.0, 3.5])
def test_interpolation_as_llama(factor):
    width, positions = 14, torch.arange(2 * T)
    q = normal(B, H, 2 * T, width)
    turning = llama_rotary(positions, width, rope_type="linear", factor=factor)
    reference = llama.apply_rotary_pos_emb(q, q, *turning)[0]
    ours = apply_rope(q, interpolated_positions(positions, factor))
    assert torch.allclose(ours, reference, **CLOSE)
    assert not torch.allclose(apply_rope(q, positions), reference, atol=0.1)


def test_ntk_as_llama():
    width, length, factor = 14, 3 * T, 2.0
    q = normal(B, H, length, width)
    turning = llama_rotary(torch.arange(length), width, rope_type="dynamic", factor=factor)
    reference = llama.apply_rotary_pos_emb(q, q, *turning)[0]
    grown = factor * length / T - (factor - 1)  # how it makes a factor from the length
    ours = apply_rope(q, torch.arange(length), base=ntk_base(grown, width))
    assert torch.allclose(ours, reference, **CLOSE)
