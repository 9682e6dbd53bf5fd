"""Exercise 2 of lecture 05: one step with a cache of keys and values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.verdict import Verdict

__all__ = ["CACHE_STEP", "check_cached_step"]


def _read(q, keys, values, *, scale: float | None = None, weigh: Callable[..., Any] | None = None):
    scores = q @ keys.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    weights = scores.softmax(dim=-1) if weigh is None else weigh(scores)
    return weights @ values


def _step(
    *,
    append: Callable[..., Any] = lambda old, new: torch.cat([old, new], dim=-2),
    read: Callable[..., Any] = _read,
    kept: Callable[..., Any] = lambda old, all_of_them: all_of_them,
) -> Callable[..., Any]:
    """A step that is right but for what is given: how one appends, reads, and what is kept."""

    def cached_step(q, k, v, keys, values):
        all_keys, all_values = append(keys, k), append(values, v)
        return read(q, all_keys, all_values), kept(keys, all_keys), kept(values, all_values)

    return cached_step


_cached_step = _step()


def _of_old_and_new(read: Callable[..., Any]) -> Callable[..., Any]:
    """The right cache, and an output that ``read`` makes of everything that came in."""

    def cached_step(q, k, v, keys, values):
        return read(q, k, v, keys, values), *_cached_step(q, k, v, keys, values)[1:]

    return cached_step


def _first_key_alone(scores):
    hidden = torch.ones(scores.shape[-2:]).tril() == 0
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)


def _overwrite(old, new):
    return torch.cat([old[..., :-1, :], new], dim=-2)


def _slide(old, new):
    return torch.cat([old, new], dim=-2)[..., 1:, :]


def _exchanged(q, k, v, keys, values):
    return _cached_step(q, v, k, keys, values)


def _query_kept(q, k, v, keys, values):
    return _cached_step(q, q, v, keys, values)


def _keys_alone(q, k, v, keys, values):
    return _read(q, torch.cat([keys, k], dim=-2), values)


def _values_alone(q, k, v, keys, values):
    return _read(q, keys, torch.cat([values, v], dim=-2))


def _all_axes_reversed(q, k, v, keys, values):
    """What `keys.T` does to four axes."""
    return q @ torch.cat([keys, k], dim=-2).permute(3, 2, 1, 0)


def _returned(order: tuple[int, int, int]) -> Mistake:
    names = [("out", "keys", "values")[i] for i in order]

    def answer(*inputs):
        results = _cached_step(*inputs)
        return tuple(results[i] for i in order)

    return Mistake(
        f"returns {', '.join(names)}",
        answer,
        f"All three results are right, and you return `{', '.join(names)}`. Asked for is "
        "`return out, keys, values`.",
    )


def _along(axis: int, says: str) -> Mistake:
    """Joining along another axis, which torch refuses."""
    return Mistake(
        f"joined along axis {axis}",
        _step(append=lambda old, new: torch.cat([old, new], dim=axis)),
        f"You join along axis {axis}, {says}. The cache has shape {{cache}}, the new key {{new}}: "
        "they differ on the axis of tokens, so that is where they join, `dim=-2`.",
    )


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    q, keys = inputs["q"], inputs["keys"]
    B, H, S, D = keys.shape
    facts: dict[str, Any] = {"S": S, "after": S + 1, "D": D, "E": inputs["v"].shape[-1], "C": H * D}
    facts |= {"cache": repr((B, H, S, D)), "new": repr((B, H, 1, D)), "root": math.sqrt(D)}
    out = got[0] if isinstance(got, tuple | list) and len(got) == 3 else None
    right = _cached_step(*inputs.values())[0]
    if isinstance(out, torch.Tensor) and out.shape == right.shape:
        worst = int((out - right).abs().argmax())
        facts |= {"gave": float(out.flatten()[worst]), "want": float(right.flatten()[worst])}
    weights = (q @ torch.cat([keys, inputs["k"]], dim=-2).mT / math.sqrt(D)).softmax(dim=-1)
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

CACHE_STEP = Exercise(
    title="One step with a cache",
    difficulty=2,
    minutes=8,
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
    "past, so the newest token may read all of it.",
    mistakes=(
        Mistake(
            "nothing appended",
            _step(append=lambda old, new: old),
            "You read the cache and return it as it came, with {S} tokens. The new key and value "
            "belong in it, {after} in all: for this token to read, and for those that follow.",
        ),
        Mistake(
            "read before appending",
            _of_old_and_new(lambda q, k, v, keys, values: _read(q, keys, values)),
            _OUT + "You read the {S} old tokens alone: before appending, or with a mask that "
            "hides the last one. A token reads itself too, here with weight {own}. Append first.",
        ),
        Mistake(
            "nothing kept",
            _step(kept=lambda old, all_of_them: old),
            "`out` is right, and the cache that you return still has {S} tokens. The next token "
            "could not read this one. Return the longer ones, {after} tokens.",
        ),
        Mistake(
            "appended in front",
            _step(append=lambda old, new: torch.cat([new, old], dim=-2)),
            "The new token stands in front of the old ones. `out` is right all the same, since "
            "attention without a mask does not know order. But a mask and positions take place s "
            "for token s: new ones go behind.",
        ),
        Mistake(
            "the newest replaces the last",
            _step(append=_overwrite),
            "The new token has replaced the last one of the cache, which still has {S}. It goes "
            "behind them: {after}.",
        ),
        Mistake(
            "the oldest dropped",
            _step(append=_slide),
            "You drop the oldest token as the new one comes in, so the cache keeps {S}. That is "
            "the cache of a sliding window. Here all are kept: {after}.",
        ),
        Mistake(
            "the new token alone is kept",
            _step(kept=lambda old, all_of_them: all_of_them[..., -1:, :]),
            "`out` is right. Of the cache you return the new token alone; the {S} before it are "
            "lost for the next step.",
        ),
        Mistake(
            "the new token alone",
            _step(append=lambda old, new: new),
            "You read the new token alone, so `out` is `v` itself, and the {S} tokens of the cache "
            "are lost. Join old and new: `torch.cat([keys, k], dim=-2)`.",
        ),
        Mistake(
            "a causal mask from the top left",
            _step(read=lambda q, keys, values: _read(q, keys, values, weigh=_first_key_alone)),
            _OUT + "It is the first value of the cache: a causal mask of 1 × {after} that starts "
            "at the top left, as `is_causal=True` does, leaves key 0 alone. The one query is the "
            "newest token and may read everything: no mask.",
        ),
        Mistake(
            "not scaled",
            _step(read=lambda q, keys, values: _read(q, keys, values, scale=1.0)),
            _OUT + "The scores are not scaled: divide by √D = √{D} = {root}, as without a cache.",
        ),
        Mistake(
            "scaled by the root of the length",
            _step(
                read=lambda q, keys, values: _read(q, keys, values, scale=keys.shape[-2] ** -0.5)
            ),
            _OUT + "The scores are divided by the root of the number of keys, √{after}. The scale "
            "belongs to the width: √D = √{D} = {root}.",
        ),
        Mistake(
            "scaled by the root of the model width",
            _step(
                read=lambda q, keys, values: _read(
                    q, keys, values, scale=(q.shape[1] * q.shape[-1]) ** -0.5
                )
            ),
            _OUT + "The scores are divided by √(H·D) = √{C}, the width of all heads together. The "
            "scale belongs to one head: √D = √{D} = {root}.",
        ),
        Mistake(
            "softmax over the query",
            _step(
                read=lambda q, keys, values: _read(
                    q, keys, values, weigh=lambda scores: scores.softmax(dim=-2)
                )
            ),
            _OUT + "Your softmax runs over the queries, and there is one: every weight is 1, and "
            "`out` is the sum of all values. It runs over the keys, `dim=-1`.",
        ),
        Mistake(
            "no softmax",
            _step(read=lambda q, keys, values: _read(q, keys, values, weigh=lambda scores: scores)),
            _OUT + "The softmax is missing: you mix the values by the scores themselves.",
        ),
        Mistake(
            "mean of the values",
            _step(read=lambda q, keys, values: values.mean(dim=-2, keepdim=True)),
            _OUT + "It is the mean of all values: `q` and the keys are not used.",
        ),
        Mistake(
            "mixes the old values",
            _of_old_and_new(
                lambda q, k, v, keys, values: _read(
                    q, torch.cat([keys, k], dim=-2), torch.cat([values, 0 * v], dim=-2)
                )
            ),
            _OUT + "The weights are right, over {after} keys; the new value counts as 0. Its "
            "weight is {own}: append `v` too before you mix.",
        ),
        Mistake(
            "key and value exchanged",
            _exchanged,
            "The new key has gone to the values and the new value to the keys: "
            "`k` belongs behind `keys`, `v` behind `values`.",
        ),
        Mistake(
            "the query kept instead of the key",
            _query_kept,
            "You append `q` to the keys. Queries are never cached: each is used once, in its own "
            "step. The key `k` goes behind `keys`.",
        ),
        Mistake(
            "the values not appended",
            _keys_alone,
            "There are {after} keys and {S} values: the scores have {after} columns, the values "
            "{S} rows. Append `v` to the values as well.",
        ),
        Mistake(
            "the keys not appended",
            _values_alone,
            "There are {S} keys and {after} values: the scores have {S} columns, the values "
            "{after} rows. Append `k` to the keys as well.",
        ),
        Mistake(
            "all axes reversed",
            _all_axes_reversed,
            "`keys.T` reverses all four axes, the batch included. Scores need the last two "
            "exchanged and the others where they are: `keys.mT`, or `keys.transpose(-2, -1)`.",
        ),
        _along(0, "that of the batch, as `torch.cat` does if you do not say"),
        _along(1, "that of the heads"),
        _along(3, "the width"),
        Mistake(
            "only the output",
            lambda *inputs: _cached_step(*inputs)[0],
            "`out` is right. Return the cache with it, or the next step cannot go on: "
            "`return out, keys, values`.",
        ),
        *(_returned(order) for order in ((1, 2, 0), (0, 2, 1), (2, 1, 0), (1, 0, 2), (2, 0, 1))),
    ),
)


def check_cached_step(cached_step: Any) -> Verdict:
    """Judge ``cached_step(q, k, v, keys, values)``, returning (out, keys, values).

    q and k (B, H, 1, D), v (B, H, 1, E) belong to one new token; keys (B, H, S, D) and values
    (B, H, S, E) to the S tokens before it. ``out`` (B, H, 1, E) is the new token's attention over
    all S + 1; keys and values come back with S + 1 tokens, oldest first.

    >>> check_cached_step(lambda q, k, v, keys, values: (q, keys, values)).passed
    False
    """
    return CACHE_STEP.check(cached_step)
