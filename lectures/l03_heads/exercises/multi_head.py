"""Exercise 1: a layer of heads, a part of the reader's GPT."""

from __future__ import annotations

import math

import torch

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import NanAlike
from lectures.l03_heads.exercises.multi_head_steps import (
    MultiHead,
    NotSetUp,
    applied,
    dealt,
    dealt_back,
    facts,
    hidden_late,
    opposite,
    probe,
    root_of_D,
    view,
    view_back,
    with_steps,
    with_x,
    without_gradient,
    zeroed,
)

CLOSE = NanAlike(relative=1e-4, absolute=1e-4)

_OFF = "One number of the output is {gave}, expected {want}. "

MULTI_HEAD = Exercise(
    title="Build MultiHead",
    difficulty=2,
    minutes=12,
    function="MultiHead",
    kept_as="MultiHead",
    reference=MultiHead,
    watch=applied,
    probes=(
        probe(2, 5, 6, 3),
        probe(3, 7, 10, 2),
        # As many tokens as heads: a forgotten transpose keeps the shape.
        probe(2, 3, 15, 3),
    ),
    parts=("out",),
    facts=facts,
    tolerance=CLOSE,
    praise="Right without a mask.",
    written=lambda wrong: wrong(),  # a mistake is declared as what makes its class
)


@MULTI_HEAD.mistake()
def not_set_up():
    """`__init__` must begin with `super().__init__()`: it makes the place where a module keeps its
    layers."""
    return NotSetUp


@MULTI_HEAD.mistake()
def nothing_set_up():
    """`__init__` does not call `super().__init__()`, so there is no place for layers yet. Begin
    with it, and then make the four layers."""
    return with_steps(__init__=lambda self, width, num_heads: None)


@MULTI_HEAD.mistake(begins=_OFF)
def viewed_as_heads_first():
    """Your shapes are right and the tokens are mixed: `view` cuts the memory in order, and in
    memory a token's numbers are side by side. View as (B, T, H, D), then `transpose(1, 2)`."""
    return with_steps(split=view)


@MULTI_HEAD.mistake(begins=_OFF)
def wrong_there_and_back():
    """You split by `view(B, H, T, D)` and merge in the same way. Every number returns to its place,
    but each head has attended within a piece of the text only. View as (B, T, H, D), then
    `transpose(1, 2)`; to merge, transpose first."""
    return with_steps(split=view, merge=view_back)


@MULTI_HEAD.mistake(begins=_OFF)
def not_transposed_back():
    """Your split is right, and your merge mixes the tokens: the heads come one after the other in
    memory. `transpose(1, 2)` first, then join the last two axes."""
    return with_steps(merge=view_back)


@MULTI_HEAD.mistake(begins=_OFF)
def never_transposed():
    """You cut each token into heads, (B, T, H, D), and attend there. The last two axes are then
    heads and numbers, so the {H} heads of one token attend to each other, and no token sees
    another. `transpose(1, 2)` brings the tokens next to the numbers."""
    return with_steps(
        split=lambda self, y: y.unflatten(-1, (self.num_heads, -1)),
        merge=lambda self, heads: heads.flatten(2),
    )


@MULTI_HEAD.mistake(begins=_OFF)
def channels_dealt_out():
    """You deal the channels out to the heads one by one. Such a layer would train just as well, but
    weights that were trained elsewhere do not fit it. Head 0 has the first {D} channels: cut the
    last axis as (H, D), not as (D, H)."""
    return with_steps(split=dealt, merge=dealt_back)


@MULTI_HEAD.mistake(begins=_OFF)
def channels_dealt_out_then_joined():
    """You deal the channels out to the heads one by one, and put the heads side by side again. Head
    0 has the first {D} channels of each token: cut the last axis as (H, D), not as (D, H)."""
    return with_steps(split=dealt)


@MULTI_HEAD.mistake(begins=_OFF)
def channels_interleaved():
    """Your split is right. Your merge takes one number from each head in turn; head 0's {D}
    channels come first, then head 1's: join the last axes as (H, D)."""
    return with_steps(merge=dealt_back)


