"""Converting a trained GPT-2 to grouped-query attention, for a smaller cache."""

import copy
from dataclasses import replace

from course_utils.layers.gqa import GroupedQueryAttention
from course_utils.models.gpt2 import GPT2
from course_utils.models.plain import check_plain

__all__ = ["with_grouped_attention"]


def with_grouped_attention(model: GPT2, num_kv_heads: int) -> GPT2:
    """Return a copy of a model with the heads of keys and values averaged in G groups.

    All other weights are copied. With G = H the copy computes the same as the model. With fewer
    heads it needs more training: Ainslie et al. use a twentieth of the original training.

    Args:
        model: a GPT-2 in which each query head has keys and values of its own.
        num_kv_heads: heads of keys and values, G; they divide the model's heads.

    Raises:
        TypeError, ValueError: if the model is wrapped or adapted, or G does not divide its heads.

    Source: Ainslie et al., "GQA", 2023, section 2.1.

    >>> from course_utils.models.gpt2 import GPT2Config
    >>> model = GPT2(GPT2Config(vocab_size=101, max_positions=32, width=12, num_heads=6))
    >>> grouped = with_grouped_attention(model, num_kv_heads=2)
    >>> model.config.parameters - grouped.config.parameters == 12 * 2 * (12 + 1) * 8
    True
    """
    check_plain(model)
    grouped, sizes = copy.deepcopy(model), replace(model.config, num_kv_heads=num_kv_heads)
    grouped.config = sizes
    for block in grouped.blocks:
        block.config = sizes  # type: ignore
        shared = GroupedQueryAttention.from_multi_head(block.attention, num_kv_heads)  # type: ignore
        block.attention = shared.train(model.training)
    return grouped
