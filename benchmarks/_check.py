"""A wrong kernel gets no figure: what a rival returns is held against the formula first."""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks._cases import Case
from course_utils.kernels.reference import attend_reference

# Allowed: eight times the dtype's rounding, over a block of rows. For float32 that also catches a
# product rounded to TF32, which is off by 3e-4.
TOLERANCE = {"float32": 1e-4, "float16": 4e-3, "bfloat16": 1.6e-2}
ROWS = 512  # of the reference at once: its matrix stays small
BLOCKS = 8  # along the sequence, each of which must be right: late rows are small where causal


def references(case: Case, inputs: list[Tensor], slope: Tensor | None) -> list[list[Tensor]]:
    """Return for the first and the last key/value head what `picked` takes from a result.

    Heads do not meet one another, so that two of them, whole, show what a kernel does wrong.
    """
    return [_reference(case, picked(case, inputs, end), slope, end) for end in (0, -1)]


def picked(case: Case, tensors: list[Tensor], end: int) -> list[Tensor]:
    """Return the first (0) or the last (-1) group of heads, of the same batch entry."""
    batch = slice(0, 1) if end == 0 else slice(case.B - 1, case.B)
    chosen = []
    for tensor in tensors:
        size = tensor.shape[1] // case.G
        heads = slice(0, size) if end == 0 else slice(tensor.shape[1] - size, None)
        chosen.append(tensor[batch, heads])
    return chosen


def _reference(case: Case, heads: list[Tensor], slope: Tensor | None, end: int) -> list[Tensor]:
    """Compute output and gradients a few rows at a time; float64, or float32 for 16 bits."""
    wide = torch.float64 if case.dtype == "float32" else torch.float32
    q, k, v = (tensor.detach().to(wide).requires_grad_(slope is not None) for tensor in heads)
    out, sums = [], [torch.zeros_like(tensor) for tensor in (q, k, v)]
    for start in range(0, case.N, ROWS):
        stop = min(start + ROWS, case.N)
        seen = slice(0, stop if case.causal else case.N)
        part, _ = attend_reference(
            q[:, :, start:stop],
            k[:, :, seen],
            v[:, :, seen],
            causal=case.causal,
            scale=case.D**-0.5,
        )
        out.append(part.detach())
        if slope is not None:
            given = picked(case, [slope], end)[0][:, :, start:stop].to(wide)
            for total, grad in zip(sums, torch.autograd.grad(part, (q, k, v), given), strict=True):
                total += grad
    whole = torch.cat(out, dim=2)
    return [whole] if slope is None else [whole, *sums]


def worst_error(case: Case, results: list[Tensor], expected: list[list[Tensor]]) -> float:
    """Return the largest relative error of a block of rows: of the output or of a gradient.

    NaN counts as infinitely wrong.
    """
    worst = 0.0
    for end, references in zip((0, -1), expected, strict=True):
        for got, right in zip(picked(case, results, end), references, strict=False):
            for ours, block in zip(got.chunk(BLOCKS, 2), right.chunk(BLOCKS, 2), strict=True):
                error = ((ours.to(block.dtype) - block).norm() / block.norm()).item()
                worst = max(worst, error if error == error else float("inf"))
    return worst