@MULTI_HEAD.mistake(begins=_OFF)
def number_and_width_of_the_heads_exchanged():
    """You make {D} heads of width {H}: number and width are exchanged. There are num_heads = {H}
    heads of width D = C / num_heads = {D}."""
    return with_steps(split=lambda self, y: y.unflatten(-1, (-1, self.num_heads)).transpose(1, 2))


@MULTI_HEAD.mistake(begins=_OFF)
def number_and_width_exchanged_in_the_view():
    """You divide by √{D}, but your cut makes {D} heads of width {H}: number and width are
    exchanged. Cut as (B, T, H, D)."""
    return with_steps(
        split=lambda self, y: y.unflatten(-1, (-1, self.num_heads)).transpose(1, 2),
        divisor=root_of_D,
    )


@MULTI_HEAD.mistake(begins=_OFF)
def one_head():
    """All {C} dimensions attend as one head. Cut them into {H} heads of {D}, each of which has its
    own weights."""
    return with_steps(split=lambda self, y: y[:, None], merge=lambda self, heads: heads[:, 0])


@MULTI_HEAD.mistake(begins=_OFF)
def one_head_with_the_divisor_of_many():
    """You divide by √{D}, but all {C} dimensions attend as one head. Cut q, k and v into {H} heads
    of {D}, each of which has its own weights."""
    return with_steps(
        split=lambda self, y: y[:, None],
        merge=lambda self, heads: heads[:, 0],
        divisor=root_of_D,
    )


@MULTI_HEAD.mistake(begins=_OFF)
def transposed_before_the_cut():
    """You transpose to (B, C, T) and then cut to the shape you need. A reshape to sizes that fit is
    not a transpose. First cut C into (H, D), then exchange axes."""
    return with_steps(split=lambda self, y: y.mT.reshape(len(y), self.num_heads, y.shape[1], -1))


@MULTI_HEAD.mistake()
def view_of_what_does_not_lie_in_order():
    """The plan is right, and `view` cannot merge: after the transpose a token's channels are no
    longer side by side in memory, and a view moves nothing. `reshape` and `flatten` copy where they
    have to."""
    return with_steps(
        merge=lambda self, heads: heads.transpose(1, 2).view(heads.shape[0], heads.shape[2], -1)
    )


@MULTI_HEAD.mistake()
def heads_added():
    """You add the heads up, to width {D}, which `output` cannot take. Each head keeps its own
    channels, {H}·{D} = {C} in all, side by side; `output` mixes them afterwards."""
    return with_steps(merge=lambda self, heads: heads.sum(dim=1))


@MULTI_HEAD.mistake(begins=_OFF)
def no_output_layer():
    """You return the heads side by side, without W_O. `self.output(...)` turns them into what is
    added to the token's vector."""
    return with_steps(project=lambda self, merged: merged)


@MULTI_HEAD.mistake(begins=_OFF)
def not_scaled():
    """The scores are not scaled: divide by √D = √{D} = {root_D} before the softmax."""
    return with_steps(divisor=lambda self, x, q: 1.0)


@MULTI_HEAD.mistake(begins=_OFF)
def divided_by_the_root_of_C():
    """You divide by √C = {root_C}, from the width of x. A head's scores are sums of D = {D}
    products: divide by √{D} = {root_D}."""
    return with_steps(divisor=lambda self, x, q: math.sqrt(x.shape[-1]))


@MULTI_HEAD.mistake(begins=_OFF)
def divided_by_D():
    """Your scores are divided by D = {D}. They grow as its root only: divide by √{D} = {root_D}."""
    return with_steps(divisor=lambda self, x, q: q.shape[-1])


@MULTI_HEAD.mistake(begins=_OFF)
def softmax_over_the_heads():
    """Your softmax runs over axis 1, and in scores (B, H, T, T) that is the heads. The keys are the
    last axis: `dim=-1`."""
    return with_steps(weights=lambda self, scores, mask: scores.softmax(dim=1))


@MULTI_HEAD.mistake(begins=_OFF)
def softmax_over_the_queries():
    """Your softmax runs over the queries, so the weights of a query do not sum to 1. The keys are
    the last axis: `dim=-1`."""
    return with_steps(weights=lambda self, scores, mask: scores.softmax(dim=-2))


