"""Exercise 1: a layer of heads, a part of the reader's GPT."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import NanAlike, Outcome, UnfitError, is_untouched
from course_utils.teaching.rows import wave

LAYERS = ("query", "key", "value", "output")
CLOSE = NanAlike(relative=1e-4, absolute=1e-4)


class MultiHead(nn.Module):
    """The right layer; each mistake replaces one of its steps."""

    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in LAYERS)

    def forward(self, x, may_attend=None):
        q, k, v = (self.split(part(x)) for part in (self.query, self.key, self.value))
        scores = q @ k.mT / self.divisor(x, q)
        return self.project(self.merge(self.weights(scores, may_attend) @ v))

    def split(self, y):
        B, T, C = y.shape
        return y.view(B, T, self.num_heads, C // self.num_heads).transpose(1, 2)

    def divisor(self, x, q):
        return math.sqrt(q.shape[-1])

    def weights(self, scores, may_attend):
        if may_attend is not None:
            scores = scores.masked_fill(~may_attend, -torch.inf)
        return scores.softmax(dim=-1)

    def merge(self, heads):
        return heads.transpose(1, 2).flatten(2)

    def project(self, merged):
        return self.output(merged)


def _with(**steps: Callable[..., Any]) -> type:
    """The layer with other steps."""
    return type("MultiHead", (MultiHead,), steps)


class _NotSetUp(nn.Module):
    def __init__(self, width, num_heads):
        self.query = nn.Linear(width, width)


def _view(self, y):
    return y.view(len(y), self.num_heads, y.shape[1], -1)


def _view_back(self, heads):
    return heads.reshape(heads.shape[0], heads.shape[2], -1)


def _dealt(self, y):
    return y.unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)


def _dealt_back(self, heads):
    return heads.permute(0, 2, 3, 1).flatten(2)


def _hidden_late(self, scores, may_attend):
    weights = scores.softmax(dim=-1)
    return weights if may_attend is None else weights * may_attend


def _zeroed(self, scores, may_attend):
    return (scores if may_attend is None else scores * may_attend).softmax(dim=-1)


def _opposite(self, scores, may_attend):
    return MultiHead.weights(self, scores, None if may_attend is None else ~may_attend)


def _is_unwritten(answer: type, name: str) -> bool:
    """Whether a method is still as the stub has it, or is nobody's but PyTorch's."""
    method = getattr(answer, name, getattr(nn.Module, name))
    return method is getattr(nn.Module, name) or is_untouched(method, Outcome())


def _applied(answer: Any) -> Callable[..., Any]:
    """Build the layer, give it the weights of the probe, and let it attend."""

    def run(width, num_heads, weights, x, may_attend):
        if all(_is_unwritten(answer, name) for name in ("__init__", "forward")):
            return ...
        layer = answer(width, num_heads)
        if set(layer.state_dict()) != set(weights):
            has = ", ".join(sorted(layer.state_dict())) or "nothing"
            raise UnfitError(
                "the layer must have query, key, value and output, each nn.Linear(width, width), "
                f"and nothing else that is learned. Yours has {has}"
            )
        layer.load_state_dict(weights)
        with torch.no_grad():
            return layer(x) if may_attend is None else layer(x, may_attend)

    return run if isinstance(answer, type) else answer


def _probe(B: int, T: int, C: int, H: int, mask: torch.Tensor | None = None) -> Mapping[str, Any]:
    weights = {}
    for place, name in enumerate(LAYERS):
        weights[f"{name}.weight"] = 0.5 * wave(C, C, phase=0.7 + place)
        weights[f"{name}.bias"] = 0.3 * wave(C, phase=2.1 + place)
    x = wave(B, T, C, phase=0.3)
    return {"width": C, "num_heads": H, "weights": weights, "x": x, "may_attend": mask}


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """Sizes, and the number of the output that is furthest off."""
    x, C, H = inputs["x"], inputs["width"], inputs["num_heads"]
    facts: dict[str, Any] = {"C": C, "H": H, "D": C // H, "T": x.shape[1]}
    facts |= {"root_C": math.sqrt(C), "root_D": math.sqrt(C // H)}
    right = _applied(MultiHead)(*inputs.values())
    if isinstance(got, torch.Tensor) and got.shape == right.shape:
        worst = int((got - right).abs().nan_to_num(nan=torch.inf).argmax())
        facts |= {"gave": float(got.flatten()[worst]), "want": float(right.flatten()[worst])}
    return facts


_OFF = "One number of the output is {gave}, expected {want}. "

MULTI_HEAD = Exercise(
    title="Build MultiHead",
    difficulty=2,
    minutes=12,
    function="MultiHead",
    kept_as="MultiHead",
    reference=MultiHead,
    watch=_applied,
    probes=(
        _probe(2, 5, 6, 3),
        _probe(3, 7, 10, 2),
        # As many tokens as heads: a forgotten transpose keeps the shape.
        _probe(2, 3, 15, 3),
    ),
    parts=("out",),
    facts=_facts,
    tolerance=CLOSE,
    praise="Right without a mask.",
    written=lambda wrong: wrong(),  # a mistake is declared as what makes its class
)


@MULTI_HEAD.mistake()
def not_set_up():
    """`__init__` must begin with `super().__init__()`: it makes the place where a module keeps its
    layers."""
    return _NotSetUp


@MULTI_HEAD.mistake(begins=_OFF)
def viewed_as_heads_first():
    """Your shapes are right and the tokens are mixed: `view` cuts the memory in order, and in
    memory a token's numbers are side by side. View as (B, T, H, D), then `transpose(1, 2)`."""
    return _with(split=_view)


