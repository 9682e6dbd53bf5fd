"""Rows of numbers for exercises: probes, and how a message quotes them."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def wave(*shape: int, phase: float) -> Tensor:
    """Numbers between -2 and 2 without a pattern that a swapped axis would keep.

    >>> wave(2, 3, phase=0.0).round(decimals=2).tolist()[1]
    [-1.850000023841858, 0.9900000095367432, 1.600000023841858]
    """
    return 2 * torch.sin(torch.arange(math.prod(shape)) * 1.7 + phase).reshape(shape)


def row_in_words(row: Tensor) -> str:
    """A row of numbers as a message quotes it; of a long one, its beginning.

    >>> row_in_words(torch.tensor([1000.0, -torch.inf, torch.nan]))
    '(1000, −∞, NaN)'
    """
    numbers = ", ".join(f"{number:.4g}" for number in row[:5].tolist())
    numbers = numbers.replace("-inf", "−∞").replace("inf", "∞").replace("nan", "NaN")
    return f"({numbers}, …)" if len(row) > 5 else f"({numbers})"


def row_index(got: Tensor, expected: Tensor) -> tuple[int, ...]:
    """Where, on all axes but the last, the row lies that is furthest off; NaN is furthest.

    >>> row_index(torch.tensor([[1.0, 2.0], [3.0, 9.0]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    (1,)
    """
    gaps = (got.detach() - expected).abs().nan_to_num(nan=torch.inf).amax(dim=-1)
    return tuple(int(i) for i in torch.unravel_index(gaps.argmax(), gaps.shape))
