"""Exercise 1 of lecture 04: rotate a pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance

__all__ = ["ROTATE"]


def _rotated(
    new_x: Callable[..., Any] = lambda x, y, c, s: c * x - s * y,
    new_y: Callable[..., Any] = lambda x, y, c, s: s * x + c * y,
    *,
    angle_of: Callable[..., Any] = lambda angle: angle,
    join: Callable[..., Any] = lambda x, y: torch.stack([x, y], dim=-1),
) -> Callable[..., Any]:
    """A rotation that is right but for what is given; c and s are cosine and sine."""

    def rotate(pair, angle):
        x, y = pair[..., 0], pair[..., 1]
        c, s = torch.cos(angle_of(angle)), torch.sin(angle_of(angle))
        return join(new_x(x, y, c, s), new_y(x, y, c, s))

    return rotate


_rotate = _rotated()


def _one_matrix(pair, angle):
    c, s = torch.cos(angle), torch.sin(angle)
    return pair @ torch.tensor([[c, -s], [s, c]]).T


def _first_axis(pair, angle):
    x, y, c, s = pair[0], pair[1], torch.cos(angle), torch.sin(angle)
    return torch.stack([x * c - y * s, x * s + y * c], dim=-1)


def _second_axis(pair, angle):
    x, y, c, s = pair[:, 0], pair[:, 1], torch.cos(angle), torch.sin(angle)
    return torch.stack([x * c - y * s, x * s + y * c], dim=-1)


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The pair that ends furthest from its place: before, after, and where it should be."""
    pair, angle = inputs["pair"], inputs["angle"]
    facts: dict[str, Any] = {
        "pairs": repr(tuple(pair.shape)),
        "angles": repr(tuple(angle.shape)),
        "count": angle.numel(),
    }
    if not isinstance(got, torch.Tensor) or got.shape != pair.shape:
        return facts
    right = _rotate(pair, angle)
    worst = int((got - right).norm(dim=-1).flatten().argmax())
    for name, where in (("", pair), ("gave_", got), ("want_", right)):
        x, y = where.reshape(-1, 2)[worst].tolist()
        facts |= {f"{name}x": x, f"{name}y": y, f"{name}length": (x * x + y * y) ** 0.5}
    return facts | {"turn": float(angle.expand(pair.shape[:-1]).flatten()[worst])}


_AT = (
    "({x}, {y}) turned by {turn} should come to ({want_x}, {want_y}); "
    "yours comes to ({gave_x}, {gave_y}). "
)

ROTATE = Exercise(
    title="Rotate a pair",
    function="rotate",
    difficulty=1,
    minutes=5,
    reference=_rotate,
    probes=(
        {"pair": torch.tensor([3.0, 4.0]), "angle": torch.tensor(0.5)},
        # One angle for each of 7 tokens, as in one pair of RoPE.
        {
            "pair": torch.sin(1.7 * torch.arange(14) + 0.4).reshape(7, 2),
            "angle": 0.9 * torch.arange(7) - 1.3,
        },
        # 3 heads share the angles of their 5 tokens.
        {
            "pair": torch.cos(2.3 * torch.arange(30) + 0.2).reshape(3, 5, 2),
            "angle": 1.1 * torch.arange(5) + 0.3,
        },
    ),
    parts=("rotated",),
    facts=_facts,
    tolerance=Tolerance(relative=1e-4, absolute=1e-5),
    praise="Every pair keeps its length and turns by its own angle. RoPE is this, D/2 times: pair "
    "i of the token at position m turns by m·θ_i.",
    mistakes=(
        Mistake(
            "turns backwards",
            _rotated(lambda x, y, c, s: c * x + s * y, lambda x, y, c, s: -s * x + c * y),
            _AT + "You turn by −{turn}: clockwise. The minus sign belongs to the sine in the first "
            "line, x' = x·cos − y·sin. (With a matrix: `pair @ R` multiplies rows by R, which is "
            "R transposed for columns; write `pair @ R.T`.)",
        ),
        Mistake(
            "both sines plus",
            _rotated(lambda x, y, c, s: c * x + s * y),
            _AT + "Both of your sines have a plus. Then lengths change, here from {length} to "
            "{gave_length}; a rotation keeps them. One of the two needs a minus: "
            "x' = x·cos − y·sin.",
        ),
        Mistake(
            "sine and cosine exchanged",
            _rotated(lambda x, y, c, s: s * x - c * y, lambda x, y, c, s: c * x + s * y),
            _AT + "Sine and cosine have changed places: you turn by π/2 minus the angle. Try angle "
            "0, which must leave the pair alone: cos 0 = 1 stands with x in x' and with y in y'.",
        ),
        Mistake(
            "x overwritten",
            _rotated(new_y=lambda x, y, c, s: s * (c * x - s * y) + c * y),
            _AT + "The first is right. The second is made of the new x: by then x was overwritten, "
            "and its line needs the old one. Keep both under other names.",
        ),
        Mistake(
            "the angle read as degrees",
            _rotated(angle_of=torch.deg2rad),
            _AT + "The angle is in radians already, as `torch.cos` wants it; you divided it by "
            "180/π = 57.3.",
        ),
        Mistake(
            "stacked in front",
            _rotated(join=lambda x, y: torch.stack([x, y])),
            "For pairs of shape {pairs} you give {got}. The two coordinates are the first axis "
            "there. They belong on the last: `torch.stack([x, y], dim=-1)`.",
        ),
        Mistake(
            "put one behind the other",
            _rotated(join=lambda x, y: torch.cat([x, y], dim=-1)),
            "For pairs of shape {pairs} you give {got}: all x, then all y. `torch.cat` joins along "
            "an axis that is there; `torch.stack([x, y], dim=-1)` makes the new one, of length 2.",
        ),
        Mistake(
            "taken along the second axis",
            _second_axis,
            "`pair[:, 0]` is right for pairs of shape (T, 2) alone. There may be more axes in "
            "front, or none: `pair[..., 0]` takes the last axis, however many there are.",
        ),
        Mistake(
            "made for single numbers",
            _one_matrix,
            "It works for one pair and stops at {count} angles: `torch.tensor([...])` and "
            "`math.cos` take single numbers. `torch.cos(angle)` takes all at once; write out "
            "x·cos − y·sin and x·sin + y·cos, and join the two by `torch.stack([...], dim=-1)`.",
        ),
        Mistake(
            "taken along the first axis",
            _first_axis,
            "`pair[0]` is the first coordinate of a single pair alone. With pairs of shape {pairs} "
            "it is the first token or head, which does not fit angles of shape {angles}. The "
            "coordinates are the last axis: `pair[..., 0]`.",
        ),
    ),
)
