"""Grouped-query attention: as multi-head attention, as the fused function, and without copies.

With a cache: tests/core/test_grouped.py.
"""

import pytest
import torch
from torch.nn import functional as F

from course_utils.layers import KVCache, MultiHeadAttention, split_heads
from course_utils.layers.gqa import GroupedQueryAttention
from course_utils.masks import causal_mask
from course_utils.measure.peak_memory import peak_bytes

B, T, C, H, D = 2, 7, 30, 6, 5
GROUPS = (1, 2, 3, 6)
# Two float32 paths through a layer whose outputs are of size 1.
CLOSE = {"rtol": 0, "atol": 1e-5}


def multi_head(bias=True):
    return MultiHeadAttention(C, H, bias=bias)


def grouped(num_kv_heads, bias=True):
    return GroupedQueryAttention(C, H, num_kv_heads, bias=bias)


@pytest.mark.parametrize("num_kv_heads", GROUPS)
@pytest.mark.parametrize("bias", [True, False])
def test_as_the_fused_function(num_kv_heads, bias):
    layer, x = grouped(num_kv_heads, bias), torch.randn(B, T, C)
    q, k, v = (
        split_heads(project(x), heads)
        for project, heads in ((layer.query, H), (layer.key, num_kv_heads),
                               (layer.value, num_kv_heads))
    )  # fmt: skip
    per_head = torch.rand(B, H, T, T) < 0.7
    for mask in (None, causal_mask(T), per_head, per_head[:, :1], per_head[:1, :, :1]):
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
        expected = layer.output(mixed.transpose(1, 2).flatten(2))
        out, heads = layer(x, may_attend=mask)
        torch.testing.assert_close(out, expected, **CLOSE)
        torch.testing.assert_close(heads.queries, q)
        torch.testing.assert_close(heads.keys, k)


# Nothing is copied for a second query head.


@torch.no_grad()
@pytest.mark.parametrize("num_kv_heads", [1, 2, 3])
def test_no_copy_for_every_query_head(num_kv_heads):
    layer, x, S = grouped(num_kv_heads), torch.ones(B, 1, C), 503
    cache, ones = KVCache(), torch.randn(2, B, num_kv_heads, S, D)
    cache.append(*ones)  # its buffers are not the question here
    cache.length -= 1
    assert peak_bytes(lambda: layer(x, cache=cache)) < B * H * S * D * x.element_size()


# From multi-head attention.


@pytest.mark.parametrize("num_kv_heads", GROUPS)
@pytest.mark.parametrize("bias", [True, False])
def test_shared_heads_are_means(num_kv_heads, bias):
    layer = multi_head(bias).double()
    found = GroupedQueryAttention.from_multi_head(layer, num_kv_heads)
    times = H // num_kv_heads
    for name in ("key", "value"):
        ours, theirs = found.get_submodule(name), layer.get_submodule(name)
        for g in range(num_kv_heads):
            rows = [slice(h * D, (h + 1) * D) for h in range(g * times, (g + 1) * times)]
            mean = sum(theirs.weight[each] for each in rows) / times
            torch.testing.assert_close(ours.weight[g * D : (g + 1) * D], mean)
            if bias:
                mean = sum(theirs.bias[each] for each in rows) / times
                torch.testing.assert_close(ours.bias[g * D : (g + 1) * D], mean)
    for name in ("query", "output"):
        assert torch.equal(found.get_submodule(name).weight, layer.get_submodule(name).weight)
    assert all(weight.dtype == torch.float64 for weight in found.parameters())
