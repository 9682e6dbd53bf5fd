"""Exercise 2 of lecture 02: multiply by the Jacobian of a softmax without its matrix."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from course_utils.measure.peak_memory import peak_bytes
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.rows import row_index, wave
from course_utils.teaching.watched import Watched

__all__ = ["JACOBIAN_PRODUCT"]


def _dot(p, u):
    return (p * u).sum(dim=-1, keepdim=True)


def _jacobian_product(p, u):
    return p * (u - _dot(p, u))


def _probe(*shape: int, phase: float) -> Mapping[str, torch.Tensor]:
    p = torch.softmax(1.5 * wave(*shape, phase=phase), dim=-1)
    return {"p": p, "u": wave(*shape, phase=phase + 2.2) + 0.75}


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The row that came out worst, and its numbers."""
    p, u = inputs["p"], inputs["u"]
    expected = _jacobian_product(p, u)
    alike = isinstance(got, torch.Tensor) and got.shape == p.shape
    row = row_index(got, expected) if alike else (0,) * (p.ndim - 1)
    facts = {"dot": float(_dot(p, u)[row]), "total": float(u[row].sum()), "S": p.shape[-1]}
    facts |= {"p_first": float(p[row][0]), "right_first": float(expected[row][0])}
    if alike:
        facts |= {"row_sum": float(got[row].sum()), "got_first": float(got[row][0])}
    return facts


class _MemoryWatched(Watched):
    """Beside the product: 1 if as many bytes were held at once as a matrix S×S takes, else 0."""

    def __init__(self, answer: Any) -> None:
        super().__init__(answer, lambda value, p, u: (value, int(self.peak >= _matrix_bytes(p))))

    def run(self, *inputs: Any) -> Any:
        values = []
        tracemalloc.start()  # numpy's memory, which torch does not count
        try:
            of_torch = peak_bytes(lambda: values.append(self.answer(*inputs)))
            self.peak = max(of_torch, tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        return values[0]


def _matrix_bytes(p: torch.Tensor) -> int:
    return p.shape[-1] ** 2 * p.element_size()


_stage = partial(
    Exercise,
    title="The Jacobian's product without the Jacobian",
    difficulty=2,
    minutes=8,
    function="jacobian_product",
    reference=_jacobian_product,
    facts=_facts,
    tolerance=Tolerance(relative=1e-4, absolute=1e-6),
)

_WITHOUT_THE_MATRIX = _stage(
    # Long enough for a matrix to stand out, short enough for any laptop: it takes 1 MB.
    probes=(_probe(1, 509, phase=0.7),),
    parts=("product", "matrix"),
    watch=_MemoryWatched,
    praise="p∘(u − p·u): one dot product a row instead of an S×S matrix. J is symmetric, so the "
    "same line carries a gradient back through the softmax.",
    mistakes=(
        Mistake(
            "the matrix",
            lambda p, u: p * u - (p.unsqueeze(-1) * p.unsqueeze(-2) @ u.unsqueeze(-1)).squeeze(-1),
            "The numbers are right. But for a row of {S} your function held at least {S}·{S} "
            "numbers at once: somewhere it makes a matrix of {S}×{S}. Multiply out "
            "(diag(p) − ppᵀ)u first; no matrix is left.",
        ),
    ),
)

JACOBIAN_PRODUCT = _stage(
    probes=(_probe(5, 7, phase=0.3), _probe(2, 3, 5, phase=1.4), _probe(3, phase=0.9)),
    parts=("product",),
    praise="The product is right.",
    then=(_WITHOUT_THE_MATRIX,),
    mistakes=(
        Mistake(
            "the diagonal matrix alone",
            lambda p, u: p * u,
            "You multiply by diag(p) alone, and your row sums to {row_sum}. Weights keep the sum "
            "1, so their changes must sum to 0: the other half of J, −ppᵀ, takes p·u = {dot} "
            "times p away.",
        ),
        Mistake(
            "the other sign",
            lambda p, u: p * (_dot(p, u) - u),
            "Your product has the other sign: for a row with p[0] = {p_first} you gave {got_first} "
            "first, and {right_first} is right. J is diag(p) − ppᵀ: first p∘u, less (p·u)·p.",
        ),
        Mistake(
            "the sum instead of the dot product",
            lambda p, u: p * (u - u.sum(dim=-1, keepdim=True)),
            "You subtract the plain sum of u, {total}. (ppᵀ)u is p times p·u, and p·u = {dot} "
            "weights each entry of u by its p.",
        ),
        Mistake(
            "the diagonal of the Jacobian",
            lambda p, u: p * (1 - p) * u,
            "You multiply each entry by p(1 − p), the derivative of a sigmoid. That is the "
            "diagonal of J. A score moves all weights of its row: the entries off the diagonal, "
            "−p_i·p_j, are missing, and your row sums to {row_sum} instead of 0.",
        ),
        Mistake(
            "p missing in front",
            lambda p, u: u - _dot(p, u),
            "You return u − p·u. Each entry still has to be multiplied by its p: a weight near 0 "
            "hardly moves. Weighted with p your row sums to 0; as it is, to {row_sum}.",
        ),
        Mistake(
            "one dot product for all rows",
            lambda p, u: p * (u - (p * u).sum()),
            "You subtract one number from all rows: `.sum()` without an axis adds all of p∘u. Each "
            "row has its own Jacobian, and its own p·u: {dot} in this row, whose result sums to "
            "{row_sum} instead of 0.",
        ),
        Mistake(
            "axis dropped",
            lambda p, u: p * (u - (p * u).sum(dim=-1)),
            "The sum over the last axis drops it: (5, 7) becomes (5,), and torch lines the 5 up "
            "with the 7 columns. `keepdim=True` keeps a column (5, 1).",
        ),
        Mistake(
            "a matrix product for the dot products",
            lambda p, u: p * (u - p @ u),
            "`p @ u` multiplies matrices, and (5, 7) by (5, 7) does not fit. Row by row the dot "
            "product is `(p * u).sum(dim=-1, keepdim=True)`.",
        ),
    ),
)
