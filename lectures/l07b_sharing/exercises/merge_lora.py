"""Exercise 1: merge a low-rank change into the matrix that it changes.

``W + (alpha / r) B A`` with A (r, in) and B (out, r) (Hu et al. 2021, section 4.1, whose letters
these are). The same as ``layers.lora.LoRALinear.merge`` leaves in the layer. Judged are the sum and
that W is left as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.watched import watched


def _with_what_became_of_W(merged: Any, W: Tensor, *others: Any) -> tuple[Any, Tensor]:
    return merged, W


def _merge(W, A, B, alpha):
    return W + alpha / len(A) * B @ A


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    W, A, B, alpha = inputs.values()
    r, scale = len(A), alpha / len(A)
    change = scale * B @ A
    place = divmod(int(change.abs().argmax()), W.shape[1])
    facts: dict[str, Any] = {"r": r, "in": W.shape[1], "out": W.shape[0], "scale": scale}
    facts |= {"row": place[0], "column": place[1]}
    facts |= {"was": float(W[place]), "change": float(change[place])}
    facts["want"] = float((W + change)[place])
    if isinstance(got, tuple) and isinstance(got[0], Tensor) and got[0].shape == W.shape:
        facts["moved"] = float(got[0][place] - W[place])
    return facts


def _probe(rows: int, columns: int, r: int, alpha: float, phase: float) -> Mapping[str, Any]:
    def wave(m: int, n: int, speed: float) -> Tensor:
        return torch.sin(torch.arange(m * n) * speed + phase).reshape(m, n)

    return {
        "W": 2 * wave(rows, columns, 1.7),
        "A": wave(r, columns, 2.3),
        "B": wave(rows, r, 1.1),
        "alpha": alpha,
    }


_AT = "W[{row}, {column}] is {was} and should move by {change}, to {want}; yours moves by {moved}. "

MERGE_LORA = Exercise(
    title="Merge a LoRA",
    difficulty=1,
    minutes=6,
    function="merge",
    reference=_merge,
    watch=partial(watched, look=_with_what_became_of_W),
    probes=(
        _probe(7, 5, 3, 6.0, 0.3),
        _probe(5, 11, 2, 5.0, 1.1),
    ),
    parts=("merged", "W"),
    facts=_facts,
    tolerance=Tolerance(relative=1e-4, absolute=1e-5),
    praise="Merged, the layer costs what it did before: one matrix of the same shape. W is as it "
    "was, so another adapter can be merged into it tomorrow.",
)


@MERGE_LORA.mistake()
def W_changed_in_place(W, A, B, alpha):
    """The sum is right, and the W that you were given has changed: W[{row}, {column}] was {was}.
    `W +=`, `add_` and `addmm_` write into it. Every other adapter was trained for the W of before:
    make a new tensor, `W + …`."""
    W += alpha / len(A) * B @ A
    return W


@MERGE_LORA.mistake()
def W_alone(W, A, B, alpha):
    """You return W as it was: the change is not in it. Return the sum, `W + …`."""
    return W


# Of the results alone, since whoever writes `W += …` may have the wrong factor as well.


@MERGE_LORA.mistake(part=0, begins=_AT)
def no_scale(W, A, B, alpha):
    """The factor alpha/r = {alpha}/{r} = {scale} is missing."""
    return W + B @ A


@MERGE_LORA.mistake(part=0, begins=_AT)
def alpha_not_divided(W, A, B, alpha):
    """You multiply by alpha = {alpha}; the factor is alpha/r = {scale}, so that a larger rank does
    not mean a larger change."""
    return W + alpha * B @ A


@MERGE_LORA.mistake(part=0, begins=_AT)
def alpha_forgotten(W, A, B, alpha):
    """You divide by r = {r}, but the factor is alpha/r = {scale}: alpha is missing."""
    return W + B @ A / len(A)


@MERGE_LORA.mistake(part=0, begins=_AT)
def divided_without_the_rest(W, A, B, alpha):
    """Your factor is a whole number: {alpha} // {r} drops what is left over. With one `/`,
    alpha/r = {scale}."""
    return W + alpha // len(A) * B @ A


@MERGE_LORA.mistake(part=0, begins=_AT)
def subtracted(W, A, B, alpha):
    """The size is right, the sign is not: the change is added to W."""
    return W - alpha / len(A) * B @ A


@MERGE_LORA.mistake(part=0, begins=_AT)
def upside_down(W, A, B, alpha):
    """Your factor is r/alpha, upside down: alpha/r = {scale}."""
    return W + len(A) / alpha * B @ A


@MERGE_LORA.mistake(part=0, begins=_AT)
def divided_by_the_width_of_the_output(W, A, B, alpha):
    """You divide by {out}, the width of the output, which is B's first axis. The rank is its
    second: B (out, r), r = {r}."""
    return W + alpha / len(B) * B @ A


@MERGE_LORA.mistake(part=0, begins=_AT)
def divided_by_the_width_of_the_input(W, A, B, alpha):
    """You divide by {in}, the width of the input, which is A's second axis. The rank is its first:
    A (r, in), r = {r}."""
    return W + alpha / A.shape[1] * B @ A


@MERGE_LORA.mistake()
def the_change_alone(W, A, B, alpha):
    """You return the change, (alpha/r)·B·A, without the W that it changes."""
    return alpha / len(A) * B @ A


@MERGE_LORA.mistake(part=0, begins=_AT)
def all_of_it_scaled(W, A, B, alpha):
    """W is multiplied by alpha/r = {scale} as well. The factor is for the change."""
    return alpha / len(A) * (W + B @ A)


@MERGE_LORA.mistake()
def A_times_B(W, A, B, alpha):
    """`A @ B` multiplies (r, in) = ({r}, {in}) by (out, r) = ({out}, {r}). A comes first in the
    computation, and so stands on the right: `B @ A` is (out, in), as W."""
    return A @ B


@MERGE_LORA.mistake()
def transposed(W, A, B, alpha):
    """`A.T @ B.T` is (in, out) = ({in}, {out}), the change transposed; W is (out, in). `B @ A` has
    its shape."""
    return W + alpha / len(A) * A.T @ B.T
