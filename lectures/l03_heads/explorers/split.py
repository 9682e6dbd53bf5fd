"""The split into heads beside the wrong one: where every number goes, and what outputs see."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Choice, Slider, Steps

TOKENS, WIDTH = 6, 12  # T and C
HEADS = (1, 2, 3, 4, 6)
TRANSPOSE, VIEW = "transpose, reshape", "view"


@dataclass(frozen=True)
class SplitState:
    """The same numbers under the right split and the wrong one.

    Attributes:
        heads: number of heads, H.
        number: the one that is pointed at; x holds the numbers 0 to 71 in this order in memory.
        right, wrong: head, row and column (72, 3) where each number goes.
        reach: for both orders, which tokens (2, T, T) the output of each token depends on, where
            row i of a head attends to its rows up to i (a causal mask).
    """

    heads: int
    number: int
    right: np.ndarray
    wrong: np.ndarray
    reach: np.ndarray


def split_in(x: Tensor, heads: int, *, wrong: bool) -> Tensor:
    """(T, C) as (H, T, D), by the right split or the view that has the same shape."""
    T, C = x.shape
    if wrong:
        return x.view(heads, T, C // heads)
    return x.view(T, heads, C // heads).transpose(0, 1)


def merged(heads: Tensor, *, by_view: bool) -> Tensor:
    """(H, T, …) as (T, H, …): which head's row each part of an output comes from."""
    H, T = heads.shape[:2]
    return heads.reshape(T, H, *heads.shape[2:]) if by_view else heads.transpose(0, 1)


def places_of(heads: Tensor) -> np.ndarray:
    """Head, row and column (72, 3) of each number of x."""
    order = heads.reshape(-1).argsort()
    return np.stack(np.unravel_index(order.numpy(), tuple(heads.shape)), axis=1)


@cache  # 20
def reach_of(heads: int, *, wrong: bool, by_view: bool) -> np.ndarray:
    """Which tokens (T, T) each output depends on, with a causal mask in every head."""
    token = torch.arange(TOKENS)[:, None].expand(TOKENS, WIDTH).contiguous()
    rows = split_in(token, heads, wrong=wrong)[..., 0]  # (H, T): the token of each row
    held = torch.nn.functional.one_hot(rows, TOKENS)  # (H, T, T)
    seen = held.cumsum(dim=1) > 0
    return np.asarray(merged(seen, by_view=by_view).any(dim=1))


class Split(Explorer):
    """A number of x, pointed at → its place in the heads, by the right split and the wrong one."""

    title = "Which numbers does a head get?"
    inputs = {
        "heads": Steps("number of heads", HEADS, 2, in_picture=True),
        "number": Slider("number in memory", 0, TOKENS * WIDTH - 1, 31, in_picture=True),
        "merge": Choice("merge of the wrong split", (TRANSPOSE, VIEW), TRANSPOSE, in_picture=True),
    }
    presets = {
        "two heads": {"heads": 2, "number": 31, "merge": TRANSPOSE},
        "six heads: one token each": {"heads": 6, "number": 31, "merge": TRANSPOSE},
        "merged by view: closed blocks": {"heads": 3, "number": 53, "merge": VIEW},
        "one head": {"heads": 1, "number": 31, "merge": TRANSPOSE},
    }
    view = "split.js"
    reading = (
        "Colours are heads, digits are tokens. The right split gives each head a vertical slice: a "
        "piece of every token. The wrong view cuts the memory into long stretches, so a head gets "
        "few tokens, whole. The small maps show what the output in a row depends on when each row "
        "of a head attends to itself and the rows above it (a causal mask): blue is the past, a "
        "cross is the future. Choose a number to follow it, and drag the round handle to change "
        "the number of heads."
    )

    def compute(self, heads: int, number: int, merge: str) -> SplitState:
        x = torch.arange(TOKENS * WIDTH).view(TOKENS, WIDTH)
        right, wrong = (places_of(split_in(x, heads, wrong=each)) for each in (False, True))
        reach = [
            reach_of(heads, wrong=False, by_view=False),
            reach_of(heads, wrong=True, by_view=merge == VIEW),
        ]
        return SplitState(
            heads=heads, number=number, right=right, wrong=wrong, reach=np.array(reach)
        )

    def caption(self, state: SplitState) -> str:
        token, place = divmod(state.number, WIDTH)
        head, row, _ = state.right[state.number]
        if state.heads == 1:
            return (
                f"With one head there is nothing to cut: number [b:{place}] of token [b:{token}] "
                f"is in row {row} of both, and every output sees its past."
            )
        wrong_head, wrong_row, _ = state.wrong[state.number]
        return (
            f"Number {place} of token {token}: head [b:{head}], row {row}. "
            f"Wrong view: head [b:{wrong_head}], row {wrong_row}; "
            f"output {token} depends on {tokens(state.reach[1, token])}."
        )


def tokens(is_seen: np.ndarray) -> str:
    """Tokens as a list; neighbours from three on as a range."""
    seen = np.flatnonzero(is_seen).tolist()
    first, last = seen[0], seen[-1]
    if len(seen) == 1:
        return f"token {first}"
    if len(seen) > 2 and last - first == len(seen) - 1:
        return f"tokens {first} to {last}"
    return f"tokens {', '.join(map(str, seen))}"
