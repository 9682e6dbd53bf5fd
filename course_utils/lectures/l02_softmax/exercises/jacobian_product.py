"""Exercise 2 of lecture 02: multiply by the Jacobian of a softmax without its matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from course_utils.measure.peak_memory import peak_bytes
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance, words
from course_utils.teaching.rows import row_index, wave
from course_utils.teaching.verdict import Verdict

__all__ = ["JACOBIAN_PRODUCT", "check_jacobian_product"]


def _dot(p, u):
    return (p * u).sum(dim=-1, keepdim=True)


def _jacobian_product(p, u):
    return p * (u - _dot(p, u))


def _product_probe(*shape: int, phase: float) -> Mapping[str, torch.Tensor]:
    p = torch.softmax(1.5 * wave(*shape, phase=phase), dim=-1)
    return {"p": p, "u": wave(*shape, phase=phase + 2.2) + 0.75}


def _product_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The row that came out worst, and its numbers."""
    p, u = inputs["p"], inputs["u"]
    expected = _jacobian_product(p, u)
    alike = isinstance(got, torch.Tensor) and got.shape == p.shape
    row = row_index(got, expected) if alike else (0,) * (p.ndim - 1)
    facts = {"dot": float(_dot(p, u)[row]), "total": float(u[row].sum())}
    facts |= {"mean": float(u[row].mean()), "p_first": float(p[row][0])}
    facts |= {"u_first": float(u[row][0]), "right_first": float(expected[row][0])}
    if alike:
        facts |= {"row_sum": float(got[row].sum()), "got_first": float(got[row][0])}
    return facts


JACOBIAN_PRODUCT = Exercise(
    title="The Jacobian's product without the Jacobian",
    difficulty=2,
    minutes=8,
    reference=_jacobian_product,
    probes=(
        _product_probe(5, 7, phase=0.3),
        _product_probe(2, 3, 5, phase=1.4),
        _product_probe(3, phase=0.9),
        # Long enough for a matrix to stand out, short enough for any laptop: it takes 1 MB.
        _product_probe(1, 509, phase=0.7),
    ),
    parts=("product",),
    facts=_product_facts,
    tolerance=Tolerance(relative=1e-4, absolute=1e-6),
    praise="p∘(u − p·u): one dot product a row instead of an S×S matrix. J is symmetric, so the "
    "same line carries a gradient back through the softmax.",
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
            "a plus",
            lambda p, u: p * (u + _dot(p, u)),
            "You add (p·u)·p where J = diag(p) − ppᵀ subtracts it: your row sums to {row_sum}, and "
            "changes of weights sum to 0.",
        ),
        Mistake(
            "the sum instead of the dot product",
            lambda p, u: p * (u - u.sum(dim=-1, keepdim=True)),
            "You subtract the plain sum of u, {total}. (ppᵀ)u is p times p·u, and p·u = {dot} "
            "weights each entry of u by its p.",
        ),
        Mistake(
            "the mean instead of the dot product",
            lambda p, u: p * (u - u.mean(dim=-1, keepdim=True)),
            "You subtract the plain mean of u, {mean}. It is the mean under p that counts: "
            "p·u = {dot}. Both agree where the weights are all alike.",
        ),
        Mistake(
            "the diagonal of the Jacobian",
            lambda p, u: p * (1 - p) * u,
            "You multiply each entry by p(1 − p), the derivative of a sigmoid. That is the "
            "diagonal of J. A score moves all weights of its row: the entries off the diagonal, "
            "−p_i·p_j, are missing, and your row sums to {row_sum} instead of 0.",
        ),
        Mistake(
            "p missing behind the dot product",
            lambda p, u: p * u - _dot(p, u),
            "You subtract p·u = {dot} itself from p∘u. (ppᵀ)u is the vector p times that number: "
            "your row sums to {row_sum} instead of 0.",
        ),
        Mistake(
            "p missing in front",
            lambda p, u: u - _dot(p, u),
            "You return u − p·u. Each entry still has to be multiplied by its p: a weight near 0 "
            "hardly moves. Weighted with p your row sums to 0; as it is, to {row_sum}.",
        ),
        Mistake(
            "the log-softmax instead",
            lambda p, u: u - p * u.sum(dim=-1, keepdim=True),
            "You return u − p·sum(u). That carries a gradient back through *log*-softmax. For the "
            "weights themselves it is p∘(u − p·u).",
        ),
        Mistake(
            "one dot product for all rows",
            lambda p, u: p * (u - (p * u).sum()),
            "You subtract one number from all rows: `.sum()` without an axis adds all of p∘u. Each "
            "row has its own Jacobian, and its own p·u: {dot} in this row, whose result sums to "
            "{row_sum} instead of 0.",
        ),
        Mistake(
            "dot products down the columns",
            lambda p, u: p * (u - (p * u).sum(dim=0)),
            "Your dot products run over the first axis. A row of weights is a distribution on the "
            "last one: p·u = {dot} in this row, `sum(dim=-1, keepdim=True)`.",
        ),
        Mistake(
            "softmax applied again",
            lambda p, u: _jacobian_product(torch.softmax(p, dim=-1), u),
            "You take the softmax of p. p holds weights already: J = diag(p) − ppᵀ needs them "
            "alone, not the scores.",
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


def check_jacobian_product(jacobian_product: Any) -> Verdict:
    """Judge ``jacobian_product(p, u)``: J u row by row, J = diag(p) − p pᵀ, without forming J.

    ``p`` holds weights on its last axis, ``u`` has its shape. A right answer is run once more on
    a row of 509, and its memory counted: whoever makes an S×S matrix is told so.

    >>> check_jacobian_product(lambda p, u: p * (u - (p * u).sum(dim=-1, keepdim=True))).passed
    True
    """
    verdict = JACOBIAN_PRODUCT.check(jacobian_product)
    if not verdict.passed:
        return verdict
    p, u = JACOBIAN_PRODUCT.probes[-1].values()
    S = p.shape[-1]
    peak = peak_bytes(lambda: jacobian_product(p.clone(), u.clone()))
    if peak < S * S * p.element_size():
        return verdict
    message = (
        f"The numbers are right. For a row of {S} your function held "
        f"{words(peak / 1e6)} MB at once, where p takes {words(p.nbytes / 1e6)}: somewhere it "
        f"makes a matrix of {S}×{S}. Multiply out (diag(p) − ppᵀ)u first; no matrix is left."
    )
    return Verdict(False, True, message, verdict.exercise)
