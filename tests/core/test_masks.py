"""Masks against their definitions, written out pair by pair."""

import torch
from torch.nn.attention.bias import causal_lower_right

from course_utils.masks import (
    causal_mask,
    padding_mask,
    prefix_mask,
    same_document_mask,
    sliding_window_mask,
)
from tests.core.support_properties import given, st

SIZE = st.integers(1, 13)


def pairs(T, S, may_read):
    return torch.tensor([[may_read(t, s) for s in range(S)] for t in range(T)])


@given(T=SIZE, S=SIZE)
def test_causal_mask_pair_by_pair(T, S):
    assert torch.equal(causal_mask(T), causal_mask(T, T))
    assert torch.equal(causal_mask(T, S), pairs(T, S, lambda t, s: s <= t + S - T))


def test_causal_mask_as_torch():
    q, k = torch.randn(2, 1, 3, 8), torch.randn(2, 1, 7, 8)
    attention = torch.nn.functional.scaled_dot_product_attention
    ours = attention(q, k, k, attn_mask=causal_mask(3, 7))
    lower_right = attention(q, k, k, attn_mask=causal_lower_right(3, 7))
    top_left = attention(q, k, k, is_causal=True)
    # Same computation, float32: a few roundings apart.
    assert torch.allclose(ours, lower_right, atol=1e-6)
    assert not torch.allclose(ours, top_left, atol=1e-2)


@given(T=SIZE, window=st.integers(1, 17))
def test_sliding_window_pair_by_pair(T, window):
    expected = pairs(T, T, lambda t, s: t - window + 1 <= s <= t)
    assert torch.equal(sliding_window_mask(T, window), expected)


@given(data=st.data(), T=SIZE)
def test_prefix_pair_by_pair(data, T):
    prefix = data.draw(st.integers(0, T))
    expected = pairs(T, T, lambda t, s: s < prefix or s <= t)
    assert torch.equal(prefix_mask(T, prefix), expected)


@given(lengths=st.lists(st.integers(0, 11), min_size=1, max_size=5))
def test_padding_pair_by_pair(lengths):
    mask = padding_mask(lengths, 11)
    assert mask.shape == (len(lengths), 1, 1, 11)
    assert torch.equal(mask[:, 0, 0], pairs(len(lengths), 11, lambda b, s: s < lengths[b]))


def test_padding_from_a_tensor():
    assert torch.equal(padding_mask(torch.tensor([2, 5]), 7), padding_mask([2, 5], 7))


@given(lengths=st.lists(st.integers(1, 7), min_size=1, max_size=5))
def test_same_document_pair_by_pair(lengths):
    T = sum(lengths)
    document = [which for which, length in enumerate(lengths) for _ in range(length)]
    expected = pairs(T, T, lambda t, s: document[t] == document[s])
    assert torch.equal(same_document_mask(lengths), expected)
    blocks = [torch.ones(length, length, dtype=torch.bool) for length in lengths]
    assert torch.equal(expected, torch.block_diag(*blocks).bool())


def test_same_document_from_a_tensor():
    assert torch.equal(same_document_mask(torch.tensor([2, 5])), same_document_mask([2, 5]))


def test_the_device_of_the_causal_mask():
    assert causal_mask(3, device="meta").device.type == "meta"
