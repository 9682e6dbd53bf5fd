"""One step with a cache of keys and values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance

__all__ = ["CACHED_STEP"]


def _attend(q, keys, values, *, divisor: float | None = None, may_attend: Any = True):
    scores = q @ keys.mT / (math.sqrt(q.shape[-1]) if divisor is None else divisor)
    hidden = ~torch.as_tensor(may_attend)
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ values


def _behind(old, new):
    return torch.cat([old, new], dim=-2)


def _cached_step(q, k, v, keys, values):
    keys, values = _behind(keys, k), _behind(values, v)
    return _attend(q, keys, values), keys, values


def _nothing_appended(q, k, v, keys, values):
    return _attend(q, keys, values), keys, values


def _read_before_appending(q, k, v, keys, values):
    return _attend(q, keys, values), _behind(keys, k), _behind(values, v)


def _nothing_kept(q, k, v, keys, values):
    return _attend(q, _behind(keys, k), _behind(values, v)), keys, values


def _appended_in_front(q, k, v, keys, values):
    keys, values = _behind(k, keys), _behind(v, values)
    return _attend(q, keys, values), keys, values


def _top_left_mask(q, k, v, keys, values):
    keys, values = _behind(keys, k), _behind(values, v)
    top_left = torch.ones(1, keys.shape[-2], dtype=torch.bool).tril()
    return _attend(q, keys, values, may_attend=top_left), keys, values


def _not_scaled(q, k, v, keys, values):
    keys, values = _behind(keys, k), _behind(values, v)
    return _attend(q, keys, values, divisor=1.0), keys, values


def _values_not_appended(q, k, v, keys, values):
    return _attend(q, _behind(keys, k), values)


def _keys_not_appended(q, k, v, keys, values):
    return _attend(q, keys, _behind(values, v))


def _joined_along_the_batch(q, k, v, keys, values):
    keys, values = torch.cat([keys, k]), torch.cat([values, v])
    return _attend(q, keys, values), keys, values


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    q, keys = inputs["q"], inputs["keys"]
    S, D = keys.shape[-2:]
    facts: dict[str, Any] = {"S": S, "after": S + 1, "D": D, "root": math.sqrt(D)}
    out = got[0] if isinstance(got, tuple | list) and len(got) == 3 else None
    right = _cached_step(*inputs.values())[0]
    if isinstance(out, torch.Tensor) and out.shape == right.shape:
        worst = int((out - right).abs().argmax())
        facts |= {"gave": float(out.flatten()[worst]), "want": float(right.flatten()[worst])}
    weights = (q @ _behind(keys, inputs["k"]).mT / math.sqrt(D)).softmax(dim=-1)
    return facts | {"own": float(weights[0, 0, 0, -1])}


def _probe(B: int, H: int, S: int, D: int, E: int, phase: float) -> Mapping[str, torch.Tensor]:
    """A cache of S tokens, and one token more."""

    def rows(length, width, shift):
        numbers = torch.arange(B * H * length * width) * 1.7
        return 2 * torch.sin(numbers + phase + shift).reshape(B, H, length, width)

    return {
        "q": rows(1, D, 0.1),
        "k": rows(1, D, 0.9),
        "v": rows(1, E, 2.0),
        "keys": rows(S, D, 1.3),
        "values": rows(S, E, 0.4),
    }


_OUT = "The cache is right; one number of `out` is {gave}, expected {want}. "

CACHED_STEP = Exercise(
    title="One step with a cache",
    difficulty=2,
    minutes=8,
    function="cached_step",
    reference=_cached_step,
    probes=(
        _probe(2, 3, 7, 5, 11, 0.3),
        # The second token of a text: the cache holds one.
        _probe(3, 2, 1, 7, 5, 1.1),
    ),
    parts=("out", "keys", "values"),
    facts=_facts,
    tolerance=Tolerance(relative=1e-4, absolute=1e-5),
    praise="One row of scores instead of a whole matrix, and no mask: what the cache holds is the "
    "past, so the newest token may attend to all of it.",
    mistakes=(
        Mistake(
            "nothing appended",
            _nothing_appended,
            "You attend to the cache and return it as it came, with {S} tokens. The new key and "
            "value belong in it, {after} in all: for this token to attend to, and for those that "
            "follow.",
        ),
        Mistake(
            "read before appending",
            _read_before_appending,
            _OUT + "You attend to the {S} old tokens alone: before appending, or with a mask that "
            "hides the last one. A token attends to itself too, here with weight {own}. Append "
            "first.",
        ),
        Mistake(
            "nothing kept",
            _nothing_kept,
            "`out` is right, and the cache that you return still has {S} tokens. The next token "
            "could not attend to this one. Return the longer ones, {after} tokens.",
        ),
        Mistake(
            "appended in front",
            _appended_in_front,
            "The new token stands in front of the old ones. `out` is right all the same, since "
            "attention without a mask does not know order. But a mask and positions take place s "
            "for token s: new ones go behind.",
        ),
        Mistake(
            "a causal mask from the top left",
            _top_left_mask,
            _OUT + "It is the first value of the cache: a causal mask of 1 × {after} that starts "
            "at the top left, as `is_causal=True` does, leaves key 0 alone. The one query is the "
            "newest token and may attend to everything: no mask.",
        ),
        Mistake(
            "not scaled",
            _not_scaled,
            _OUT + "The scores are not scaled: divide by √D = √{D} = {root}, as without a cache.",
        ),
        Mistake(
            "the values not appended",
            _values_not_appended,
            "There are {after} keys and {S} values: the scores have {after} columns, the values "
            "{S} rows. Append `v` to the values as well.",
        ),
        Mistake(
            "the keys not appended",
            _keys_not_appended,
            "There are {S} keys and {after} values: the scores have {S} columns, the values "
            "{after} rows. Append `k` to the keys as well.",
        ),
        Mistake(
            "joined along the batch",
            _joined_along_the_batch,
            "You join along axis 0, that of the batch, as `torch.cat` does if you do not say. The "
            "keys are (B, H, S, D), the new one (B, H, 1, D): they join on the axis of tokens, "
            "`dim=-2`.",
        ),
        Mistake(
            "only the output",
            lambda *inputs: _cached_step(*inputs)[0],
            "`out` is right. Return the cache with it, or the next step cannot go on: "
            "`return out, keys, values`.",
        ),
    ),
)
