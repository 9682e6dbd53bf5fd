"""A causal mask that also knows windows and prefixes: one option a stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Tolerance


@dataclass(frozen=True)
class _Grid:
    """The parameters of the exercise, and what a mask is made of: rows, places and keys."""

    T: int
    keys: int | None
    window: Any  # None, or a number
    prefix: int

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


Rule = Callable[[_Grid], Tensor]


def _answer(rule: Rule) -> Callable[..., Tensor]:
    """A rule as a reader would call it."""

    def causal_mask(T, S=None, window=None, prefix=0):
        return rule(_Grid(T, S, window, prefix))

    return causal_mask


def _right(g: _Grid) -> Tensor:
    mask = g.causal
    if g.window is not None:
        mask = mask & (g.key > g.place - g.window)
    return mask | (g.key < g.prefix)


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


def _first_wrong_row(got: Any, expected: Tensor, grid: _Grid) -> str:
    """The first row that is wrong, and what it may attend to."""
    if not isinstance(got, Tensor) or got.shape != expected.shape or got.dtype != torch.bool:
        return ""
    off = (got != expected).any(dim=-1).nonzero().tolist()
    if not off:
        return ""
    ((row,), *_) = off
    return (
        f"The query in row {row}, at place {int(grid.place[row, 0])}, attends to "
        f"{_keys(got[row])}; it may attend to {_keys(expected[row])}. "
    )


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    grid = _Grid(*inputs.values(), *(None, None, 0)[len(inputs) - 1 :])
    wrong = _first_wrong_row(got, _right(grid), grid)
    return {"wrong": wrong, "S": grid.S, "before": grid.S - grid.T}


def _probes(*calls: tuple[Any, ...]) -> tuple[dict[str, Any], ...]:
    """The parameters by name, for calls that may leave out the last ones."""
    names = ("T", "S", "window", "prefix")
    return tuple(dict(zip(names, values, strict=False)) for values in calls)


CAUSAL_MASK = Exercise(
    title="A causal mask",
    difficulty=2,
    minutes=10,
    function="causal_mask",
    reference=_answer(_right),
    # 5 queries at the end of 11 tokens, at places 6 to 10; a whole text; one step of writing.
    probes=_probes((5, 11), (7,), (7, 7), (1, 5)),
    parts=("the mask",),
    facts=_facts,
    tolerance=Truths(),
    praise="One comparison for each rule, and all of them hold for T ≠ S too, because the "
    "query's place was put in once.",
    written=_answer,
    kept_as="causal_mask",
)

causal_mask = CAUSAL_MASK.reference  # so that it can be imported


@CAUSAL_MASK.mistake()
def aligned_at_the_top_left(g):
    """{wrong}You compare the key with the row t. The queries are the last {T} of {S} tokens: row t
    is at place t + S − T, which is {before} more."""
    return g.key <= g.row


@CAUSAL_MASK.mistake()
def without_itself(g):
    """{wrong}A token may attend to itself: the key may be equal to the place, `<=`."""
    return g.key < g.place


@CAUSAL_MASK.mistake()
def one_ahead(g):
    """{wrong}That is one key too many, and it is the future: the leak that training finds."""
    return g.key <= g.place + 1


@CAUSAL_MASK.mistake()
def the_other_polarity(g):
    """{wrong}True marks what is forbidden, as in PyTorch's `nn.MultiheadAttention`. Here True
    means: may attend."""
    return ~g.causal


@CAUSAL_MASK.mistake()
def without_S(g):
    """Your mask has {T} columns, one for each query. It needs one for each of the S = {S} keys:
    compare with `torch.arange(S)`. Only without `S` are there as many keys as queries."""
    return torch.arange(g.T) <= g.row


@CAUSAL_MASK.mistake()
def numbers(g):
    """Your mask holds numbers. Asked for is a boolean mask, True = may attend: the comparison
    itself, not ones and zeros, nor 0 and −∞."""
    return g.causal.float()


WINDOW = CAUSAL_MASK.stage(probes=_probes((5, 11, 3), (7, 7, 2), (1, 5, 2)))


@WINDOW.mistake()
def the_window_changes_nothing(g):
    """The causal mask is right, and `window` changes nothing yet. {wrong}Keep the newest {window}
    of the causal keys, the query's own included."""
    return g.causal


@WINDOW.mistake()
def window_with_one_key_too_many(g):
    """{wrong}That is {window} keys and its own. A window of {window} counts the token itself: key >
    place − window."""
    return g.causal & (g.key >= g.place - g.window)


@WINDOW.mistake()
def window_with_one_key_too_few(g):
    """{wrong}A window of {window} has {window} keys, the query's own included: key > place −
    window."""
    return g.causal & (g.key > g.place - g.window + 1)


@WINDOW.mistake()
def window_that_sees_the_future(g):
    """{wrong}The window has its far end and not its near one: it must be causal too."""
    return g.key > g.place - g.window


@WINDOW.mistake()
def window_or_causal(g):
    """{wrong}With `|` one of the two conditions is enough, and every key meets one. Both must hold:
    `&`."""
    return g.causal | (g.key > g.place - g.window)


PREFIX = CAUSAL_MASK.stage(probes=_probes((5, 11, None, 9), (7, 7, None, 3), (1, 5, None, 1)))


@PREFIX.mistake()
def the_prefix_changes_nothing(g):
    """Causal and window are right, and `prefix` changes nothing yet. {wrong}Every query may also
    attend to the first {prefix} keys."""
    return g.causal


@PREFIX.mistake()
def prefix_and_causal(g):
    """{wrong}With `&` a query attends to the part of the prefix that it has passed, and to nothing
    else. It may attend to the prefix or the past: `|`."""
    return g.causal & (g.key < g.prefix)


@PREFIX.mistake()
def prefix_with_one_key_too_many(g):
    """{wrong}The first {prefix} keys have the numbers 0 to prefix − 1, so key < prefix."""
    return g.causal | (g.key <= g.prefix)


BOTH = CAUSAL_MASK.stage(probes=_probes((5, 11, 3, 2), (7, 7, 2, 3), (1, 5, 2, 1)))


@BOTH.mistake()
def the_window_cuts_the_prefix(g):
    """Each option is right by itself. Together, your window also cuts the prefix. {wrong}First
    causal and window, then add the prefix: every query may attend to it, however old it is."""
    return _right(g) & (g.key > g.place - g.window)


@BOTH.mistake()
def the_prefix_is_left_out(g):
    """Each option is right by itself. With both, your prefix changes nothing, as if the window
    came in its place. {wrong}Ask for the prefix in any case, after the window: a second `if`, not
    `elif` or `else`."""
    return _right(_Grid(g.T, g.keys, g.window, 0))


@BOTH.mistake()
def the_window_is_left_out(g):
    """Each option is right by itself. With both, your window changes nothing. {wrong}Window the
    causal keys first, then add the first {prefix} keys and no others."""
    return _right(_Grid(g.T, g.keys, None, g.prefix))
