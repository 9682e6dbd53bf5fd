"""Splitting into heads, and what a head is: entry by entry, in matrices, in ranks, in counts."""

import pytest
import torch

from course_utils.layers import MultiHeadAttention, merge_heads, split_heads
from course_utils.measure.costs import attention_parameters
from tests.core.support_properties import given, st

B, T, C, H = 2, 7, 15, 3
D = C // H


def numbered(B=B, T=T, C=C):
    """Every entry is another number, so that any mixing shows."""
    return torch.arange(B * T * C).float().view(B, T, C)


@given(B=st.integers(1, 3), T=st.integers(1, 5), H=st.integers(1, 5), D=st.integers(1, 4))
def test_split_entry_by_entry(B, T, H, D):
    x = numbered(B, T, H * D)
    split = split_heads(x, H)
    assert split.shape == (B, H, T, D)
    for b in range(B):
        for h in range(H):
            for t in range(T):
                assert torch.equal(split[b, h, t], x[b, t, h * D : (h + 1) * D])
    assert torch.equal(merge_heads(split), x)


@pytest.mark.parametrize("num_heads", [1, 3, 5, 15])
def test_parameters_by_formula(num_heads):
    """Correction 11: 4 C^2 for every h."""
    for bias in (True, False):
        layer = MultiHeadAttention(C, num_heads, bias=bias)
        counted = sum(p.numel() for p in layer.parameters())
        assert counted == attention_parameters(C, bias=bias) == 4 * C * C + 4 * C * bias
