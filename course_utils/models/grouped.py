"""A trained GPT-2 whose heads share keys and values: the quick way to a small cache."""

import copy
from dataclasses import replace

from course_utils.checks import check_divides, check_instance
from course_utils.layers.gqa import GroupedQueryAttention
from course_utils.models.gpt2 import GPT2

__all__ = ["with_grouped_attention"]


def with_grouped_attention(model: GPT2, num_kv_heads: int) -> GPT2:
    """Return a copy of a model whose blocks average the keys' and values' heads in G groups.

    All other weights are copied. With G = H the copy computes what the model does. With fewer
    heads it is a rough start: Ainslie et al. train it on for a twentieth of the first training.

    Args:
        model: a GPT-2 in which each query head has keys and values of its own.
        num_kv_heads: heads of keys and values, G; they divide the model's heads.

    Raises:
        TypeError: if model is not a GPT2, or G not an integer.
        ValueError: if G is not positive or does not divide H, or the model's heads share already.

    Source: Ainslie et al., "GQA", 2023, section 2.1.

    >>> from course_utils.models.gpt2 import GPT2Config
    >>> model = GPT2(GPT2Config(vocab_size=101, max_positions=32, width=12, num_heads=6))
    >>> grouped = with_grouped_attention(model, num_kv_heads=2)
    >>> model.config.parameters - grouped.config.parameters == 12 * 2 * (12 + 1) * 8
    True
    """
    check_instance("model", model, GPT2, "a GPT2")
    config = model.config
    if config.num_kv_heads is not None:
        raise ValueError(
            "model must have num_kv_heads=None, heads that share nothing yet, "
            f"got num_kv_heads={config.num_kv_heads}"
        )
    check_divides("num_kv_heads", num_kv_heads, "num_heads", config.num_heads)
    grouped, sizes = copy.deepcopy(model), replace(config, num_kv_heads=num_kv_heads)
    grouped.config = sizes
    for block in grouped.blocks:
        block.config = sizes  # type: ignore
        shared = GroupedQueryAttention.from_multi_head(block.attention, num_kv_heads)  # type: ignore
        block.attention = shared.train(model.training)
    return grouped
