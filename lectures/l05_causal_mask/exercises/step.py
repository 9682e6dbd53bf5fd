"""A step with a cache of keys and values: for one new token, then for several."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import NanAlike


def _attend(
    q,
    keys,
    values,
    *,
    divisor: float | None = None,
    may_attend: Any = True,
    hidden_score: float = -torch.inf,
    dim: int = -1,
):
    scores = q @ keys.mT / (math.sqrt(q.shape[-1]) if divisor is None else divisor)
    hidden = ~torch.as_tensor(may_attend)
    return scores.masked_fill(hidden, hidden_score).softmax(dim=dim) @ values


def _behind(old, new):
    return torch.cat([old, new], dim=-2)


def _ones(q, keys):
    return torch.ones(q.shape[-2], keys.shape[-2], dtype=torch.bool)


def _bottom_right(q, keys):
    return _ones(q, keys).tril(keys.shape[-2] - q.shape[-2])


def _step(q, k, v, keys, values):
    keys, values = _behind(keys, k), _behind(values, v)
    return _attend(q, keys, values, may_attend=_bottom_right(q, keys)), keys, values


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    q, keys = inputs["q"], inputs["keys"]
    S, D = keys.shape[-2:]
    T = q.shape[-2]
    facts: dict[str, Any] = {"S": S, "T": T, "after": S + T, "D": D, "root": math.sqrt(D)}
    facts["E"] = inputs["v"].shape[-1]
    out = got[0] if isinstance(got, tuple | list) and len(got) == 3 else None
    right = _step(*inputs.values())[0]
    if isinstance(out, torch.Tensor) and out.shape == right.shape:
        worst = int((out - right).abs().argmax())
        facts |= {"gave": float(out.flatten()[worst]), "want": float(right.flatten()[worst])}
    weights = (q @ _behind(keys, inputs["k"]).mT / math.sqrt(D)).softmax(dim=-1)
    return facts | {"own": float(weights[0, 0, 0, -1])}


def _probe(
    B: int, H: int, S: int, D: int, E: int, phase: float, T: int = 1
) -> Mapping[str, torch.Tensor]:
    """A cache of S tokens, and T tokens more."""

    def rows(length, width, shift):
        numbers = torch.arange(B * H * length * width) * 1.7
        return 2 * torch.sin(numbers + phase + shift).reshape(B, H, length, width)

    return {
        "q": rows(T, D, 0.1),
        "k": rows(T, D, 0.9),
        "v": rows(T, E, 2.0),
        "keys": rows(S, D, 1.3),
        "values": rows(S, E, 0.4),
    }


_OUT = "The cache is right; one number of `out` is {gave}, expected {want}. "


STEP = Exercise(
    title="A step with a cache",
    difficulty=2,
    minutes=10,
    function="step",
    reference=_step,
    probes=(
        _probe(2, 3, 7, 5, 11, 0.3),
        # The second token of a text: the cache holds one.
        _probe(3, 2, 1, 7, 5, 1.1),
    ),
    parts=("out", "keys", "values"),
    facts=_facts,
    tolerance=NanAlike(relative=1e-4, absolute=1e-5),
    praise="A row of scores for each new token instead of a whole square. A prompt goes in at "
    "once, its mask at the bottom right, and then the words one by one.",
    kept_as="step",
)


@STEP.mistake()
def nothing_appended(q, k, v, keys, values):
    """You attend to the cache and return it as it came, with {S} tokens. The new key and value
    belong in it, {after} in all: for this token to attend to, and for those that follow."""
    return _attend(q, keys, values), keys, values


@STEP.mistake(begins=_OUT)
def read_before_appending(q, k, v, keys, values):
    """You attend to the {S} old tokens only: before appending, or with a mask that hides the last
    one. A token attends to itself too, here with weight {own}. Append first."""
    return _attend(q, keys, values), _behind(keys, k), _behind(values, v)


@STEP.mistake(part=0)
def the_cache_is_ignored(q, k, v, keys, values):
    """`out` is `v` itself: the new token attends to nothing but itself. Put the new key and value
    behind the {S} of the cache, and let it attend to all {after}."""
    return _attend(q, k, v), keys, values


@STEP.mistake()
def nothing_kept(q, k, v, keys, values):
    """`out` is right, and the cache that you return still has {S} tokens. The next token could not
    attend to this one. Return the longer ones, {after} tokens."""
    return _attend(q, _behind(keys, k), _behind(values, v)), keys, values


@STEP.mistake()
def appended_in_front(q, k, v, keys, values):
    """The new token is in front of the old ones. `out` is right all the same, since attention
    without a mask does not know order. But a mask and positions take place s for token s: new ones
    go behind."""
    keys, values = _behind(k, keys), _behind(v, values)
    return _attend(q, keys, values), keys, values


@STEP.mistake(begins=_OUT)
def a_causal_mask_from_the_top_left(q, k, v, keys, values):
    """It is the first value of the cache: a causal mask of 1 × {after} that starts at the top left,
    as `is_causal=True` does, leaves only key 0. The one query is the newest token and may attend to
    everything: no mask."""
    keys, values = _behind(keys, k), _behind(values, v)
    return _attend(q, keys, values, may_attend=_ones(q, keys).tril()), keys, values


@STEP.mistake(begins=_OUT)
def not_scaled(q, k, v, keys, values):
    """The scores are not scaled: divide by √D = √{D} = {root}, as without a cache."""
    keys, values = _behind(keys, k), _behind(values, v)
    return _attend(q, keys, values, divisor=1.0), keys, values


@STEP.mistake(begins=_OUT)
def divided_by_the_width(q, k, v, keys, values):
    """You divide the scores by D = {D}. Divide them by its root, √D = {root}."""
    keys, values = _behind(keys, k), _behind(values, v)
    return _attend(q, keys, values, divisor=q.shape[-1]), keys, values


@STEP.mistake(begins=_OUT)
def divided_by_the_root_of_the_values_width(q, k, v, keys, values):
    """You divide the scores by √E = √{E}, the width of the values. Scores are sums over D = {D}
    products, so divide by √D = {root}."""
    keys, values = _behind(keys, k), _behind(values, v)
    return _attend(q, keys, values, divisor=math.sqrt(v.shape[-1])), keys, values


@STEP.mistake(begins=_OUT)
def softmax_over_the_queries(q, k, v, keys, values):
    """Every weight is 1, as from a softmax over the queries: there is only one. The weights of one
    query sum to 1 over the keys, `dim=-1`."""
    keys, values = _behind(keys, k), _behind(values, v)
    return _attend(q, keys, values, dim=-2), keys, values


@STEP.mistake(begins=_OUT)
def softmax_over_the_heads(q, k, v, keys, values):
    """Your softmax is over axis 1, the heads. The weights of one query sum to 1 over the keys, the
    last axis: `dim=-1`."""
    keys, values = _behind(keys, k), _behind(values, v)
    return _attend(q, keys, values, dim=1), keys, values


@STEP.mistake()
def everything_hidden(q, k, v, keys, values):
    """All of `out` is NaN, as when no key is left. `masked_fill` hides where its mask is True: if
    True means *may attend* in yours, give it `~` of it. And −∞ times 0 is NaN too."""
    keys, values = _behind(keys, k), _behind(values, v)
    return _attend(q, keys, values, may_attend=~_bottom_right(q, keys)), keys, values


@STEP.mistake()
def keys_not_transposed(q, k, v, keys, values):
    """The queries are (B, H, {T}, {D}) and the keys (B, H, {after}, {D}); a product sums over the
    last axis of the first and the last but one of the second. Swap those of the keys:
    `q @ keys.mT`."""
    return q @ _behind(keys, k)


@STEP.mistake()
def the_values_not_appended(q, k, v, keys, values):
    """There are {after} keys and {S} values: the scores have {after} columns, the values {S} rows.
    Append `v` to the values as well."""
    return _attend(q, _behind(keys, k), values)


@STEP.mistake()
def the_keys_not_appended(q, k, v, keys, values):
    """There are {S} keys and {after} values: the scores have {S} columns, the values {after} rows.
    Append `k` to the keys as well."""
    return _attend(q, keys, _behind(values, v))


@STEP.mistake()
def joined_along_the_batch(q, k, v, keys, values):
    """You join along axis 0, that of the batch, as `torch.cat` does if you do not say. The keys are
    (B, H, P, D), the new one (B, H, 1, D): they join on the axis of tokens, `dim=-2`."""
    keys, values = torch.cat([keys, k]), torch.cat([values, v])
    return _attend(q, keys, values), keys, values


@STEP.mistake()
def joined_along_the_heads(q, k, v, keys, values):
    """You join along axis 1, that of the heads. The keys are (B, H, P, D), the new one (B, H, 1,
    D): they join on the axis of tokens, `dim=-2`."""
    return _attend(q, torch.cat([keys, k], dim=1), torch.cat([values, v], dim=1))


@STEP.mistake()
def joined_along_the_width(q, k, v, keys, values):
    """You join along the last axis, the numbers of a key. The keys are (B, H, P, D), the new one
    (B, H, 1, D): they join on the axis of tokens, `dim=-2`."""
    return _attend(q, torch.cat([keys, k], dim=-1), torch.cat([values, v], dim=-1))


@STEP.mistake()
def the_cache_before_the_output(q, k, v, keys, values):
    """All three are right, in another order: `return out, keys, values`."""
    out, keys, values = _step(q, k, v, keys, values)
    return keys, values, out


@STEP.mistake()
def only_the_output(q, k, v, keys, values):
    """`out` is right. Return the cache with it, or there is no next step:
    `return out, keys, values`."""
    return _step(q, k, v, keys, values)[0]


SEVERAL = STEP.stage(
    probes=(
        # A prompt on an empty cache, then three words more on a cache of seven.
        _probe(2, 3, 0, 5, 11, 0.3, T=5),
        _probe(2, 3, 7, 5, 11, 0.7, T=3),
    )
)


@SEVERAL.mistake()
def no_mask_among_the_new_tokens(q, k, v, keys, values):
    """Right for one new token. With {T} new ones, each attends to all {after} keys, those of later
    new tokens too. Among themselves the new tokens need the causal mask."""
    keys, values = _behind(keys, k), _behind(values, v)
    return _attend(q, keys, values), keys, values


@SEVERAL.mistake()
def several_in_a_causal_mask_from_the_top_left(q, k, v, keys, values):
    """Right for one new token, and on an empty cache. But the {T} new tokens are the *last* of
    {after}: the first of them may attend to the whole cache and to itself. Move the diagonal of
    your mask by the length of the cache."""
    return a_causal_mask_from_the_top_left(q, k, v, keys, values)


@SEVERAL.mistake()
def a_mask_of_the_new_tokens_only(q, k, v, keys, values):
    """Right for one new token, and on an empty cache. Your mask has {T} columns, one for each new
    token, but there are {after} keys: it needs a column for each key of the cache too."""
    keys, values = _behind(keys, k), _behind(values, v)
    return _attend(q, keys, values, may_attend=_ones(q, k).tril()), keys, values


@SEVERAL.mistake()
def hidden_weights_set_to_zero(q, k, v, keys, values):
    """Right for one new token. With {T} of them you hide keys after the softmax, so the weights of
    a query no longer sum to 1. Hide the scores before it, with −∞."""
    keys, values = _behind(keys, k), _behind(values, v)
    weights = (q @ keys.mT / math.sqrt(q.shape[-1])).softmax(dim=-1)
    return (weights * _bottom_right(q, keys)) @ values, keys, values


@SEVERAL.mistake()
def hidden_scores_set_to_zero(q, k, v, keys, values):
    """Right for one new token. With {T} of them you give hidden keys the score 0, and e⁰ = 1: they
    still get a weight. Give them −∞."""
    keys, values = _behind(keys, k), _behind(values, v)
    may_attend = _bottom_right(q, keys)
    return _attend(q, keys, values, may_attend=may_attend, hidden_score=0.0), keys, values
