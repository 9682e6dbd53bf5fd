"""Exercise 2: matrices set by hand, so that “it” finds *milk*."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import attend
from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import UnfitError, describe
from course_utils.teaching.watched import watched

ENOUGH = 0.75
EVEN = 0.08
CAT_MILK_IT = torch.tensor([[2.3, 0.2], [-2.0, 0.2], [0.2, 2.3]])
BREAD_DOG_SHE = torch.tensor([[-2.2, 0.1], [2.0, 0.1], [0.3, 2.1]])  # in another order


class Target(str):
    """What “it” attends to, in words; with the numbers that a diagnosis quotes."""

    numbers: dict[str, str]


def _target(value: Any, x: Tensor) -> Target:
    """What the last word attends to, from the queries and keys that an answer gave."""
    q, k = _queries_and_keys(value, x)
    places = {"cat": int(x[:, 0].argmax()), "milk": int(x[:, 0].argmin()), "itself": len(x) - 1}

    def shares(queries: Tensor, keys: Tensor) -> dict[str, float]:
        weights = attend(queries, keys, x)[1][-1]
        if not weights.isfinite().all():
            raise UnfitError("the weights of “it” are NaN, as with numbers that are too large")
        return {word: weights[place].item() for word, place in places.items()}

    share = shares(q, k)
    most = max(share, key=share.__getitem__)
    others = max(share["cat"], share["milk"])
    even = abs(share["cat"] - share["milk"]) < EVEN and share["itself"] < others + EVEN
    if most == "milk" and not even:
        target = Target(most if share[most] > ENOUGH else "milk, with too little weight")
    elif k.shape == x.shape and torch.allclose(k, x):
        target = Target("neither side" if even else most)
    else:
        exchanged = shares(k, q)["milk"] > ENOUGH
        target = Target("milk, with queries and keys exchanged" if exchanged else "not milk")
    target.numbers = {
        **{word: f"{number:.2f}" for word, number in share.items()},
        **{f"key_of_{word}": _vector(k[place]) for word, place in places.items()},
        "query": _vector(q[-1]),
    }
    return target


def _queries_and_keys(value: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """The two tables of an answer, of any one width."""
    match value:
        case (Tensor() as q, Tensor() as k) if q.ndim == 2 and q.shape == k.shape:
            if len(q) == len(x):
                return q.to(x.dtype), k.to(x.dtype)
    given = " and ".join(map(describe, value)) if _is_pair(value) else describe(value)
    raise UnfitError(
        "it should return the queries `x @ W_Q` and the keys `x @ W_K`, two tensors with a row for "
        f"each of the {len(x)} words; you gave {given}"
    )


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2


def _vector(row: Tensor) -> str:
    """A vector in words; a number that rounds to 0 has no sign."""
    return "(" + ", ".join(f"{number:.1f}".replace("-0.0", "0.0") for number in row.tolist()) + ")"


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The weights, the query and the keys."""
    return got.numbers if isinstance(got, Target) else {}


FIND_MILK = Exercise(
    title="Make it find milk",
    difficulty=2,
    minutes=5,
    function="find_milk",
    reference=lambda x: (x @ torch.tensor([[0.0, 0.0], [-0.5, 0.0]]), x),
    probes=({"x": CAT_MILK_IT}, {"x": BREAD_DOG_SHE}),
    parts=("what the pronoun attends to",),
    facts=_facts,
    watch=lambda answer: watched(answer, _target),
    praise="The pronoun finds the non-animal, in these words and in three others.",
)


@FIND_MILK.mistake()
def asks_for_an_animal(x):
    """“it” gives cat {cat} and milk {milk}. Its query {query} points to the animals, on the right.
    On which side is milk?"""
    return x @ torch.tensor([[0.0, 0.0], [0.5, 0.0]]), x


@FIND_MILK.mistake()
def asks_for_itself(x):
    """“it” gives itself {itself} and milk {milk}. Its query {query} points up, to the pronouns. The
    second row of W_Q says what a pronoun asks for: let it point to milk."""
    return x, x


@FIND_MILK.mistake()
def asks_too_softly(x):
    """The direction is right: milk leads with {milk}. To get more than 0.75 the query {query} has
    to be longer."""
    return x @ torch.tensor([[0.0, 0.0], [-0.2, 0.0]]), x


@FIND_MILK.mistake()
def asks_for_neither_side(x):
    """“it” gives cat {cat}, milk {milk}, itself {itself}: its query {query} points to neither side.
    A word is a row times W_Q, so a pronoun's query is almost the *second row* of W_Q, times 2.3."""
    return x @ torch.tensor([[0.0, -0.5], [0.0, 0.0]]), x


@FIND_MILK.mistake()
def keys_that_hide_milk(x):
    """“it” gives cat {cat}, milk {milk}, itself {itself}. Its query is {query}, and your W_K makes
    the keys {key_of_cat} of cat, {key_of_milk} of milk and {key_of_itself} of “it”. A score is the
    query times a key: milk's should be the largest."""
    return x @ torch.tensor([[0.0, 0.0], [-0.5, 0.0]]), torch.zeros_like(x)


@FIND_MILK.mistake()
def queries_and_keys_exchanged(x):
    """“it” gives milk {milk}. With your two results exchanged it would find milk: return the
    queries first, then the keys."""
    return x, x @ torch.tensor([[0.0, 0.0], [-0.5, 0.0]])


@FIND_MILK.mistake()
def whole_numbers(x):
    """The numbers in x have decimal places and those in your matrix are integers, and PyTorch does
    not multiply the two. Write `0.0` for `0`, and so on."""
    return x @ torch.tensor([[0, 0], [-1, 0]]), x


@FIND_MILK.mistake()
def matrix_in_front(x):
    """The words are the rows of x, so the matrix comes after them: `x @ W_Q`, not `W_Q @ x`."""
    return torch.tensor([[0.0, 0.0], [-0.5, 0.0]]) @ x, x
