"""Five masks from their definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance

__all__ = ["MASKS"]

PARTS = ("causal", "sliding", "prefixed", "padding", "packed")


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


def _right_masks(*inputs: Any) -> tuple[Tensor, ...]:
    return tuple(rule(Grid(*inputs)) for rule in RULES.values())


def _wrong(part: str, name: str, rule: Rule, message: str) -> Mistake:
    """A mistake in one of the five; the others may be anything."""

    def answer(*inputs):
        return tuple((rule if each == part else RULES[each])(Grid(*inputs)) for each in PARTS)

    return Mistake(f"{part}: {name}", answer, message, part=PARTS.index(part))


def _in_numbers(part: str) -> Mistake:
    """A mask of whatever numbers, to multiply by or to add."""
    return _wrong(
        part,
        "numbers",
        lambda g: RULES[part](g).float(),
        f"`{part}` holds numbers. Asked for is a boolean mask, True = may attend: the comparison "
        "itself, neither turned into ones and zeros nor into 0 and −∞.",
    )


def _still_open(part: str) -> Mistake:
    """A result that is not filled in: no mistake, but nothing to judge either."""

    def answer(*inputs):
        masks = zip(PARTS, _right_masks(*inputs), strict=True)
        return tuple(... if name == part else mask for name, mask in masks)

    message = f"`{part}` is still `...`. Filled in so far: {{so_far}}."
    return Mistake(f"{part}: still open", answer, message, part=PARTS.index(part))


class Truths(Tolerance):
    """Booleans agree when equal; numbers, whichever they are, are alike in being no booleans."""

    def allows(self, got: Any, expected: Any) -> bool:
        """Whether both are boolean tensors and agree, or numbers, or still ``...``."""
        if not (isinstance(got, Tensor) and isinstance(expected, Tensor)):
            return got is expected is ...
        if torch.bool in (got.dtype, expected.dtype):
            return got.dtype == expected.dtype and torch.equal(got, expected)
        return True


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


def _first_wrong_row(part: str, got: Any, expected: Tensor, grid: Grid) -> str:
    """The first row of a mask that is wrong, and what it may attend to."""
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
    return (
        f"In `{part}` {who} attends to {_keys(got[index])}; it may attend to "
        f"{_keys(expected[index])}. "
    )


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """For each mask its first wrong row; sizes; what is filled in."""
    grid = Grid(*inputs.values())
    given = got if isinstance(got, tuple | list) and len(got) == len(PARTS) else (None,) * 5
    facts: dict[str, Any] = {"before": grid.S - grid.T, "B": len(grid.lengths)}
    states = []
    for part, mask, one in zip(PARTS, _right_masks(*inputs.values()), given, strict=True):
        facts[part] = _first_wrong_row(part, one, mask, grid)
        if one is not ...:
            states.append(f"`{part}`, {'right' if Truths().allows(one, mask) else 'wrong'}")
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


MASKS = Exercise(
    title="Five masks from their definitions",
    difficulty=2,
    minutes=15,
    function="five_masks",
    reference=_right_masks,
    # The numbers of documents only have to differ: they do not rise.
    probes=(
        # 5 queries at the end of 11 tokens, at places 6 to 10.
        _probe(5, 11, 3, 9, [7, 2, 11], [5, 5, 5, 5, 2, 2, 2, 2, 8, 8, 8]),
        _probe(7, 7, 2, 3, [5, 1], [3, 3, 1, 1, 1, 4, 4]),
        # One step of decoding.
        _probe(1, 5, 2, 1, [3, 4], [4, 4, 9, 9, 9]),
    ),
    parts=PARTS,
    facts=_facts,
    tolerance=Truths(),
    praise="One comparison each, and every one of them holds for T ≠ S too, because the query's "
    "place S − T + t was put in once.",
    mistakes=(
        _wrong(
            "causal",
            "aligned at the top left",
            lambda g: g.key <= g.row,
            "{causal}You compare the key with the row t. The queries are the last {T} of {S} "
            "tokens: row t stands at place t + S − T, {before} further on.",
        ),
        _wrong(
            "causal",
            "without itself",
            lambda g: g.key < g.place,
            "{causal}A token may attend to itself: the key may be equal to the place, `<=`.",
        ),
        _wrong(
            "causal",
            "one ahead",
            lambda g: g.key <= g.place + 1,
            "{causal}That is one key too many, and it is the future: the leak that training finds.",
        ),
        _wrong(
            "causal",
            "the other polarity",
            lambda g: ~g.causal,
            "{causal}True stands where attention is forbidden, as in PyTorch's "
            "`nn.MultiheadAttention`. Here True means: may attend.",
        ),
        _wrong(
            "sliding",
            "one key too many",
            lambda g: g.causal & (g.key >= g.place - g.window),
            "{sliding}That is {window} keys and itself. The window of {window} counts the token "
            "itself: key > place − window.",
        ),
        _wrong(
            "sliding",
            "sees the future",
            lambda g: g.key > g.place - g.window,
            "{sliding}The window has its far end and not its near one: it must be causal too.",
        ),
        _wrong(
            "sliding",
            "either instead of both",
            lambda g: g.causal | (g.key > g.place - g.window),
            "{sliding}With `|` one of the two conditions is enough, and every key meets one. Both "
            "must hold: `&`.",
        ),
        _wrong(
            "prefixed",
            "both instead of either",
            lambda g: g.causal & (g.key < g.prefix),
            "{prefixed}With `&` a query attends to the part of the prefix that it has passed, and "
            "to nothing else. It may attend to the prefix or the past: `|`.",
        ),
        _wrong(
            "prefixed",
            "one key too many",
            lambda g: g.causal | (g.key <= g.prefix),
            "{prefixed}The first {prefix} keys have the numbers 0 to prefix − 1, so key < prefix.",
        ),
        _wrong(
            "padding",
            "the other polarity",
            lambda g: g.key >= g.length,
            "{padding}True stands on the padding, as in PyTorch's `key_padding_mask`. Here True "
            "means: may attend.",
        ),
        _wrong(
            "padding",
            "no axis for the queries",
            lambda g: g.key < g.lengths[:, None],
            "`padding` has shape ({B}, {S}). Beside scores of shape ({B}, T, S) the {B} sequences "
            "would be taken for queries. It needs an axis for them: `lengths[:, None, None]`.",
        ),
        _wrong(
            "padding",
            "spelt out for every query",
            lambda g: (g.key < g.length).expand(-1, g.T, -1),
            "`padding` is right, and written out {T} times for each sequence. It is the same for "
            "every query: shape ({B}, 1, {S}) broadcasts.",
        ),
        _wrong(
            "packed",
            "not causal",
            lambda g: g.same,
            "{packed}A query stays in its document now, and looks ahead in it. It must be causal "
            "too: `causal & ...`.",
        ),
        _wrong(
            "packed",
            "documents of the first rows",
            lambda g: g.causal & (g.document[: g.T, None] == g.document),
            "{packed}You take the document of row t from `document[t]`. Row t stands at place "
            "t + S − T, {before} further on: `document[place]`.",
        ),
        _wrong(
            "packed",
            "a document for each query",
            lambda g: g.document[:, None] == g.document,
            "Your `packed` has shape ({S}, {S}): one row for each token. There are {T} queries, "
            "the last ones: `document[place]`, and causal.",
        ),
        *map(_in_numbers, PARTS),
        *map(_still_open, PARTS),
    ),
)
