"""Silent heads: the copy does what a hook on the heads' output would do, and nothing else."""

import pytest
import torch

from lectures.l06b_learning.experiments.ablation import without_heads
from tests.core.support_gpt2 import CLOSE, D, H, ours, some_ids

IDS = some_ids(2, 7)


def with_zeros_by_hook(model, silent):
    """Run the model with zeros in the place of what these heads hand to W_O."""

    def zeros(layer):
        def put(_, arguments):
            heads = arguments[0].unflatten(-1, (H, D)).clone()
            heads[:, :, [head for at, head in silent if at == layer]] = 0
            return (heads.flatten(2),)

        return put

    handles = [
        block.attention.output.register_forward_pre_hook(zeros(layer))
        for layer, block in enumerate(model.blocks)
    ]
    try:
        return model(IDS)
    finally:
        for handle in handles:
            handle.remove()


@pytest.mark.parametrize("num_kv_heads", [None, 1])
@pytest.mark.parametrize("silent", [[(0, 0)], [(1, 2)], [(0, 1), (1, 0), (1, 2)], [(1, 1), (1, 1)]])
def test_silent_heads_hand_over_zeros(silent, num_kv_heads):
    model = ours(num_kv_heads=num_kv_heads)
    before, expected = model(IDS), with_zeros_by_hook(model, silent)
    found = without_heads(model, silent)(IDS)
    torch.testing.assert_close(found, expected, **CLOSE)
    assert (found - before).abs().max() > 1e-2
    torch.testing.assert_close(model(IDS), before, rtol=0, atol=0)


def test_a_silent_head_keeps_its_weights():
    model = ours()
    silent = without_heads(model, [(0, 1)])
    before, after = (each.trace(IDS).heads for each in (model, silent))
    assert torch.equal(before[0].weights, after[0].weights)
    assert (before[1].weights - after[1].weights).abs().max() > 1e-3
