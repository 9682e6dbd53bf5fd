"""A step with a cache that never grows: each token attends to itself and `window` − 1 before it.

First for one new token, then for several, whose window may end among themselves, then for a window
of one, whose cache is empty (the rolling cache of Mistral 7B, Jiang et al. 2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import NanAlike


def _newest(old, count):
    """The last `count` tokens, all of them if there are fewer."""
    return old[..., max(0, old.shape[-2] - count) :, :]


def _oldest(old, count):
    return old[..., :count, :]


def _in_window(age, window):
    return (age >= 0) & (age < window)


def _weights(scores, hidden):
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)


def _roll(
    q,
    k,
    v,
    keys,
    values,
    window,
    *,
    first: Callable[..., Any] = lambda old, window: old,
    may_attend: Callable[..., Any] = _in_window,
    bottom_right: bool = True,
    divisor: float | None = None,
    weigh: Callable[..., Any] = _weights,
    keep: Callable[..., Any] = _newest,
):
    """A step that is right but for what is given.

    ``first`` is done to the keys and values before attending, ``may_attend`` says from a key's age
    whether its query sees it, ``weigh`` makes the weights, and ``keep`` what is left of the cache.
    """
    keys, values = (torch.cat(pair, dim=-2) for pair in ((keys, k), (values, v)))
    keys, values = first(keys, window), first(values, window)
    T, S = q.shape[-2], keys.shape[-2]
    position = torch.arange(T)[:, None] + (S - T if bottom_right else 0)
    scores = q @ keys.mT / (divisor or math.sqrt(q.shape[-1]))
    hidden = ~may_attend(position - torch.arange(S), window)
    out = weigh(scores, hidden) @ values
    return out, keep(keys, window - 1), keep(values, window - 1)


def _rolling_step(q, k, v, keys, values, window):
    return _roll(q, k, v, keys, values, window)


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    S, D = inputs["keys"].shape[-2:]
    T, window = inputs["q"].shape[-2], inputs["window"]
    facts: dict[str, Any] = {"S": S, "T": T, "after": S + T, "room": window - 1, "D": D}
    facts |= {"root": math.sqrt(D), "left": window - T + 1, "start": S + T - window + 1}
    out = got[0] if isinstance(got, tuple | list) and len(got) == 3 else None
    right = _rolling_step(*inputs.values())[0]
    if isinstance(out, Tensor) and out.shape == right.shape:
        worst = int((out - right).abs().argmax())
        facts |= {"query": worst // right.shape[-1] % T}
        facts |= {"gave": float(out.flatten()[worst]), "want": float(right.flatten()[worst])}
    return facts


def _probe(
    B: int, H: int, S: int, D: int, E: int, window: int, phase: float, T: int = 1
) -> Mapping[str, Any]:
    """A cache of S tokens, and T tokens more."""

    def rows(length: int, width: int, shift: float) -> Tensor:
        numbers = torch.arange(B * H * length * width) * 1.7
        return 2 * torch.sin(numbers + phase + shift).reshape(B, H, length, width)

    return {
        "q": rows(T, D, 0.1),
        "k": rows(T, D, 0.9),
        "v": rows(T, E, 2.0),
        "keys": rows(S, D, 1.3),
        "values": rows(S, E, 0.4),
        "window": window,
    }


_OUT = "One number of `out` is {gave}, expected {want}. "
_OF = "Right for one new token. With {T}, one number of `out` for new token {query} is {gave}, "
_OF += "expected {want}. "

ROLLING_STEP = Exercise(
    title="A cache that never grows",
    difficulty=2,
    minutes=12,
    function="rolling_step",
    reference=_rolling_step,
    probes=(
        # A full cache, then two that are still filling.
        _probe(2, 3, 4, 5, 11, window=5, phase=0.3),
        _probe(3, 2, 3, 7, 5, window=7, phase=1.1),
        _probe(2, 3, 0, 5, 7, window=3, phase=0.8),
    ),
    parts=("out", "keys", "values"),
    facts=_facts,
    # Who hides all keys of a query gets NaN, and hears why.
    tolerance=NanAlike(relative=1e-4, absolute=1e-5),
    praise="Attend first, then trim: the first of several new tokens still needs keys that the "
    "last one does not. However long the text gets, the cache keeps window − 1 tokens.",
    kept_as="rolling_step",
)


@ROLLING_STEP.mistake(begins=_OUT)
def trimmed_before_attending(*inputs):
    """This token sees {room}, itself included, and not {window}. Either you trim to {room} and
    attend after that: attend first, and trim what you return. Or your mask hides one key too many:
    `key > position - window`."""
    return _roll(*inputs, first=lambda old, window: _newest(old, window - 1))


_NOT_ITSELF = "This token does not see itself, only the tokens in the cache. "


@ROLLING_STEP.mistake(begins=_OUT + _NOT_ITSELF)
def attends_before_joining(q, k, v, keys, values, window):
    """Join its key and value to the cache first, then attend."""
    out = (q @ keys.mT / math.sqrt(q.shape[-1])).softmax(dim=-1) @ values
    return out, *_rolling_step(q, k, v, keys, values, window)[1:]


@ROLLING_STEP.mistake(begins=_OUT + _NOT_ITSELF)
def hides_itself(*inputs):
    """Your mask hides it: `key <= position`, not `<`."""
    return _roll(*inputs, may_attend=lambda age, window: (age > 0) & (age < window))


@ROLLING_STEP.mistake()
def mask_inverted(*inputs):
    """Every number of `out` is NaN: all scores are −∞. `masked_fill(mask, -torch.inf)` hides where
    the mask is True, so it needs the keys to hide, `~may_attend`."""
    return _roll(*inputs, may_attend=lambda age, window: ~_in_window(age, window))


@ROLLING_STEP.mistake()
def one_too_many_kept(*inputs):
    """`out` is right, and the cache that you return has {after} tokens. The next token attends to
    itself and {room} before it: the oldest has left its window, so keep {room}. Trimmed to
    `window`, it has one too many; not trimmed, it grows with every token. (`keys[-n:]` cuts the
    first axis, the texts. Tokens are on axis 2.)"""
    return _roll(*inputs, keep=lambda old, count: old)


@ROLLING_STEP.mistake()
def the_oldest_kept(*inputs):
    """`out` is right, and of {after} tokens you return the oldest {room}, `[:window - 1]`. New
    tokens are at the end: the next one needs the newest {room}."""
    return _roll(*inputs, keep=_oldest)


@ROLLING_STEP.mistake()
def a_start_that_is_negative(*inputs):
    """Right when the cache is full. Here it is still filling: {after} tokens, room for {room}. Your
    slice starts at {after} − {room} = {start}, which Python counts from the end, so it loses
    tokens. Start at `max(0, …)`."""
    return _roll(*inputs, keep=lambda old, count: old[..., old.shape[-2] - count :, :])


@ROLLING_STEP.mistake(begins=_OUT)
def a_mask_from_the_top_left(*inputs):
    """It is a value of the first token: your mask of 1 × {after} starts at the top left, as
    `is_causal=True` does, and leaves only key 0. The one query is the newest token: it may attend
    to all {after}."""
    return _roll(*inputs, bottom_right=False)


@ROLLING_STEP.mistake(begins=_OUT)
def not_scaled(*inputs):
    """The scores are not scaled: divide by √D = √{D} = {root}, as with any cache. (D is
    `q.shape[-1]`; `q.shape[-2]` is T, and here 1.)"""
    return _roll(*inputs, divisor=1.0)


SEVERAL = ROLLING_STEP.stage(
    probes=(
        # On a full cache; one that fills up meanwhile; a prompt longer than the window.
        _probe(2, 3, 4, 5, 11, window=5, phase=0.7, T=3),
        _probe(3, 2, 2, 7, 5, window=7, phase=0.2, T=11),
        _probe(2, 3, 0, 5, 7, window=3, phase=1.4, T=13),
    )
)


@SEVERAL.mistake(begins=_OF)
def trimmed_to_the_window_before_attending(*inputs):
    """All new tokens see the newest {window} tokens at most: you trim before you attend, or your
    mask begins at one key for all. The first new token needs {window} tokens up to itself, of which
    {left} are left. Attend to all {after}, each with a window that ends at itself, then trim."""
    return _roll(*inputs, first=_newest)


@SEVERAL.mistake(begins=_OF)
def trimmed_to_the_window_and_no_mask(*inputs):
    """You trim to {window} tokens, and every new token attends to all of them: the first one sees
    later tokens, and has lost the oldest of its own window. Attend to all {after} with a mask, then
    trim; or take the new tokens one by one."""
    return _roll(*inputs, first=_newest, may_attend=lambda age, window: age < math.inf)


@SEVERAL.mistake(begins=_OF)
def no_mask_among_the_new_tokens(*inputs):
    """Each new token attends to all {after} keys: to later tokens, and to those that have left its
    window. New token t has position {S} + t, and may attend to itself and the {room} before it."""
    return _roll(*inputs, may_attend=lambda age, window: age < math.inf)


@SEVERAL.mistake(begins=_OF)
def only_causal(*inputs):
    """Your mask is causal and knows no window: the last new token attends to all {after} tokens.
    It may look back {room}, so `key > position - window` as well."""
    return _roll(*inputs, may_attend=lambda age, window: age >= 0)


@SEVERAL.mistake(begins=_OF)
def not_causal(*inputs):
    """Your mask knows the window, and lets a new token attend to later ones: `key <= position` as
    well."""
    return _roll(*inputs, may_attend=lambda age, window: age < window)


@SEVERAL.mistake(begins=_OF)
def hidden_scores_are_0(*inputs):
    """A hidden score is 0 here, and exp(0) = 1 is no small weight. Only −∞ gives a weight of 0."""
    return _roll(*inputs, weigh=lambda scores, hidden: (scores * ~hidden).softmax(dim=-1))


@SEVERAL.mistake(begins=_OF)
def masked_after_the_softmax(*inputs):
    """You set weights to 0 after the softmax, so those that are left do not add up to 1. Hide
    before it: set the scores to −∞."""
    return _roll(*inputs, weigh=lambda scores, hidden: scores.softmax(dim=-1) * ~hidden)


@SEVERAL.mistake(begins=_OF)
def one_key_too_many(*inputs):
    """Your window has one key too many: a token attends to itself and to {room} before it, {window}
    in all. Compare with `>`: `key > position - window`."""
    return _roll(*inputs, may_attend=lambda age, window: _in_window(age, window + 1))


@SEVERAL.mistake(begins=_OF)
def several_in_a_mask_from_the_top_left(*inputs):
    """Your mask starts at the top left, as if the new tokens were the first. They are the last {T}
    of {after}: new token t has position {S} + t."""
    return _roll(*inputs, bottom_right=False)


WINDOW_OF_ONE = ROLLING_STEP.stage(
    probes=(
        _probe(2, 3, 0, 5, 11, window=1, phase=0.5, T=3),
        _probe(3, 2, 0, 7, 5, window=1, phase=0.9),
    )
)


@WINDOW_OF_ONE.mistake()
def minus_zero(*inputs):
    """Right for every window but 1. There you want the last 0 tokens, and −0 is 0: `keys[-0:]` is
    `keys[0:]`, all {after} of them. Count from the front instead: of S tokens keep those from
    `max(0, S - window + 1)` on."""
    return _roll(*inputs, keep=lambda old, count: old[..., -count:, :])
