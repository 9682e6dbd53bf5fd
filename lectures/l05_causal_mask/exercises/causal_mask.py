"""A causal mask that also knows windows, prefixes, documents and padding: one option a stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance

__all__ = ["CAUSAL_MASK"]


@dataclass(frozen=True)
class Grid:
    """The parameters of the exercise, and what a mask is made of: rows, places and keys."""

    T: int
    keys: int | None
    window: Any  # None, or a number
    prefix: int
    document: Any  # None, or (S,)
    lengths: Any  # None, or (B,)

    @cached_property
    def S(self) -> int:
        return self.T if self.keys is None else self.keys

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


Rule = Callable[[Grid], Tensor]


def _answer(rule: Rule) -> Callable[..., Tensor]:
    """A rule as a reader would call it."""

    def causal_mask(T, S=None, window=None, prefix=0, document=None, lengths=None):
        return rule(Grid(T, S, window, prefix, document, lengths))

    return causal_mask


def _right(g: Grid) -> Tensor:
    mask = g.causal
    if g.window is not None:
        mask = mask & (g.key > g.place - g.window)
    mask = mask | (g.key < g.prefix)
    if g.document is not None:
        mask = mask & (g.document[g.place] == g.document)
    if g.lengths is not None:
        mask = mask & (g.key < g.lengths[:, None, None])
    return mask


def _causal(g: Grid) -> Tensor:
    """The causal mask, whatever else is asked for."""
    return g.causal


class Truths(Tolerance):
    """Booleans agree when equal; numbers of one shape agree in not being booleans."""

    def allows(self, got: Any, expected: Any) -> bool:
        """Whether both are boolean tensors and equal, or both numbers in tensors of one shape."""
        if not (isinstance(got, Tensor) and isinstance(expected, Tensor)):
            return False
        if torch.bool in (got.dtype, expected.dtype):
            return got.dtype == expected.dtype and torch.equal(got, expected)
        return got.shape == expected.shape


def _keys(row: Tensor) -> str:
    """The keys that a row lets through, in words."""
    keys = row.nonzero().flatten().tolist()
    if not keys:
        return "no key"
    if len(keys) == 1:
        return f"only key {keys[0]}"
    if len(keys) > 2 and keys == list(range(keys[0], keys[-1] + 1)):
        return f"keys {keys[0]} to {keys[-1]}"
    return f"keys {', '.join(map(str, keys[:-1]))} and {keys[-1]}"


def _first_wrong_row(got: Any, expected: Tensor, grid: Grid) -> str:
    """The first row that is wrong, and what it may attend to."""
    if not isinstance(got, Tensor) or got.shape != expected.shape or got.dtype != torch.bool:
        return ""
    off = (got != expected).any(dim=-1).nonzero().tolist()
    if not off:
        return ""
    index = tuple(off[0])
    whose = f" of sequence {index[0]}" if grid.lengths is not None else ""
    return (
        f"The query in row {index[-1]}{whose}, at place {int(grid.place[index[-1], 0])}, attends "
        f"to {_keys(got[index])}; it may attend to {_keys(expected[index])}. "
    )


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    grid = Grid(*inputs.values(), *(None, None, 0, None, None)[len(inputs) - 1 :])
    facts = {"wrong": _first_wrong_row(got, _right(grid), grid), "S": grid.S}
    facts["before"] = grid.S - grid.T
    if grid.lengths is not None:
        facts["B"] = len(grid.lengths)
    return facts


def _mistake(name: str, rule: Rule, message: str) -> Mistake:
    return Mistake(name, _answer(rule), message)


_NAMES = ("T", "S", "window", "prefix", "document", "lengths")


def _stage(probes: tuple[tuple[Any, ...], ...], mistakes: tuple[Mistake, ...], **more: Any):
    """A stage, asked with these values of the parameters."""
    return Exercise(
        title="A causal mask",
        difficulty=2,
        minutes=10,
        function="causal_mask",
        reference=_answer(_right),
        probes=tuple(dict(zip(_NAMES, values, strict=False)) for values in probes),
        parts=("the mask",),
        facts=_facts,
        tolerance=Truths(),
        praise="One comparison for each rule, and all of them hold for T ≠ S too, because the "
        "query's place was put in once.",
        mistakes=mistakes,
        **more,
    )


_WINDOW = _stage(
    ((5, 11, 3), (7, 7, 2), (1, 5, 2)),
    (
        _mistake(
            "the window changes nothing",
            _causal,
            "The causal mask is right, and `window` changes nothing yet. {wrong}Keep the newest "
            "{window} of the causal keys, the query's own included.",
        ),
        _mistake(
            "window: one key too many",
            lambda g: g.causal & (g.key >= g.place - g.window),
            "{wrong}That is {window} keys and its own. A window of {window} counts the token "
            "itself: key > place − window.",
        ),
        _mistake(
            "window: sees the future",
            lambda g: g.key > g.place - g.window,
            "{wrong}The window has its far end and not its near one: it must be causal too.",
        ),
        _mistake(
            "window: either instead of both",
            lambda g: g.causal | (g.key > g.place - g.window),
            "{wrong}With `|` one of the two conditions is enough, and every key meets one. Both "
            "must hold: `&`.",
        ),
    ),
)

_PREFIX = _stage(
    ((5, 11, None, 9), (7, 7, None, 3), (1, 5, None, 1)),
    (
        _mistake(
            "the prefix changes nothing",
            _causal,
            "Causal and window are right, and `prefix` changes nothing yet. {wrong}Every query "
            "may also attend to the first {prefix} keys.",
        ),
        _mistake(
            "prefix: both instead of either",
            lambda g: g.causal & (g.key < g.prefix),
            "{wrong}With `&` a query attends to the part of the prefix that it has passed, and to "
            "nothing else. It may attend to the prefix or the past: `|`.",
        ),
        _mistake(
            "prefix: one key too many",
            lambda g: g.causal | (g.key <= g.prefix),
            "{wrong}The first {prefix} keys have the numbers 0 to prefix − 1, so key < prefix.",
        ),
    ),
)

# The numbers of documents only have to differ: they do not rise.
_DOCUMENT = _stage(
    (
        (5, 11, None, 0, torch.tensor([5, 5, 5, 5, 2, 2, 2, 2, 8, 8, 8])),
        (7, 7, None, 0, torch.tensor([3, 3, 1, 1, 1, 4, 4])),
        (1, 5, None, 0, torch.tensor([4, 4, 9, 9, 9])),
    ),
    (
        _mistake(
            "the document changes nothing",
            _causal,
            "Causal, window and prefix are right, and `document` changes nothing yet. {wrong}A "
            "query attends to no other document than its own.",
        ),
        _mistake(
            "document: not causal",
            lambda g: g.document[g.place] == g.document,
            "{wrong}A query keeps to its document now, and looks ahead in it. It must be causal "
            "too: `mask & ...`.",
        ),
        _mistake(
            "documents of the first rows",
            lambda g: g.causal & (g.document[: g.T, None] == g.document),
            "{wrong}You take the document of row t from `document[t]`. Row t is at place "
            "t + S − T, which is {before} more: `document[place]`.",
        ),
        _mistake(
            "a document for each query",
            lambda g: g.document[:, None] == g.document,
            "Your mask has shape ({S}, {S}): one row for each token. There are {T} queries, the "
            "last ones: `document[place]`, and causal.",
        ),
    ),
)

_LENGTHS = _stage(
    (
        (5, 11, None, 0, None, torch.tensor([7, 2, 11])),
        (7, 7, None, 0, None, torch.tensor([5, 1])),
        (1, 5, None, 0, None, torch.tensor([3, 4])),
    ),
    (
        _mistake(
            "the lengths change nothing",
            _causal,
            "All but `lengths` is right, and that changes nothing yet. The {B} sequences have "
            "padding at the end, which nobody attends to. Each needs a mask of its own: shape "
            "({B}, {T}, {S}).",
        ),
        _mistake(
            "lengths: the other polarity",
            lambda g: g.causal & (g.key >= g.lengths[:, None, None]),
            "{wrong}True marks the padding, as in PyTorch's `key_padding_mask`. Here True means: "
            "may attend.",
        ),
        _mistake(
            "lengths: no axis for the queries",
            lambda g: g.causal & (g.key < g.lengths[:, None]),
            "`key < lengths[:, None]` has shape ({B}, {S}). Next to a mask of ({T}, {S}) the {B} "
            "sequences are taken for queries. They need an axis: `lengths[:, None, None]`.",
        ),
        _mistake(
            "lengths: not causal",
            lambda g: g.key < g.lengths[:, None, None],
            "Your mask has shape ({B}, 1, {S}): the padding is hidden, and the future is not. Both "
            "rules must hold: `mask & ...`, of shape ({B}, {T}, {S}).",
        ),
    ),
)

CAUSAL_MASK = _stage(
    # 5 queries at the end of 11 tokens, at places 6 to 10; a whole text; one step of writing.
    ((5, 11), (7,), (7, 7), (1, 5)),
    (
        _mistake(
            "aligned at the top left",
            lambda g: g.key <= g.row,
            "{wrong}You compare the key with the row t. The queries are the last {T} of {S} "
            "tokens: row t is at place t + S − T, which is {before} more.",
        ),
        _mistake(
            "without itself",
            lambda g: g.key < g.place,
            "{wrong}A token may attend to itself: the key may be equal to the place, `<=`.",
        ),
        _mistake(
            "one ahead",
            lambda g: g.key <= g.place + 1,
            "{wrong}That is one key too many, and it is the future: the leak that training finds.",
        ),
        _mistake(
            "the other polarity",
            lambda g: ~g.causal,
            "{wrong}True marks what is forbidden, as in PyTorch's `nn.MultiheadAttention`. Here "
            "True means: may attend.",
        ),
        _mistake(
            "numbers",
            lambda g: g.causal.float(),
            "Your mask holds numbers. Asked for is a boolean mask, True = may attend: the "
            "comparison itself, not ones and zeros, nor 0 and −∞.",
        ),
    ),
    then=(_WINDOW, _PREFIX, _DOCUMENT, _LENGTHS),
    kept_as="causal_mask",
)