@MULTI_HEAD.mistake(begins=_OFF)
def wrong_there_and_back():
    """You split by `view(B, H, T, D)` and merge in the same way. Every number returns to its place,
    but each head has attended within a piece of the text only. View as (B, T, H, D), then
    `transpose(1, 2)`; to merge, transpose first."""
    return _with(split=_view, merge=_view_back)


@MULTI_HEAD.mistake(begins=_OFF)
def not_transposed_back():
    """Your split is right, and your merge mixes the tokens: the heads come one after the other in
    memory. `transpose(1, 2)` first, then join the last two axes."""
    return _with(merge=_view_back)


@MULTI_HEAD.mistake(begins=_OFF)
def never_transposed():
    """You cut each token into heads, (B, T, H, D), and attend there. The last two axes are then
    heads and numbers, so the {H} heads of one token attend to each other, and no token sees
    another. `transpose(1, 2)` brings the tokens next to the numbers."""
    return _with(
        split=lambda self, y: y.unflatten(-1, (self.num_heads, -1)),
        merge=lambda self, heads: heads.flatten(2),
    )


@MULTI_HEAD.mistake(begins=_OFF)
def channels_dealt_out():
    """You deal the channels out to the heads one by one. Such a layer would train just as well, but
    weights that were trained elsewhere do not fit it. Head 0 has the first {D} channels: cut the
    last axis as (H, D), not as (D, H)."""
    return _with(split=_dealt, merge=_dealt_back)


@MULTI_HEAD.mistake(begins=_OFF)
def channels_dealt_out_then_joined():
    """You deal the channels out to the heads one by one, and put the heads side by side again. Head
    0 has the first {D} channels of each token: cut the last axis as (H, D), not as (D, H)."""
    return _with(split=_dealt)


@MULTI_HEAD.mistake(begins=_OFF)
def channels_interleaved():
    """Your split is right. Your merge takes one number from each head in turn; head 0's {D}
    channels come first, then head 1's: join the last axes as (H, D)."""
    return _with(merge=_dealt_back)


