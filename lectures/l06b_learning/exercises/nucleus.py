"""Top-p, the fewest tokens that together hold a share p."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import NanAlike


def _put_back(kept: Tensor, order: Tensor) -> Tensor:
    return torch.zeros_like(kept).scatter(0, order, kept)


def _shares(probabilities: Tensor, kept: Tensor) -> Tensor:
    """What is kept, divided by its sum."""
    kept = torch.where(kept, probabilities, 0.0)
    return kept / kept.sum()


def _nucleus(
    probabilities: Tensor,
    p: float,
    *,
    keep: Callable[[Tensor, float], Tensor] = lambda largest, p: largest.cumsum(0) - largest < p,
    normalise: Callable[[Tensor], Tensor] = lambda kept: kept / kept.sum(),
    back: Callable[[Tensor, Tensor], Tensor] = _put_back,
    descending: bool = True,
) -> Tensor:
    """Top-p that is right but for what is given: what is kept, of the sorted, and what then."""
    ordered, order = probabilities.sort(descending=descending)
    kept = torch.where(keep(ordered, p), ordered, 0.0)
    return back(normalise(kept), order)


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    probabilities, p = inputs["probabilities"], inputs["p"]
    largest = probabilities.sort(descending=True).values
    size = int((_nucleus(probabilities, p) > 0).sum())
    facts: dict[str, Any] = {"V": len(probabilities), "size": size, "largest": float(largest[0])}
    facts |= {"share": float(largest[:size].sum()), "before": float(largest[: size - 1].sum())}
    facts["list"] = ", ".join(f"{each:.4g}" for each in probabilities.tolist())
    if isinstance(got, Tensor) and got.shape == probabilities.shape:
        kept = got != 0
        facts |= {"kept": int(kept.sum()), "sum": float(got.sum())}
        facts["held"] = float(probabilities[kept].sum())
    return facts


_OF = "{list}, p = {p}: "

NUCLEUS = Exercise(
    title="Keep the nucleus",
    difficulty=2,
    minutes=10,
    function="nucleus",
    reference=_nucleus,
    probes=(
        {"probabilities": torch.tensor([0.05, 0.3, 0.1, 0.4, 0.15]), "p": 0.6},
        # One token reaches the share alone.
        {"probabilities": torch.tensor([0.02, 0.07, 0.71, 0.12, 0.03, 0.05]), "p": 0.5},
        # Halves of halves, which have no rounding: two of them reach p exactly.
        {"probabilities": torch.tensor([0.125, 0.25, 0.0625, 0.5, 0.0625]), "p": 0.75},
        {"probabilities": torch.tensor([0.1, 0.22, 0.18, 0.19, 0.09, 0.08, 0.14]), "p": 0.9},
    ),
    parts=("result",),
    facts=_facts,
    tolerance=NanAlike(relative=1e-4, absolute=1e-6),
    praise="The token that takes the sum over p is kept, so at least one always is. Where the "
    "model is sure few remain, where it is not many: top-k does not know the difference.",
)


@NUCLEUS.mistake(begins=_OF)
def the_token_that_reaches_p_dropped(probabilities, p):
    """{size} tokens are needed, {share} in all; you drop the last of them, and {before} is less
    than p. Where one token alone is more than p, none is left, and 0/0 is NaN. Look at the sum of
    those before a token: less than p, and it is needed."""
    return _nucleus(probabilities, p, keep=lambda largest, p: largest.cumsum(0) <= p)


@NUCLEUS.mistake(begins=_OF)
def the_token_that_reaches_p_dropped_strictly(probabilities, p):
    """{size} tokens are needed, {share} in all. You keep those whose sum, themselves included, is
    still below p: the last one is missing, and where one token alone reaches p, nothing is left.
    Look at the sum of those before a token."""
    return _nucleus(probabilities, p, keep=lambda largest, p: largest.cumsum(0) < p)


@NUCLEUS.mistake(begins=_OF)
def one_too_many(probabilities, p):
    """{size} tokens reach p exactly, and you keep one more. What stands before it is not less than
    p: compare without the `=`."""
    return _nucleus(probabilities, p, keep=lambda largest, p: largest.cumsum(0) - largest <= p)


@NUCLEUS.mistake(begins=_OF)
def others_at_minus_infinity(probabilities, p):
    """the right {size} are kept, and the others are −∞. That is what a *score* becomes; a
    probability becomes 0."""
    kept = _nucleus(probabilities, p)
    return torch.where(kept > 0, kept, -torch.inf)


@NUCLEUS.mistake(begins=_OF)
def not_divided_by_the_sum(probabilities, p):
    """the right {size} are kept, and they sum to {sum}. Divide by that, so that they are
    probabilities again."""
    return _nucleus(probabilities, p, normalise=lambda kept: kept)


@NUCLEUS.mistake(begins=_OF)
def divided_by_p(probabilities, p):
    """the right {size} are kept, and you divide by p; they hold {share}, mostly more than p, so
    your result sums to {sum}. Divide by what they hold."""
    return _nucleus(probabilities, p, normalise=lambda kept: kept / p)


@NUCLEUS.mistake(begins=_OF)
def another_softmax(probabilities, p):
    """the right {size} are kept, and you put their probabilities through a softmax, which makes
    them nearly equal. They are probabilities already: divide by their sum."""

    def softmax(kept):
        return kept.masked_fill(kept == 0, -torch.inf).softmax(0)

    return _nucleus(probabilities, p, normalise=softmax)


@NUCLEUS.mistake(begins=_OF)
def left_in_order_of_size(probabilities, p):
    """the right {size} are kept, but sorted: the first place now holds the likeliest token's share,
    whichever token that was. Put them back where they stood: `out[order] = kept`."""
    return _nucleus(probabilities, p, back=lambda kept, order: kept)


@NUCLEUS.mistake(begins=_OF)
def put_back_the_wrong_way(probabilities, p):
    """the right {size} are kept and land in the wrong places. `kept[order]` reads where one has to
    write: `out[order] = kept`."""
    return _nucleus(probabilities, p, back=lambda kept, order: kept[order])


@NUCLEUS.mistake(begins=_OF)
def not_sorted(probabilities, p):
    """you add up in the order of the vocabulary, and keep {kept} that hold {held}. The likeliest
    come first: sort."""
    return _shares(probabilities, probabilities.cumsum(0) - probabilities < p)


@NUCLEUS.mistake(begins=_OF)
def smallest_first(probabilities, p):
    """you keep {kept}, the least likely first: `sort` goes upwards unless `descending=True`. Of the
    likeliest {size} are enough."""
    return _nucleus(probabilities, p, descending=False)


@NUCLEUS.mistake(begins=_OF)
def p_as_a_threshold(probabilities, p):
    """you keep tokens whose own probability is at least p. p is a share of the sum: the likeliest
    {size} hold {share} together."""
    return _shares(probabilities, probabilities >= p)


@NUCLEUS.mistake(begins=_OF)
def at_least_one(probabilities, p):
    """you keep the tokens whose sum, themselves included, is at most p, and one where there is
    none. The token that takes the sum over p is still missing: {size} are needed, and hold {share}.
    Look at the sum of those before a token: less than p, and it is needed."""

    def keep(largest, p):
        count = max(1, int((largest.cumsum(0) <= p).sum()))
        return torch.arange(len(largest)) < count

    return _nucleus(probabilities, p, keep=keep)


@NUCLEUS.mistake(begins=_OF)
def mask_of_the_sorted_used_unsorted(probabilities, p):
    """you keep {size} tokens, as many as are needed, but not the likeliest: your mask is in order
    of size, and you use it on the probabilities in order of the vocabulary. Put it back first:
    `mask[order] = needed`."""
    largest = probabilities.sort(descending=True).values
    return _shares(probabilities, largest.cumsum(0) - largest < p)


@NUCLEUS.mistake(begins=_OF)
def only_those_that_are_kept(probabilities, p):
    """you return the {size} that are kept, by size. Return all {V}, in the order of the vocabulary,
    with 0 for the others: whoever samples must know which token is which."""
    kept = _nucleus(probabilities, p, back=lambda kept, order: kept)
    return kept[kept > 0]


@NUCLEUS.mistake(begins=_OF)
def which_are_kept(probabilities, p):
    """you return which {size} tokens are kept. Return {V} probabilities: theirs, divided by their
    sum, and 0 for the others."""
    largest, order = probabilities.sort(descending=True)
    return order[largest.cumsum(0) - largest < p]
