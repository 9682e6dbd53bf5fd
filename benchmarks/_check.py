"""A wrong kernel gets no figure: what a rival returns is held against the formula first."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from benchmarks._cases import Case
from course_utils.kernels.reference import attend_reference

# Allowed: eight times the dtype's rounding, over a block of rows. For float32 that also catches a
# product rounded to TF32, which is off by 3e-4.
TOLERANCE = {"float32": 1e-4, "float16": 4e-3, "bfloat16": 1.6e-2}
ROWS = 512  # of the reference at once: its matrix stays small
BLOCKS = 8  # along the sequence, each of which must be right: late rows are small where causal


class CannotRun(Exception):
    """Why something is not measured, in words."""


def reason(error: Exception) -> str:
    """Return why something is left out, in one line."""
    first = [*str(error).strip().splitlines(), ""][0]
    return first if isinstance(error, CannotRun) else f"{type(error).__name__}: {first}"


def checked_error(case: Case, device: str, results: list[Tensor]) -> float:
    """Return how far the output and the gradients are off; raise CannotRun where that is wrong."""
    error = worst_error(case, device, results)
    if not error <= TOLERANCE[case.dtype]:
        raise CannotRun(f"wrong: off by {error:.1e}, allowed {TOLERANCE[case.dtype]:.0e}")
    return error


def worst_error(case: Case, device: str, results: list[Tensor]) -> float:
    """Return the largest relative error of a block of rows: of the output or of a gradient.

    Heads do not meet one another, so that the first and the last key/value head, whole, show what
    a kernel does wrong. NaN counts as infinitely wrong.
    """
    worst = 0.0
    for end, expected in zip((0, -1), references(case, device), strict=True):
        for got, right in zip(picked(case, results, end), expected, strict=True):
            for ours, block in zip(got.chunk(BLOCKS, 2), right.chunk(BLOCKS, 2), strict=True):
                error = ((ours.to(block.dtype) - block).norm() / block.norm()).item()
                worst = max(worst, error if error == error else float("inf"))
    return worst


@lru_cache(maxsize=2)  # of a case, its rivals have one or two shapes
def references(case: Case, device: str) -> list[list[Tensor]]:
    """Return output and gradients of the first and of the last key/value head."""
    return [reference(case, device, end) for end in (0, -1)]


def picked(case: Case, tensors: list[Tensor], end: int) -> list[Tensor]:
    """Return the first (0) or the last (-1) group of heads, of the same batch entry."""
    batch = slice(0, 1) if end == 0 else slice(case.B - 1, case.B)
    sizes = [tensor.shape[1] // case.G for tensor in tensors]
    heads = [slice(0, size) if end == 0 else slice(-size, None) for size in sizes]
    return [tensor[batch, part] for tensor, part in zip(tensors, heads, strict=True)]


def reference(case: Case, device: str, end: int) -> list[Tensor]:
    """Compute a few rows at a time; float64, or float32 for 16 bits."""
    wide = torch.float64 if case.dtype == "float32" else torch.float32
    *heads, slope = picked(case, [*case.inputs(device), case.slope(device)], end)
    q, k, v = (tensor.to(wide).requires_grad_() for tensor in heads)
    out, sums = [], [torch.zeros_like(tensor) for tensor in (q, k, v)]
    for start in range(0, case.N, ROWS):
        rows = slice(start, min(start + ROWS, case.N))
        seen = slice(0, rows.stop if case.causal else case.N)
        part, _ = attend_reference(
            q[:, :, rows], k[:, :, seen], v[:, :, seen], causal=case.causal, scale=case.D**-0.5
        )
        out.append(part.detach())
        gradients = torch.autograd.grad(part, (q, k, v), slope[:, :, rows].to(wide))
        for total, gradient in zip(sums, gradients, strict=True):
            total += gradient
    return [torch.cat(out, dim=2), *sums]
