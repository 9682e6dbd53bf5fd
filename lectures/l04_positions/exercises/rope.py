"""Exercise 1: rotary positions without a matrix, a part of the reader's GPT; its first stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from course_utils.positions import apply_rope
from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.rows import wave

CLOSE = Tolerance(relative=1e-4, absolute=1e-4)
BASE = 10_000.0


def right(x, positions, base=BASE, pairing="half"):
    return apply_rope(x, positions, base=base, pairing=pairing)


def speeds_of(D, base):
    return base ** -(torch.arange(0, D, 2) / D)


def rope(
    x,
    positions,
    base,
    pairing,
    *,
    new_a: Callable[..., Any] = lambda a, b, c, s: a * c - b * s,
    new_b: Callable[..., Any] = lambda a, b, c, s: a * s + b * c,
    speeds: Callable[..., Any] = speeds_of,
    at: Callable[..., Any] = lambda positions, x: positions[:, None],
    angle_of: Callable[..., Any] = lambda angle: angle,
    joined: Callable[..., Any] | None = None,
):
    """RoPE that is right but for what is given; c and s are cosine and sine."""
    angle = angle_of(at(positions, x) * speeds(x.shape[-1], base))
    c, s = torch.cos(angle), torch.sin(angle)
    by_halves = pairing == "half"
    a, b = x.chunk(2, dim=-1) if by_halves else (x[..., 0::2], x[..., 1::2])
    both = new_a(a, b, c, s), new_b(a, b, c, s)
    if joined:
        return joined(both)
    return torch.cat(both, -1) if by_halves else torch.stack(both, -1).flatten(-2)


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The pair that ends furthest from its place: before, after, and where it should be."""
    x, positions = inputs["x"], inputs["positions"]
    base, pairing = inputs.get("base", BASE), inputs.get("pairing", "half")
    D = x.shape[-1]
    facts: dict[str, Any] = {
        "shape": str(tuple(x.shape)),
        "D": D,
        "half": D // 2,
        "T": len(positions),
        "second_speed": base ** (-2 / D),
    }
    if not isinstance(got, torch.Tensor) or got.shape != x.shape:
        return facts
    places = torch.arange(D)
    places = places.view(2, -1).T if pairing == "half" else places.view(-1, 2)  # (D/2, 2)
    expected = right(x, positions, base, pairing)
    off = (got - expected)[..., places].norm(dim=-1)  # (..., T, D/2)
    *lead, t, pair = torch.unravel_index(off.nan_to_num(nan=torch.inf).argmax(), off.shape)
    for name, where in (("", x), ("gave_", got), ("want_", expected)):
        a, b = where[(*lead, t)][places[pair]].tolist()
        facts |= {f"{name}a": a, f"{name}b": b, f"{name}length": (a * a + b * b) ** 0.5}
    return facts | {"position": int(positions[t]), "pair": int(pair)}


_AT = (
    "Pair {pair} at position {position} is ({a}, {b}) and should become ({want_a}, {want_b}); "
    "yours becomes ({gave_a}, {gave_b}). "
)

ROPE = Exercise(
    title="Build apply_rope",
    difficulty=2,
    minutes=12,
    function="apply_rope",
    kept_as="apply_rope",
    reference=right,
    probes=(
        {"x": torch.tensor([[3.0, 4.0]]), "positions": torch.tensor([2])},
        {"x": wave(7, 6, phase=0.4), "positions": torch.arange(7)},
        {"x": wave(5, 14, phase=1.3), "positions": torch.tensor([9, 3, 12, 0, 5])},
    ),
    parts=("rotated",),
    facts=_facts,
    tolerance=CLOSE,
    praise="Right for halves.",
)


@ROPE.mistake(begins=_AT)
def turns_backwards(x, positions, base=BASE, pairing="half"):
    """You turn the other way, clockwise. Either your minus is in the wrong line, and belongs to the
    sine in the first, a' = a·cos − b·sin; or your angle is negative."""
    return rope(
        x,
        positions,
        base,
        pairing,
        new_a=lambda a, b, c, s: a * c + b * s,
        new_b=lambda a, b, c, s: b * c - a * s,
    )


@ROPE.mistake(begins=_AT)
def both_sines_plus(x, positions, base=BASE, pairing="half"):
    """Both of your sines have a plus. Then lengths change, here from {length} to {gave_length}; a
    rotation keeps them. One of the two needs a minus: a' = a·cos − b·sin."""
    return rope(x, positions, base, pairing, new_a=lambda a, b, c, s: a * c + b * s)


