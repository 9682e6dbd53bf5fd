"""Sinusoids and ALiBi against transformers' GPT-J and BLOOM, and against their algebra."""

import math

import pytest
import torch
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.gptj import modeling_gptj as gptj

from course_utils.attention import attend
from course_utils.masks import causal_mask
from course_utils.positions import (
    alibi_bias,
    alibi_slopes,
    pairing_permutation,
    shift_matrix,
    sinusoidal_positions,
)

H, T, S, D = 3, 11, 13, 14
# Coordinates of a few units in float32; each result is a sum of few products.
CLOSE = {"rtol": 0, "atol": 1e-5}
EXACT = {"rtol": 1e-12, "atol": 1e-12}


def normal(*shape, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


@pytest.fixture
def in_float64():
    """Tables in double precision, so that algebra can be checked to the last digits."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


# Without positions


def test_row_13_equivariance_without_positions():
    x, order = normal(T, D), torch.randperm(T)
    out, shuffled = attend(x, x, x)[0], attend(x[order], x[order], x[order])[0]
    assert torch.allclose(shuffled, out[order], **CLOSE)
    assert not torch.allclose(shuffled, out, atol=1e-2)
    assert torch.allclose(shuffled.mean(0), out.mean(0), **CLOSE)
    placed = x + sinusoidal_positions(T, D)
    moved = x[order] + sinusoidal_positions(T, D)
    gap = attend(moved, moved, moved)[0] - attend(placed, placed, placed)[0][order]
    assert gap.abs().max() > 1e-2


# Sinusoids


def test_row_14_table_at_position_1():
    row = sinusoidal_positions(2, 8)[1]
    ours = torch.tensor([0.841, 0.540, 0.100, 0.995, 0.010, 1.000, 0.001, 1.000])
    printed = torch.tensor([0.841, 0.541, 0.01, 1.0, 0.0, 1.0, 0.0, 1.0])
    assert torch.allclose(row, ours, atol=5e-4)  # three decimals
    assert (row - printed).abs().max() > 0.08


def test_sinusoids_entry_by_entry(in_float64):
    table = sinusoidal_positions(T, D, base=500)
    for t in range(T):
        for i in range(D // 2):
            angle = t / 500 ** (2 * i / D)
            assert table[t, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-12)
            assert table[t, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-12)


def test_sinusoids_as_transformers():
    # GPT-J has all sines in front, and angles in float32: 1e-5 holds for these short texts.
    reference = gptj.create_sinusoidal_positions(T, D)
    ours = sinusoidal_positions(T, D)[:, pairing_permutation(D)]
    assert torch.allclose(ours, reference, **CLOSE)


@pytest.mark.parametrize("base", [2, 10_000, 500_000.0])
def test_one_matrix_for_each_shift(in_float64, base):
    table = sinusoidal_positions(2 * T, D, base=base)
    for offset in range(-T + 1, T):
        matrix = shift_matrix(offset, D, base=base)
        start = table[T - 1 : T + 1]  # both can move by every offset
        moved = table[T - 1 + offset : T + 1 + offset]
        assert torch.allclose(start @ matrix.mT, moved, **EXACT)
        assert torch.allclose(matrix @ matrix.mT, torch.eye(D), **EXACT)
        if offset:
            assert not torch.allclose(start @ matrix, moved, atol=1e-3)  # the wrong way


def test_shifts_far_out():
    table = sinusoidal_positions(10_001, 64)
    for offset in (1, 97, 5000, 10_000):
        moved = table[:-offset] @ shift_matrix(offset, 64).mT
        assert torch.allclose(moved, table[offset:], atol=1e-6)


# ALiBi


@pytest.mark.parametrize("heads", [1, 2, 3, 5, 7, 8, 11, 12, 16, 37, 112])
def test_alibi_as_bloom(heads):
    slopes_of_bloom = build_alibi_tensor(torch.ones(1, S), heads, torch.float64)[:, 0, 1]
    assert torch.allclose(alibi_slopes(heads).double(), slopes_of_bloom, rtol=1e-6, atol=0)
    scores = normal(heads, S, S, dtype=torch.float64)
    hidden = torch.zeros(S, S).masked_fill(~causal_mask(S), -torch.inf)
    bloom = scores + build_alibi_tensor(torch.ones(1, S), heads, torch.float64)
    ours = scores + alibi_bias(heads, S, S)
    # BLOOM adds slope * s, without the query's own place: a constant along each row.
    shift = (bloom - ours).detach()
    assert torch.allclose(shift.where(causal_mask(S), 0), shift[..., :1] * causal_mask(S))
    assert torch.allclose((ours + hidden).softmax(-1), (bloom + hidden).softmax(-1), **CLOSE)
    assert not torch.allclose((scores + hidden).softmax(-1), (bloom + hidden).softmax(-1), **CLOSE)


@pytest.mark.parametrize(("queries", "keys"), [(T, S), (S, T), (1, S), (T, 1), (T, T)])
def test_alibi_bias_entry_by_entry(queries, keys):
    bias = alibi_bias(H, queries, keys)
    for t in range(queries):
        for s in range(keys):
            distance = abs((keys - queries + t) - s)
            assert torch.equal(bias[:, t, s], -alibi_slopes(H) * distance)
    # The newest queries of a longer text see what they saw in it.
    longer = alibi_bias(H, max(queries, keys), max(queries, keys))
    assert torch.equal(bias, longer[:, -queries:, -keys:])
