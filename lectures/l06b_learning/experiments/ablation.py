"""What a head is worth to a GPT-2: a copy of the model in which some heads write nothing.

A head writes to the stream through its own D columns of the output layer:
``out = sum_h head_h Wo[:, h D : (h + 1) D]^T + b``. With those columns at zero, whatever the head
computed stays unwritten. It costs no hook and no second forward pass: the copy is an ordinary
GPT-2, to run, trace and generate with. The layer's bias stays, since it belongs to no head.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable

import torch

from course_utils.models.gpt2 import GPT2


def without_heads(model: GPT2, heads: Iterable[tuple[int, int]]) -> GPT2:
    """Return a copy of the model in which these heads write zeros, whatever they attend to.

    Their weights can still be traced.

    Args:
        model: it stays as it was.
        heads: pairs (layer, head), both counted from 0.

    Source: Michel, Levy, Neubig, "Are sixteen heads really better than one?", 2019, equation 2,
    with the mask variable of these heads at 0.

    >>> from course_utils.models.gpt2 import GPT2Config
    >>> model = GPT2(GPT2Config(31, 16, width=12, num_layers=2, num_heads=3))
    >>> silent = without_heads(model, [(1, 0), (1, 2)])
    >>> silent.blocks[1].attention.output.weight.abs().sum(dim=0).nonzero().flatten().tolist()
    [4, 5, 6, 7]
    """
    silent = copy.deepcopy(model)
    D = model.config.head_width
    with torch.no_grad():
        for layer, head in heads:
            output = silent.get_submodule(f"blocks.{layer}.attention.output")
            output.get_parameter("weight")[:, head * D : (head + 1) * D] = 0
    return silent
