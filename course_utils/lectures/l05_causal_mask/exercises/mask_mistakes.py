"""Masks made of comparisons, right and wrong, and what exercise 1 of lecture 05 says about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from course_utils.teaching.exercise import Mistake
from course_utils.teaching.outcomes import Tolerance

__all__ = [
    "PARTS",
    "PROBES",
    "Truths",
    "as_numbers",
    "mask_facts",
    "right_masks",
    "still_open",
    "wrong",
]

PARTS = ("causal", "sliding", "prefixed", "padding", "packed")


class Truths(Tolerance):
    """A tolerance that tells booleans from numbers, and knows a result that is still ``...``."""

    def allows(self, got: Any, expected: Any) -> bool:
        """Whether both are tensors, boolean or of numbers, and agree; or are still ``...``."""
        if got is ... or expected is ...:
            return got is expected
        if not (isinstance(got, Tensor) and isinstance(expected, Tensor)):
            return False
        kinds = {x.dtype == torch.bool for x in (got, expected)}
        return len(kinds) == 1 and super().allows(got, expected)


@dataclass(frozen=True)
class Grid:
    """What a mask is made of: rows, places and keys, and the parameters of the exercise."""

    T: int
    S: int
    window: int
    prefix: int
    lengths: Tensor
    document: Tensor

    @cached_property
    def row(self) -> Tensor:
        return torch.arange(self.T)[:, None]

    @cached_property
    def place(self) -> Tensor:
        return self.row + self.S - self.T

    @cached_property
    def key(self) -> Tensor:
        return torch.arange(self.S)

    @cached_property
    def causal(self) -> Tensor:
        return self.key <= self.place

    @cached_property
    def same(self) -> Tensor:
        return self.document[self.place] == self.document

    @cached_property
    def length(self) -> Tensor:
        return self.lengths[:, None, None]


Rule = Callable[[Grid], Tensor]

RULES: dict[str, Rule] = {
    "causal": lambda g: g.causal,
    "sliding": lambda g: g.causal & (g.key > g.place - g.window),
    "prefixed": lambda g: g.causal | (g.key < g.prefix),
    "padding": lambda g: g.key < g.length,
    "packed": lambda g: g.causal & g.same,
}


def right_masks(*inputs: Any) -> tuple[Tensor, ...]:
    """The five masks, in the order of ``PARTS``."""
    return tuple(rule(Grid(*inputs)) for rule in RULES.values())


def wrong(part: str, name: str, rule: Rule, message: str) -> Mistake:
    """A mistake in one of the five; the others may be anything."""

    def answer(*inputs):
        return tuple((rule if each == part else RULES[each])(Grid(*inputs)) for each in PARTS)

    return Mistake(f"{part}: {name}", answer, message, part=PARTS.index(part))


def _additive(mask: Tensor) -> Tensor:
    return torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)


def as_numbers(part: str) -> list[Mistake]:
    """The right mask in another form: numbers to multiply by, or to add."""
    return [
        wrong(
            part,
            "ones and zeros",
            lambda g: RULES[part](g).float(),
            f"`{part}` holds the right ones and zeros, as numbers. A mask is boolean: compare, or "
            "end with `.bool()`. Numbers invite someone to add them to the scores.",
        ),
        wrong(
            part,
            "zeros and −∞",
            lambda g: _additive(RULES[part](g)),
            f"`{part}` holds 0 and −∞, to be added to the scores. Asked for is a boolean mask, "
            "True = may read: the comparison itself.",
        ),
    ]


def still_open(part: str) -> Mistake:
    """A result that is not filled in: no mistake, but nothing to judge either."""

    def answer(*inputs):
        masks = zip(PARTS, right_masks(*inputs), strict=True)
        return tuple(... if name == part else mask for name, mask in masks)

    message = f"`{part}` is still `...`. Filled in so far: {{so_far}}."
    return Mistake(f"{part}: still open", answer, message, part=PARTS.index(part))


def _keys(row: Tensor) -> str:
    """The keys that a row lets through, in words."""
    keys = row.nonzero().flatten().tolist()
    if not keys:
        return "no key"
    if len(keys) == 1:
        return f"key {keys[0]} alone"
    if len(keys) > 2 and keys == list(range(keys[0], keys[-1] + 1)):
        return f"keys {keys[0]} to {keys[-1]}"
    return f"keys {', '.join(map(str, keys[:-1]))} and {keys[-1]}"


def _says(part: str, got: Any, expected: Tensor, grid: Grid) -> str:
    """The first row of a mask that is wrong, and what it may read."""
    if not isinstance(got, Tensor) or got.shape != expected.shape or got.dtype != torch.bool:
        return ""
    off = (got != expected).any(dim=-1).nonzero().tolist()
    if not off:
        return ""
    index = tuple(off[0])
    if part == "padding":
        who = f"a sequence of length {int(grid.lengths[index[0]])}"
    else:
        who = f"the query in row {index[-1]}, at place {int(grid.place[index[-1], 0])},"
    return f"In `{part}` {who} reads {_keys(got[index])}; it may read {_keys(expected[index])}. "


def mask_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """For each mask, what its first wrong row reads and may read; sizes; what is filled in."""
    grid = Grid(*inputs.values())
    masks = dict(zip(PARTS, right_masks(*inputs.values()), strict=True))
    given = got if isinstance(got, tuple | list) and len(got) == len(PARTS) else (None,) * 5
    facts: dict[str, Any] = {"before": grid.S - grid.T, "B": len(grid.lengths)}
    states = []
    for (part, mask), one in zip(masks.items(), given, strict=True):
        facts[part] = _says(part, one, mask, grid)
        right = isinstance(one, Tensor) and one.shape == mask.shape and torch.equal(one, mask)
        if one is not ...:
            states.append(f"`{part}`, {'right' if right else 'wrong'}")
    return facts | {"so_far": "; ".join(states)}


def _probe(T, S, window, prefix, lengths, document):
    return {
        "T": T,
        "S": S,
        "window": window,
        "prefix": prefix,
        "lengths": torch.tensor(lengths),
        "document": torch.tensor(document),
    }


# The numbers of documents only have to differ: they do not rise.
PROBES = (
    # 5 queries at the end of 11 tokens, at places 6 to 10.
    _probe(5, 11, 3, 9, [7, 2, 11], [5, 5, 5, 5, 2, 2, 2, 2, 8, 8, 8]),
    _probe(7, 7, 2, 3, [5, 1], [3, 3, 1, 1, 1, 4, 4]),
    # One step of decoding.
    _probe(1, 5, 2, 1, [3, 4], [4, 4, 9, 9, 9]),
)
