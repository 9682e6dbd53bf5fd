"""The right softmax of lecture 02, and the numbers that messages quote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from course_utils.teaching.rows import row_in_words, row_index


def shares(exponentials: Tensor) -> Tensor:
    """Each exponential divided by the sum of its row."""
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


def right_softmax(scores: Tensor, may_attend: Tensor | None = None) -> Tensor:
    """The right answer."""
    if may_attend is not None:
        scores = scores.masked_fill(~may_attend, -torch.inf)
    largest = scores.amax(dim=-1, keepdim=True)
    exponentials = torch.exp(scores - largest.masked_fill(largest == -torch.inf, 0.0))
    return exponentials / exponentials.sum(dim=-1, keepdim=True).clamp(min=1.0)


def facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The row of scores that came out worst, what it gave, and some sums."""
    scores = inputs["scores"]
    expected = right_softmax(**inputs)
    alike = isinstance(got, torch.Tensor) and got.shape == scores.shape
    row = row_index(got, expected) if alike else (0,) * (scores.ndim - 1)
    facts = {"row": row_in_words(scores[row]), "right": row_in_words(expected[row])}
    facts |= {"global": float(scores.max())}
    if alike:
        facts |= {"gave": row_in_words(got[row]), "row_sum": float(got[row].sum())}
        facts |= {"all_sum": float(got.sum()), "first_axis_sum": float(got.sum(dim=0).flatten()[0])}
        if "may_attend" in inputs:
            seen = inputs["may_attend"].expand_as(scores)[row]
            facts |= {"hidden": float(got[row][~seen].sum())}
            facts["rows"] = (
                f"A row is {facts['row']}, with may_attend {seen.int().tolist()}: "
                f"you gave {facts['gave']}"
            )
    return facts
