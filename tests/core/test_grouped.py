"""A GPT-2 whose query heads share keys and values: the same model at G = H, its cache and files."""

import pytest
import torch

from course_utils.layers.gqa import GroupedQueryAttention
from course_utils.models.gpt2 import GPT2
from course_utils.models.grouped import with_grouped_attention
from tests.core.support_gpt2 import ours, some_ids

B, T, C, H, D, L = 2, 7, 30, 6, 5, 2
GROUPS = (1, 2, 3, 6)
SIZES = {"width": C, "num_heads": H}
# Two float32 paths through two blocks; what they compute is of size 1.
CLOSE = {"rtol": 0, "atol": 1e-5}


@pytest.fixture(scope="module")
def ids():
    return some_ids(B, T)


def test_as_many_groups_as_heads(ids):
    model = ours(**SIZES).eval()
    same = with_grouped_attention(model, H)
    assert torch.equal(same(ids), model(ids))
    assert not any(part.training for part in same.modules())
    assert same.config.parameters == model.config.parameters


@pytest.mark.parametrize("num_kv_heads", GROUPS)
def test_parameters_by_formula(num_kv_heads):
    pooled = with_grouped_attention(ours(**SIZES), num_kv_heads)
    built = GPT2(pooled.config)
    for model in (pooled, built):
        assert sum(weight.numel() for weight in model.parameters()) == model.config.parameters
        block = sum(weight.numel() for weight in model.blocks[0].parameters())
        assert block == model.config.block_parameters
        assert isinstance(model.blocks[0].attention, GroupedQueryAttention)
    assert pooled.state_dict().keys() == built.state_dict().keys() == ours().state_dict().keys()


@pytest.mark.parametrize("num_kv_heads", GROUPS)
def test_cached_steps_equal_the_full_pass(num_kv_heads, ids):
    model = with_grouped_attention(ours(**SIZES), num_kv_heads)
    expected = model(ids)
    for chunks in ([1] * T, [3, 4]):
        caches = model.new_caches()
        parts = [model(part, caches=caches) for part in ids.split(chunks, dim=1)]
        torch.testing.assert_close(torch.cat(parts, dim=1), expected, **CLOSE)
    _, heads = model.trace(ids)
    assert [of_block.keys.shape for of_block in heads] == [(B, num_kv_heads, T, D)] * L
    assert [of_block.weights.shape for of_block in heads] == [(B, H, T, T)] * L


def test_the_model_is_left_as_it_was(ids):
    model = ours(**SIZES)
    before = model(ids)
    grouped = with_grouped_attention(model, 2)
    with torch.no_grad():
        for weight in grouped.parameters():
            weight.zero_()
    assert torch.equal(model(ids), before) and model.config.num_kv_heads is None
