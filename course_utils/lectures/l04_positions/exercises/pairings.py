"""Exercise 3 of lecture 04: between the two pairings of RoPE."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance

__all__ = ["PAIRINGS"]


class _Indices(Tolerance):
    """A tolerance that tells whole numbers from floating ones: only the former can index."""

    def allows(self, got: Any, expected: Any) -> bool:
        kinds = {isinstance(x, Tensor) and x.is_floating_point() for x in (got, expected)}
        return len(kinds) == 1 and super().allows(got, expected)


def _to_half(D):
    """Where in the interleaved order each coordinate of the half order is found."""
    return torch.arange(D).reshape(D // 2, 2).T.reshape(-1)


def _to_interleaved(D):
    return torch.arange(D).reshape(2, D // 2).T.reshape(-1)


def _both(
    first: Callable[[int], Any], second: Callable[[int], Any] | None = None
) -> Callable[[int], Any]:
    """An answer of two permutations; the second undoes the first if it is not given."""
    return lambda D: (first(D), first(D).argsort() if second is None else second(D))


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The coordinates by name: as they come, as they should go, and as the student's go."""
    D = inputs["D"]
    interleaved = [f"{letter}{i}" for i in range(D // 2) for letter in "ab"]
    half = [interleaved[i] for i in _to_half(D)]
    facts: dict[str, Any] = {"half": D // 2}
    for part, source, wanted in ((0, interleaved, half), (1, half, interleaved)):
        facts |= {f"from_{part}": " ".join(source), f"want_{part}": " ".join(wanted)}
        order = got[part] if isinstance(got, tuple | list) and len(got) == 2 else None
        if isinstance(order, Tensor) and order.shape == (D,):
            facts[f"gave_{part}"] = " ".join(source[int(i)] for i in order)
    return facts


_FIRST = (
    "With D = {D} the interleaved order is {from_0}, and `x[..., to_half]` should give {want_0}; "
    "yours gives {gave_0}. "
)
_SECOND = (
    "`to_half` is right. With D = {D} the half order is {from_1}, and `x[..., to_interleaved]` "
    "should give {want_1}; yours gives {gave_1}. "
)

PAIRINGS = Exercise(
    title="Between the two pairings",
    function="pairings",
    difficulty=2,
    minutes=8,
    reference=_both(_to_half, _to_interleaved),
    probes=({"D": 6}, {"D": 10}, {"D": 14}),
    parts=("to_half", "to_interleaved"),
    facts=_facts,
    tolerance=_Indices(relative=0, absolute=0.1),
    praise="Permute the rows of W_q and W_k (and their biases) like this, head by head, and a "
    "checkpoint of one pairing runs in code of the other: q·k does not change.",
    mistakes=(
        Mistake(
            "the two exchanged",
            _both(_to_interleaved, _to_half),
            _FIRST + "That is the way back: your two results have changed places. In "
            "`x[..., perm]` entry j of perm says where the new coordinate j comes from.",
        ),
        Mistake(
            "the way there twice",
            _both(_to_half, _to_half),
            _SECOND + "You return to_half twice. It does not undo itself: the way back is another "
            "permutation, `to_half.argsort()`.",
        ),
        Mistake(
            "nothing moves",
            _both(torch.arange),
            _FIRST + "Nothing moves. If you used `view(D // 2, 2)` or `view(2, D // 2)`, a "
            "transpose is missing before the `reshape(-1)`.",
        ),
        Mistake(
            "halves exchanged",
            _both(lambda D: torch.arange(D).roll(D // 2)),
            _FIRST + "You exchange the first half and the second, as `rotate_half` does within "
            "RoPE. Here a and b of a pair are neighbours and are to be taken apart.",
        ),
        Mistake(
            "odd places first",
            _both(lambda D: _to_half(D).roll(D // 2)),
            _FIRST + "The b's, at the odd places, come first in yours. Then every pair is turned "
            "the wrong way: the half order has the a's first.",
        ),
        Mistake(
            "the way back reversed",
            _both(_to_half, lambda D: _to_half(D).flip(0)),
            _SECOND + "You read to_half from its end. To undo a permutation is not to reverse it: "
            "place to_half[j] must get back what went to j, which is `to_half.argsort()`.",
        ),
        Mistake(
            "even places alone",
            _both(lambda D: torch.arange(0, D, 2), lambda D: torch.arange(1, D, 2)),
            "You return the even places and the odd ones, {half} each. Joined, they are "
            "`to_half`; the second result is the way back.",
        ),
        *(
            Mistake(
                f"floating numbers in {name}",
                answer,
                f"`{name}` holds the right numbers, and their type is floating: `x[..., {name}]` "
                "refuses them as indices. `torch.arange` of whole numbers gives int64; "
                "`torch.zeros` and a division with `/` do not.",
                part=part,
            )
            for part, name, answer in (
                (0, "to_half", lambda D: (_to_half(D).float(), _to_interleaved(D))),
                (1, "to_interleaved", lambda D: (_to_half(D), _to_interleaved(D).float())),
            )
        ),
        Mistake(
            "the way there alone",
            _to_half,
            "`to_half` is right; the way back is missing. Return two tensors: "
            "`to_half, to_interleaved`.",
        ),
    ),
)
