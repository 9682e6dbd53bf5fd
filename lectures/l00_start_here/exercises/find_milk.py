"""Exercise 2: matrices set by hand, so that “it” finds *milk*."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import attend
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import describe
from course_utils.teaching.watched import watched

__all__ = ["FIND_MILK"]

ENOUGH = 0.75
LITTLE = 0.4
CAT_MILK_IT = torch.tensor([[2.3, 0.2], [-2.0, 0.2], [0.2, 2.3]])
BREAD_DOG_SHE = torch.tensor([[-2.2, 0.3], [2.0, 0.1], [0.3, 2.1]])  # in another order
IDENTITY = torch.eye(2)


class Found(str):
    """Whom “it” attends to, in words; with its weights and its query for the diagnosis."""

    query: Tensor
    shares: dict[str, float]


def _found(value: Any, x: Tensor) -> Found:
    """What the last word attends to, from the queries and keys that an answer gave."""
    match value:
        case (Tensor(shape=one) as q, Tensor(shape=other) as k) if one == other == x.shape:
            weights = attend(q.to(x.dtype), k.to(x.dtype), x)[1][-1]
        case _:
            shape = tuple(x.shape)
            raise ValueError(
                f"it should return the queries and the keys, two tensors of shape {shape}; "
                f"you gave {describe(value)}"
            )
    places = {"cat": int(x[:, 0].argmax()), "milk": int(x[:, 0].argmin()), "itself": len(x) - 1}
    shares = {word: weights[place].item() for word, place in places.items()}
    most = max(shares, key=shares.__getitem__)
    if shares[most] < LITTLE:
        found = Found("nothing in particular")
    else:
        found = Found(most if shares[most] > ENOUGH else f"{most}, a little")
    found.query, found.shares = q[-1], shares
    return found


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The weights of “it”, and its query."""
    if not isinstance(got, Found):
        return {}
    across, up = got.query.tolist()
    return {
        **{word: f"{share:.2f}" for word, share in got.shares.items()},
        "query": f"({across:.1f}, {up:.1f})",
    }


def _with(w_q, w_k=IDENTITY):
    """The answer that uses these matrices."""
    return lambda x: (x @ torch.as_tensor(w_q), x @ torch.as_tensor(w_k))


FIND_MILK = Exercise(
    title="Make it find milk",
    difficulty=2,
    minutes=5,
    function="find_milk",
    reference=_with([[0.0, 0.0], [-0.5, 0.0]]),
    probes=({"x": CAT_MILK_IT}, {"x": BREAD_DOG_SHE}),
    parts=("what the pronoun attends to",),
    facts=_facts,
    watch=lambda answer: watched(answer, _found),
    praise="The pronoun finds the non-animal, in these words and in three others.",
    mistakes=(
        Mistake(
            "asks for an animal",
            _with([[0.0, 0.0], [0.5, 0.0]]),
            "“it” gives cat {cat} and milk {milk}. Its query {query} points to the animals, on the "
            "right. On which side is milk?",
        ),
        Mistake(
            "asks for itself",
            _with(IDENTITY),
            "“it” gives itself {itself} and milk {milk}. Its query {query} points up, to the "
            "pronouns. The second row of W_Q says what a pronoun asks for: let it point to milk.",
        ),
        Mistake(
            "asks too softly",
            _with([[0.0, 0.0], [-0.2, 0.0]]),
            "The direction is right: milk leads with {milk}. To get more than 0.75 the query "
            "{query} has to be longer.",
        ),
        Mistake(
            "rows and columns swapped",
            _with([[0.0, -0.5], [0.0, 0.0]]),
            "“it” gives cat {cat}, milk {milk}, itself {itself}: its query {query} is so "
            "short that the scores are nearly equal. A word is a row times W_Q, so a pronoun's "
            "query is almost the *second row* of W_Q, times 2.3.",
        ),
    ),
)
