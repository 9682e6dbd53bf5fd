"""The later stages of exercise 1: many texts and heads, both pairings and bases, gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from course_utils.teaching.rows import wave
from course_utils.teaching.watched import watched
from lectures.l04_positions.exercises.rope import BASE, ROPE, right, rope, speeds_of

__all__ = ["ROPE"]

TEXTS = ROPE.stage(
    probes=({"x": wave(2, 3, 5, 6, phase=0.4), "positions": torch.arange(5) + 2},),
    praise="Right for many texts and heads.",
)


@TEXTS.mistake()
def joined_along_the_second_axis(x, positions, base=BASE, pairing="half"):
    """One text works, and x of shape {shape} does not: you join along the second axis, which is
    another one here. The coordinates are the last axis: `dim=-1`."""
    return rope(x, positions, base, pairing, joined=lambda both: torch.cat(both, dim=1))


@TEXTS.mistake()
def halves_of_the_second_axis(x, positions, base=BASE, pairing="half"):
    """One text works, and x of shape {shape} does not: `x[:, …]` takes halves of the second axis,
    which is another one here. `x.chunk(2, dim=-1)` takes the last axis, however many are in
    front."""
    D = x.shape[-1]
    angle = positions[:, None] * speeds_of(D, base)
    a, b, c, s = x[:, : D // 2], x[:, D // 2 :], angle.cos(), angle.sin()
    return torch.cat([a * c - b * s, a * s + b * c], dim=-1)


@TEXTS.mistake()
def width_of_the_second_axis(x, positions, base=BASE, pairing="half"):
    """One text works, and x of shape {shape} does not: you take the width from `x.shape[1]`, which
    is another axis here. The width {D} is the last: `x.shape[-1]`."""
    speeds = speeds_of(x.shape[1], base)
    return rope(x, positions, base, pairing, speeds=lambda D, base: speeds)


@TEXTS.mistake()
def two_axes_expected(x, positions, base=BASE, pairing="half"):
    """One text works, and x of shape {shape} does not: `T, D = x.shape` takes exactly two axes. The
    width is `x.shape[-1]`, however many axes are in front."""
    _, _ = x.shape


PAIRINGS = ROPE.stage(
    probes=tuple(
        {
            "x": wave(7, D, phase=0.8),
            "positions": torch.arange(7) + 4,
            "base": base,
            "pairing": pairing,
        }
        for D, base, pairing in (
            (6, 50.0, "half"),
            (6, BASE, "interleaved"),
            (10, 50.0, "interleaved"),
        )
    ),
    praise="Right for both pairings.",
)


@PAIRINGS.mistake()
def pairing_ignored(x, positions, base=BASE, pairing="half"):
    """With halves it is right; with `pairing="interleaved"` you still pair coordinate 0 with
    coordinate {half}. There, neighbours make a pair: `x[..., 0::2]` has the first of each,
    `x[..., 1::2]` the second."""
    return rope(x, positions, base, "half")


@PAIRINGS.mistake()
def base_ignored(x, positions, base=BASE, pairing="half"):
    """Right for base 10,000, and you do not use `base`. At base {base}: Pair {pair} at position
    {position} is ({a}, {b}) and should become ({want_a}, {want_b}); yours becomes ({gave_a},
    {gave_b})."""
    return rope(x, positions, BASE, pairing)


@PAIRINGS.mistake()
def base_and_pairing_ignored(x, positions, base=BASE, pairing="half"):
    """With the defaults it is right. You use neither `base` nor `pairing` yet."""
    return rope(x, positions, BASE, "half")


@PAIRINGS.mistake()
def neighbours_joined_by_halves(x, positions, base=BASE, pairing="half"):
    """Your neighbours turn correctly and come back in another order: all first coordinates, then
    all second ones. Each must return to its place: `torch.stack([a, b], dim=-1).flatten(-2)` takes
    them in turns."""
    return rope(x, positions, base, pairing, joined=lambda both: torch.cat(both, dim=-1))


@PAIRINGS.mistake()
def nothing_for_neighbours(x, positions, base=BASE, pairing="half"):
    """With halves it is right; with `pairing="interleaved"` your function returns nothing (None).
    It needs a `return` for that pairing too: `x[..., 0::2]` has the first of each pair,
    `x[..., 1::2]` the second."""
    return rope(x, positions, base, "half") if pairing == "half" else None


def _gradient(out: Tensor, x: Tensor, *options: Any) -> Tensor:
    """What arrives at x from the numbers of the output, each with its own weight."""
    if not out.requires_grad:
        return torch.zeros_like(x)
    (found,) = torch.autograd.grad((out * wave(*out.shape, phase=1.9)).sum(), x)
    return found


LEARNING = ROPE.stage(
    probes=tuple(
        {
            "x": wave(2, 3, 5, 6, phase=0.4).requires_grad_(),
            "positions": torch.arange(5) + 2,
            "base": BASE,
            "pairing": pairing,
        }
        for pairing in ("half", "interleaved")
    ),
    parts=("the gradient",),
    facts=lambda inputs, got: {},
    watch=lambda answer: watched(answer, _gradient),
    praise="Every pair keeps its length and turns by its own angle, in both pairings: this is "
    "RoPE as models run it.",
)


@LEARNING.mistake()
def nothing_can_learn(x, positions, base=BASE, pairing="half"):
    """The numbers are right, but no gradient reaches x: the layers that make queries and keys could
    not learn. Something cuts them off, such as `.detach()`, `.item()`, `torch.tensor(…)` or
    `torch.no_grad()`."""
    return right(x, positions, base, pairing).detach()
