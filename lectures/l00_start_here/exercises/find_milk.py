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
LITTLE = 0.4
CAT_MILK_IT = torch.tensor([[2.3, 0.2], [-2.0, 0.2], [0.2, 2.3]])
BREAD_DOG_SHE = torch.tensor([[-2.2, 0.3], [2.0, 0.1], [0.3, 2.1]])  # in another order


class Target(str):
    """Whom “it” attends to, in words; with its weights and its query for the diagnosis."""

    query: Tensor
    shares: dict[str, float]


def _target(value: Any, x: Tensor) -> Target:
    """What the last word attends to, from the queries and keys that an answer gave."""
    match value:
        case (Tensor(shape=one) as q, Tensor(shape=other) as k) if one == other == x.shape:
            weights = attend(q.to(x.dtype), k.to(x.dtype), x)[1][-1]
        case _:
            shape = tuple(x.shape)
            raise UnfitError(
                f"it should return the queries and the keys, two tensors of shape {shape}; "
                f"you gave {describe(value)}"
            )
    places = {"cat": int(x[:, 0].argmax()), "milk": int(x[:, 0].argmin()), "itself": len(x) - 1}
    shares = {word: weights[place].item() for word, place in places.items()}
    most = max(shares, key=shares.__getitem__)
    if shares[most] < LITTLE:
        target = Target("nothing in particular")
    else:
        target = Target(most if shares[most] > ENOUGH else f"{most}, a little")
    target.query, target.shares = q[-1], shares
    return target


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The weights of “it”, and its query."""
    if not isinstance(got, Target):
        return {}
    across, up = got.query.tolist()
    return {
        **{word: f"{share:.2f}" for word, share in got.shares.items()},
        "query": f"({across:.1f}, {up:.1f})",
    }


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
def rows_and_columns_swapped(x):
    """“it” gives cat {cat}, milk {milk}, itself {itself}: its query {query} is so short that the
    scores are nearly equal. A word is a row times W_Q, so a pronoun's query is almost the *second
    row* of W_Q, times 2.3."""
    return x @ torch.tensor([[0.0, -0.5], [0.0, 0.0]]), x