@MULTI_HEAD.mistake(begins=_OFF)
def number_and_width_of_the_heads_exchanged():
    """You make {D} heads of width {H}: number and width are exchanged. There are num_heads = {H}
    heads of width D = C / num_heads = {D}."""
    return _with(split=lambda self, y: y.unflatten(-1, (-1, self.num_heads)).transpose(1, 2))


@MULTI_HEAD.mistake(begins=_OFF)
def transposed_before_the_cut():
    """You transpose to (B, C, T) and then cut to the shape you need. A reshape to sizes that fit is
    not a transpose. First cut C into (H, D), then exchange axes."""
    return _with(split=lambda self, y: y.mT.reshape(len(y), self.num_heads, y.shape[1], -1))


@MULTI_HEAD.mistake()
def view_of_what_does_not_lie_in_order():
    """The plan is right, and `view` cannot merge: after the transpose a token's channels are no
    longer side by side in memory, and a view moves nothing. `reshape` and `flatten` copy where they
    have to."""
    return _with(
        merge=lambda self, heads: heads.transpose(1, 2).view(heads.shape[0], heads.shape[2], -1)
    )


@MULTI_HEAD.mistake()
def heads_added():
    """You add the heads up, to width {D}, which `output` cannot take. Each head keeps its own
    channels, {H}·{D} = {C} in all, side by side; `output` mixes them afterwards."""
    return _with(merge=lambda self, heads: heads.sum(dim=1))


@MULTI_HEAD.mistake(begins=_OFF)
def no_output_layer():
    """You return the heads side by side, without W_O. `self.output(...)` turns them into what is
    added to the token's vector."""
    return _with(project=lambda self, merged: merged)


@MULTI_HEAD.mistake(begins=_OFF)
def not_scaled():
    """The scores are not scaled: divide by √D = √{D} = {root_D} before the softmax."""
    return _with(divisor=lambda self, x, q: 1.0)


@MULTI_HEAD.mistake(begins=_OFF)
def divided_by_the_root_of_C():
    """You divide by √C = {root_C}, from the width of x. A head's scores are sums of D = {D}
    products: divide by √{D} = {root_D}."""
    return _with(divisor=lambda self, x, q: math.sqrt(x.shape[-1]))


@MULTI_HEAD.mistake()
def with_the_weights():
    """You return two things. `forward` returns the output only, so that it can be added to x."""
    return _with(project=lambda self, merged: (self.output(merged), merged))


MASKED = MULTI_HEAD.stage(
    probes=(
        _probe(2, 5, 6, 3, torch.ones(5, 5, dtype=torch.bool).tril()),
        # A table that is not symmetric, and has no empty row the other way round either.
        _probe(1, 7, 10, 2, (torch.arange(7)[:, None] + torch.arange(7)) % 3 > 0),
    ),
    praise="All heads in one product, each with its own numbers, and no key where the mask says "
    "no. This is the attention of every GPT.",
)


@MASKED.mistake()
def the_mask_ignored():
    """Right without a mask, and with one the output is the same: you do not use `may_attend`. Where
    it is False, the score becomes −∞ before the softmax."""
    return _with(weights=lambda self, scores, mask: scores.softmax(dim=-1))


@MASKED.mistake()
def the_opposite_mask():
    """Right without a mask. With one you hide what may be attended to: in `may_attend` True means
    *may*. Hide where it is False, `masked_fill(~may_attend, ...)`."""
    return _with(weights=_opposite)


@MASKED.mistake(begins=_OFF)
def hidden_after_the_softmax():
    """You hide weights, after the softmax, so a row no longer sums to 1. Hide the scores before it,
    by −∞."""
    return _with(weights=_hidden_late)


@MASKED.mistake(begins=_OFF)
def hidden_scores_set_to_0():
    """You set hidden scores to 0, and 0 is a score like any other: $e^0 = 1$. Only −∞ becomes a
    weight of 0."""
    return _with(weights=_zeroed)
