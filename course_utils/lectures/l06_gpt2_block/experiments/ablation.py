"""What a head is worth to a GPT-2: a copy of the model in which some heads say nothing.

A head speaks through its own D columns of the output layer:
``out = sum_h head_h Wo[:, h D : (h + 1) D]^T + b``. With those columns at zero, whatever the head
read and computed stays unsaid. It costs no hook and no second forward pass: the copy is an ordinary
GPT-2, to run, trace and generate with. The layer's bias stays, since it belongs to no head.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable

import torch

from course_utils.checks import check_int, check_sequence
from course_utils.models.gpt2 import GPT2

__all__ = ["without_heads"]


def without_heads(model: GPT2, heads: Iterable[tuple[int, int]]) -> GPT2:
    """Return a copy of the model in which these heads write zeros, whatever they read.

    Their weights can still be traced: the heads look, and are not heard.

    Args:
        model: it stays as it was.
        heads: pairs (layer, head), both counted from 0. None at all gives a plain copy; a head
            that is named twice is silent once.

    Raises:
        TypeError: if model is no GPT2, heads no sequence of pairs, or a number no integer.
        ValueError: if a pair has not two numbers, or names a layer or head that is not there.

    Source: Michel, Levy, Neubig, "Are sixteen heads really better than one?", 2019, equation 2,
    with the mask variable of these heads at 0.

    >>> from course_utils.models.gpt2 import GPT2Config
    >>> model = GPT2(GPT2Config(31, 16, width=12, num_layers=2, num_heads=3))
    >>> silent = without_heads(model, [(1, 0), (1, 2)])
    >>> silent.blocks[1].attention.output.weight.abs().sum(dim=0).nonzero().flatten().tolist()
    [4, 5, 6, 7]
    """
    if not isinstance(model, GPT2):
        raise TypeError(f"model must be a GPT2, got {model!r:.40} ({type(model).__name__})")
    pairs = check_sequence("heads", heads, may_be_empty=True)
    named = [_check_head(f"heads[{index}]", pair, model) for index, pair in enumerate(pairs)]
    silent = copy.deepcopy(model)
    D = model.config.head_width
    with torch.no_grad():
        for layer, head in named:
            output = silent.get_submodule(f"blocks.{layer}.attention.output")
            output.get_parameter("weight")[:, head * D : (head + 1) * D] = 0
    return silent


def _check_head(name: str, pair: object, model: GPT2) -> tuple[int, int]:
    __tracebackhide__ = True
    numbers = check_sequence(name, pair, may_be_empty=True)
    if len(numbers) != 2:
        raise ValueError(f"{name} must be a pair (layer, head), got {pair!r}")
    config = model.config
    limits = {"layer": config.num_layers, "head": config.num_heads}
    layer, head = (
        check_int(f"{name}, its {part},", number, minimum=0, maximum=limit - 1)
        for (part, limit), number in zip(limits.items(), numbers, strict=True)
    )
    return layer, head
