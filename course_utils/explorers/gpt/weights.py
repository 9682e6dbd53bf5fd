"""A GPT-2 of the course as the browser takes it: gpt.js reads what is packed here."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.models.gpt2 import GPT2
from course_utils.models.plain import check_plain

__all__ = ["mean_outputs", "packed"]


def packed(model: GPT2, half: bool = True) -> dict[str, Any]:
    """Return a model's sizes and weights, for `given` of an explorer and `loadGPT` of gpt.js.

    Args:
        model: a GPT-2 with all its parts, whose query heads do not share keys and values.
        half: whether to send two bytes for each weight, rounded to float16, or four.

    Returns:
        `config`, the fields of its GPT2Config, and `weights`, an array for each name of the state.

    Raises:
        TypeError, ValueError: if it is not a GPT-2 with the layers and sizes of its config, query
            heads share keys and values, or a weight is not finite as sent.

    >>> from course_utils.models.gpt2 import GPT2Config
    >>> model = GPT2(GPT2Config(vocab_size=31, max_positions=8, width=12, num_heads=3))
    >>> sent = packed(model)
    >>> sent["config"]["num_heads"], sent["weights"]["blocks.0.attention.query.weight"].dtype
    (3, dtype('float16'))
    """
    __tracebackhide__ = True
    check_plain(model)
    if (shared := model.config.num_kv_heads) is not None:
        raise ValueError(f"model must have num_kv_heads=None, got num_kv_heads={shared}")
    number = torch.float16 if half else torch.float32
    weights = {
        name: weight.detach().to("cpu", number).numpy()
        for name, weight in model.state_dict().items()
    }
    for name, weight in weights.items():
        if not (abs(weight) < float("inf")).all():
            raise ValueError(f"model must have weights that are finite as {weight.dtype}: {name}")
    return {"config": dataclasses.asdict(model.config), "weights": weights}


@torch.no_grad()
def mean_outputs(model: GPT2, texts: Iterable[Tensor]) -> Tensor:
    """Return the mean of each head's output over all tokens of some texts (B, T), (L, H, D).

    A head's output is its mixture of values, before the output projection: what `replaced` of
    gpt.js puts in its place.

    >>> from course_utils.models.gpt2 import GPT2Config
    >>> model = GPT2(GPT2Config(31, 8, 12, num_layers=2, num_heads=3))
    >>> tuple(mean_outputs(model, [torch.zeros(5, 7, dtype=torch.long)]).shape)
    (2, 3, 4)
    """
    blocks: list[Any] = list(model.blocks)
    sums, count = torch.zeros(len(blocks), model.config.width), 0

    def adds_to(sum_of_block: Tensor) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
        def add(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            sum_of_block.add_(inputs[0].sum((0, 1)))

        return add

    hooks = [
        block.attention.output.register_forward_pre_hook(adds_to(of_block))
        for block, of_block in zip(blocks, sums, strict=True)
    ]
    for text in texts:
        model(text)
        count += text.numel()
    for hook in hooks:
        hook.remove()
    return (sums / count).view(len(blocks), model.config.num_heads, -1)