@MULTI_HEAD.mistake(begins=_OFF)
def x_added():
    """You add x. Return the output without it: whoever uses the layer adds x."""
    return with_steps(forward=with_x)


@MULTI_HEAD.mistake()
def no_mask_to_invert():
    """Without a mask `may_attend` is None, and `~None` is an error. Hide only
    `if may_attend is not None:`."""
    return with_steps(weights=lambda self, scores, mask: scores.masked_fill(~mask, -torch.inf))


@MULTI_HEAD.mistake()
def with_the_weights():
    """You return two things. `forward` returns the output only, so that it can be added to x."""
    return with_steps(project=lambda self, merged: (self.output(merged), merged))


MASKED = MULTI_HEAD.stage(
    probes=(
        probe(2, 5, 6, 3, torch.ones(5, 5, dtype=torch.bool).tril()),
        # A table that is not symmetric, and has no empty row the other way round either.
        probe(1, 7, 10, 2, (torch.arange(7)[:, None] + 2 * torch.arange(7)) % 5 > 0),
    ),
    praise="All heads in one product, each with its own numbers, and no key where the mask says "
    "no. This is the attention of every GPT.",
)


@MASKED.mistake()
def the_mask_ignored():
    """Right without a mask, and with one the output is the same: you do not use `may_attend`. Where
    it is False, the score becomes −∞ before the softmax."""
    return with_steps(weights=lambda self, scores, mask: scores.softmax(dim=-1))


@MASKED.mistake()
def the_opposite_mask():
    """Right without a mask. With one you hide what may be attended to: in `may_attend` True means
    *may*. Hide where it is False, `masked_fill(~may_attend, ...)`."""
    return with_steps(weights=opposite)


@MASKED.mistake(begins=_OFF)
def hidden_after_the_softmax():
    """You hide weights, after the softmax, so a row no longer sums to 1. Hide the scores before it,
    by −∞."""
    return with_steps(weights=hidden_late)


@MASKED.mistake(begins=_OFF)
def hidden_scores_set_to_0():
    """You set hidden scores to 0, and 0 is a score like any other: $e^0 = 1$. Only −∞ becomes a
    weight of 0."""
    return with_steps(weights=zeroed)


@MASKED.mistake(begins=_OFF)
def mask_added():
    """You add `may_attend`, where True counts as 1 and False as 0, so a hidden score is lower by 1
    only. It has to be −∞."""
    return with_steps(
        weights=lambda self, scores, mask: (scores if mask is None else scores + mask).softmax(-1)
    )


@MASKED.mistake(begins=_OFF)
def mask_transposed():
    """Your mask is transposed. In `may_attend` as in the scores, a row is a query and a column is a
    key: use it as it is."""
    return with_steps(
        weights=lambda self, scores, mask: MultiHead.weights(
            self, scores, None if mask is None else mask.T
        )
    )


@MASKED.mistake()
def a_table_in_an_if():
    """`if may_attend:` asks a whole table for one yes or no. What you want to know is whether there
    is a table: `if may_attend is not None:`."""
    return with_steps(
        weights=lambda self, scores, mask: MultiHead.weights(self, scores, mask if mask else None)
    )


TRAINS = MULTI_HEAD.stage(
    probes=MASKED.probes[:1],
    watch=without_gradient,
    parts=("layers without a gradient",),
    praise=MASKED.praise,
)

_CUT = (
    "The numbers are right, but autograd cannot follow your output back to {got}: they would not "
    "learn. `detach`, `.data`, numpy and `torch.no_grad` cut that tie. Look for one "
)


@TRAINS.mistake(begins=_CUT)
def weights_cut():
    """between `self.query` and the weights."""
    return with_steps(
        weights=lambda self, scores, mask: MultiHead.weights(self, scores, mask).detach()
    )


@TRAINS.mistake(begins=_CUT)
def mixture_cut():
    """between `self.value` and `self.output`."""
    return with_steps(merge=lambda self, heads: MultiHead.merge(self, heads).detach())


@TRAINS.mistake(begins=_CUT)
def output_cut():
    """at the output itself, or around the whole of `forward`."""
    return with_steps(project=lambda self, merged: self.output(merged).detach())