@ROPE.mistake(begins=_AT)
def sine_and_cosine_exchanged(x, positions, base=BASE, pairing="half"):
    """Sine and cosine have changed places. Try position 0, which must leave every pair as it is:
    cos 0 = 1 goes with a in a' and with b in b'."""
    return rope(
        x,
        positions,
        base,
        pairing,
        new_a=lambda a, b, c, s: a * s - b * c,
        new_b=lambda a, b, c, s: a * c + b * s,
    )


@ROPE.mistake(begins=_AT)
def a_overwritten(x, positions, base=BASE, pairing="half"):
    """The first is right. The second is made of the new a: by then a was overwritten, and its line
    needs the old one. Keep both under other names."""
    return rope(x, positions, base, pairing, new_b=lambda a, b, c, s: (a * c - b * s) * s + b * c)


@ROPE.mistake(begins=_AT)
def the_angle_read_as_degrees(x, positions, base=BASE, pairing="half"):
    """The angle is in radians already, as `torch.cos` wants it; you divided it by 180/π = 57.3."""
    return rope(x, positions, base, pairing, angle_of=torch.deg2rad)


@ROPE.mistake(begins=_AT)
def neighbours_instead_of_halves(x, positions, base=BASE, pairing="half"):
    """By default, coordinate 0 is paired with coordinate {half}, D/2 further; you pair it with
    coordinate 1. `x.chunk(2, dim=-1)` gives the two halves."""
    return rope(x, positions, base, "interleaved")


@ROPE.mistake(begins=_AT)
def halves_joined_in_turns(x, positions, base=BASE, pairing="half"):
    """Your halves turn correctly and come back in another order, in turns. Put the first half in
    front of the second: `torch.cat([a, b], dim=-1)`."""
    return rope(
        x, positions, base, pairing, joined=lambda both: torch.stack(both, dim=-1).flatten(-2)
    )


@ROPE.mistake(begins=_AT)
def place_in_the_list_instead_of_position(x, positions, base=BASE, pairing="half"):
    """You count 0, 1, 2, … yourself and do not use `positions`. With a cache, the newest token
    comes by itself, and it is not at position 0."""
    return rope(
        x, positions, base, pairing, at=lambda positions, x: torch.arange(len(positions))[:, None]
    )


@ROPE.mistake(begins=_AT)
def one_speed_for_all_pairs(x, positions, base=BASE, pairing="half"):
    """All of your pairs turn by 1 radian a position. Pair i has the speed base^(−2i/D): pair 1 has
    {second_speed} at D = {D}."""
    return rope(x, positions, base, pairing, speeds=lambda D, base: torch.ones(D // 2))


@ROPE.mistake(begins=_AT)
def exponent_i_D(x, positions, base=BASE, pairing="half"):
    """Your speeds are base^(−i/D): they fall half as fast as they should. Pair i has base^(−2i/D),
    {second_speed} for i = 1."""
    return rope(
        x, positions, base, pairing, speeds=lambda D, base: base ** -(torch.arange(D // 2) / D)
    )


@ROPE.mistake(begins=_AT)
def exponent_4i_D(x, positions, base=BASE, pairing="half"):
    """Your speeds are base^(−4i/D). `torch.arange(0, D, 2)` is 2i already: divide it by D, without
    another 2."""
    return rope(
        x, positions, base, pairing, speeds=lambda D, base: base ** -(2 * torch.arange(0, D, 2) / D)
    )


@ROPE.mistake(begins=_AT)
def speeds_that_grow(x, positions, base=BASE, pairing="half"):
    """Your speeds grow, base^(2i/D). The minus is missing: they fall from 1, and pair 1 has
    {second_speed}."""
    return rope(
        x, positions, base, pairing, speeds=lambda D, base: base ** (torch.arange(0, D, 2) / D)
    )


@ROPE.mistake(begins=_AT)
def minus_before_the_power(x, positions, base=BASE, pairing="half"):
    """Your speeds are negative and grow. Python reads `-base ** e` as −(base^e): the minus belongs
    to the exponent, `base ** -e`."""
    return rope(
        x, positions, base, pairing, speeds=lambda D, base: -(base ** (torch.arange(0, D, 2) / D))
    )


@ROPE.mistake(begins=_AT)
def pairs_counted_from_1(x, positions, base=BASE, pairing="half"):
    """You count the pairs from 1. The first is pair 0, and turns by base⁰ = 1 radian a position."""
    return rope(
        x, positions, base, pairing, speeds=lambda D, base: base ** -(torch.arange(2, D + 1, 2) / D)
    )


@ROPE.mistake()
def positions_in_a_row(x, positions, base=BASE, pairing="half"):
    """There are {T} positions and {half} speeds, and `*` multiplies two rows number by number.
    Every position needs every speed: make the positions a column, `positions[:, None]`."""
    return rope(x, positions, base, pairing, at=lambda positions, x: positions)
