"""Exercise 3 of lecture 07: merge a low-rank change into the matrix that it changes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.verdict import Verdict
from course_utils.teaching.watched import watched

__all__ = ["MERGE_LORA", "check_merge_lora"]


def _look(merged: Any, W: Tensor, *others: Any) -> tuple[Any, Tensor]:
    """What came back, and what has become of W."""
    return merged, W


def _scaled(scale: Callable[[Tensor, Tensor, float], float]) -> Callable[..., Tensor]:
    """W plus the change, times ``scale(A, B, alpha)``."""
    return lambda W, A, B, alpha: W + scale(A, B, alpha) * B @ A


_merge = _scaled(lambda A, B, alpha: alpha / len(A))


def _in_place(W, A, B, alpha):
    W += alpha / len(A) * B @ A
    return W


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    W, A, B, alpha = inputs.values()
    r, scale = len(A), alpha / len(A)
    change = scale * B @ A
    place = divmod(int(change.abs().argmax()), W.shape[1])
    facts: dict[str, Any] = {"r": r, "in": W.shape[1], "out": W.shape[0], "scale": scale}
    facts |= {"row": place[0], "column": place[1]}
    facts |= {"was": float(W[place]), "change": float(change[place])}
    facts |= {"root": math.sqrt(r), "want": float((W + change)[place])}
    if isinstance(got, tuple) and isinstance(got[0], Tensor) and got[0].shape == W.shape:
        facts |= {"gave": float(got[0][place]), "moved": float(got[0][place] - W[place])}
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


def _mistake(name: str, answer: Callable[..., Any], message: str, part: int | None = None):
    return Mistake(name, watched(answer, _look), message, part)


MERGE_LORA = Exercise(
    title="Merge a LoRA",
    difficulty=1,
    minutes=6,
    reference=watched(_merge, _look),
    probes=(
        _probe(7, 5, 3, 6.0, 0.3),
        _probe(5, 11, 2, 5.0, 1.1),
    ),
    parts=("merged", "W"),
    facts=_facts,
    tolerance=Tolerance(relative=1e-4, absolute=1e-5),
    praise="Merged, the layer costs what it did before: one matrix of the same shape. W is as it "
    "was, so another adapter can be merged into it tomorrow.",
    mistakes=(
        _mistake(
            "W changed in place",
            _in_place,
            "The sum is right, and the W that you were given has changed: W[{row}, {column}] was "
            "{was}. `W +=`, `add_` and `addmm_` write into it. Every other adapter was trained "
            "for the W of before: make a new tensor, `W + …`.",
        ),
        _mistake(
            "no scale",
            _scaled(lambda A, B, alpha: 1.0),
            _AT + "The factor alpha/r = {alpha}/{r} = {scale} is missing.",
        ),
        _mistake(
            "alpha, not divided",
            _scaled(lambda A, B, alpha: alpha),
            _AT + "You multiply by alpha = {alpha}; the factor is alpha/r = {scale}, so that a "
            "larger rank does not mean a larger change.",
        ),
        _mistake(
            "alpha times r",
            _scaled(lambda A, B, alpha: alpha * len(A)),
            _AT + "You multiply by alpha·r; the factor is alpha/r = {scale}.",
        ),
        _mistake(
            "one over r",
            _scaled(lambda A, B, alpha: 1 / len(A)),
            _AT + "You divide by r = {r} and leave alpha = {alpha} out: alpha/r = {scale}.",
        ),
        _mistake(
            "upside down",
            _scaled(lambda A, B, alpha: len(A) / alpha),
            _AT + "Your factor is r/alpha, upside down: alpha/r = {scale}.",
        ),
        _mistake(
            "the root of r",
            _scaled(lambda A, B, alpha: alpha / len(A) ** 0.5),
            _AT + "You divide by √r = {root}. That is a variant (rsLoRA, 2023); asked for is "
            "alpha/r = {scale}.",
        ),
        _mistake(
            "the scale twice",
            _scaled(lambda A, B, alpha: (alpha / len(A)) ** 2),
            _AT + "The factor alpha/r = {scale} is in it twice, once on A and once on B. It stands "
            "once, on their product.",
        ),
        _mistake(
            "divided by the input's width",
            _scaled(lambda A, B, alpha: alpha / A.shape[1]),
            _AT + "You divide by {in}, the width of the input, which is A's second axis. The rank "
            "is its first: A (r, in), r = {r}.",
        ),
        _mistake(
            "divided by the output's width",
            _scaled(lambda A, B, alpha: alpha / len(B)),
            _AT + "You divide by {out}, the width of the output, which is B's first axis. The rank "
            "is its second: B (out, r), r = {r}.",
        ),
        _mistake(
            "subtracted",
            _scaled(lambda A, B, alpha: -alpha / len(A)),
            _AT + "You subtract the change. That takes a merged one out again.",
        ),
        _mistake(
            "added twice",
            _scaled(lambda A, B, alpha: 2 * alpha / len(A)),
            _AT + "The change is in it twice.",
        ),
        _mistake(
            "the change alone",
            lambda W, A, B, alpha: alpha / len(A) * B @ A,
            "You return the change, (alpha/r)·B·A, without the W that it changes.",
        ),
        _mistake(
            "all of it scaled",
            lambda W, A, B, alpha: alpha / len(A) * (W + B @ A),
            _AT + "W is multiplied by alpha/r = {scale} as well. The factor is for the change.",
        ),
        _mistake(
            "nothing added",
            lambda W, A, B, alpha: W,
            "You return W as it came: W[{row}, {column}] should move by {change}.",
        ),
        _mistake(
            "A times B",
            lambda W, A, B, alpha: A @ B,
            "`A @ B` multiplies (r, in) = ({r}, {in}) by (out, r) = ({out}, {r}). A comes first in "
            "the computation, and so stands on the right: `B @ A` is (out, in), as W.",
        ),
        _mistake(
            "transposed",
            lambda W, A, B, alpha: W + (alpha / len(A)) * (A.T @ B.T),
            "`A.T @ B.T` is (in, out) = ({in}, {out}), the change transposed; W is (out, in). "
            "`B @ A` has its shape.",
        ),
        _mistake(
            "transposed, on the left",
            lambda W, A, B, alpha: (alpha / len(A)) * (A.T @ B.T) + W,
            "`A.T @ B.T` is (in, out) = ({in}, {out}), the change transposed: it does not fit W, "
            "(out, in). `B @ A` does.",
        ),
        _mistake(
            "elementwise",
            lambda W, A, B, alpha: B * A,
            "`B * A` multiplies number by number, ({out}, {r}) by ({r}, {in}). The matrix product "
            "is `B @ A`.",
        ),
        _mistake(
            "elementwise, A first",
            lambda W, A, B, alpha: A * B,
            "`A * B` multiplies number by number, ({r}, {in}) by ({out}, {r}). The matrix product "
            "is `@`, and B comes first: `B @ A` is (out, in), as W.",
        ),
        _mistake(
            "both transposed, B first",
            lambda W, A, B, alpha: B.T @ A.T,
            "`B.T @ A.T` multiplies (r, out) by (in, r). Without transposing, `B @ A` is (out, r) "
            "by (r, in): (out, in), as W.",
        ),
    ),
)


def check_merge_lora(merge: Any) -> Verdict:
    """Judge ``merge(W, A, B, alpha)``: ``W + (alpha / r) B A``, with W (out, in) left as it was.

    A is (r, in), B (out, r) (Hu et al. 2021, section 4.1, whose letters these are). The same as
    ``layers.lora.LoRALinear.merge`` leaves in the layer.

    >>> check_merge_lora(lambda W, A, B, alpha: W + alpha * B @ A).passed
    False
    """
    return MERGE_LORA.check(watched(merge, _look))
