"""Find the model that lets the future through, and how far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance
from lectures.l05_causal_mask.exercises.leak_models import (
    LEAKS,
    leak_suspects,
    reach,
    tokens,
)

__all__ = ["LEAK"]


def _furthest_ahead(models: Mapping[str, Any], seen: Callable[[Tensor], Tensor]) -> tuple[str, int]:
    """The model with the largest s - t among what is ``seen`` (T, S) of its reach, and s - t."""
    t, s = torch.arange(len(tokens()))[:, None], torch.arange(len(tokens()))
    ahead = {
        name: int((s - t).where(seen(reach(model)), 0).max()) for name, model in models.items()
    }
    return max(ahead.items(), key=lambda pair: pair[1])


def _find_leak(models, x):
    return _furthest_ahead(models, lambda grid: grid > 0)


def _first_models(models, x):
    return _find_leak(leak_suspects(), x)


def _looks_at_the_past(models, x):
    return _furthest_ahead(models, lambda grid: grid.T > 0)


def _first_output_only(models, x):
    first = torch.arange(len(x))[:, None] == 0
    return _furthest_ahead(models, lambda grid: (grid > 0) & first)


def _overlooks_the_faint(models, x):
    return _furthest_ahead(models, lambda grid: grid > 0.05)


def _offset_of_one_layer(models, x):
    name, ahead = _find_leak(models, x)
    return name, 1 if LEAKS[models[name].leak][0] == "one ahead in both layers" else ahead


def _nearest_offset(models, x):
    return _find_leak(models, x)[0], 1


def _sign_turned_round(models, x):
    name, ahead = _find_leak(models, x)
    return name, -ahead


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    models = inputs["models"]
    name, ahead = _find_leak(models, inputs["x"])
    pair = got if isinstance(got, tuple | list) and len(got) == 2 else (None, None)
    grid = reach(models[name])
    t, s = (grid.triu(1) > 0).nonzero(as_tuple=True)
    far = s - t == ahead
    return {
        "accused": pair[0],
        "leak": name,
        "ahead": ahead,
        "first_t": int(t[far][0]),
        "first_s": int(s[far][0]),
        "strongest": float(grid[t, s].max()),
        "usual": float(grid.diagonal().mean()),
    }


LEAK = Exercise(
    title="Find the leak",
    difficulty=3,
    minutes=12,
    function="find_leak",
    reference=_find_leak,
    # The four kinds of leak, under shuffled names.
    probes=tuple({"models": leak_suspects(seed), "x": tokens()} for seed in (0, 5, 10, 7)),
    parts=("name", "offset"),
    facts=_facts,
    tolerance=Tolerance(relative=0, absolute=0.1),
    praise="A gradient of exactly 0 for every s > t is expected; anything else is a leak, faint "
    "or late as it may be. Four kinds of leak, found by measuring.",
    mistakes=(
        Mistake(
            "measures the first six only",
            _first_models,
            "Right for the first six models. The check also shuffles the names, and there the "
            "answer is another: measure the `models` that come in.",
        ),
        Mistake(
            "looks at the past",
            _looks_at_the_past,
            "{accused} is the first that reaches all the way back, and reading the past is "
            "allowed. Row t of the gradient is an output, column s an input: a leak lies above the "
            "diagonal, s > t.",
            part=0,
        ),
        Mistake(
            "first output only",
            _first_output_only,
            "You look only at output 0. One leak starts later: output {first_t} of {leak} "
            "depends on input {first_s}. Look at all outputs.",
        ),
        Mistake(
            "overlooks what is faint",
            _overlooks_the_faint,
            "You take a small dependence for none. The leak of {leak} is faint: {strongest} at "
            "most, where a token's own gradient is {usual}. Its mask adds −8 to the score and not "
            "−∞. Without a leak the gradient is exactly 0: compare with 0.",
        ),
        Mistake(
            "the offset of one layer",
            _offset_of_one_layer,
            "{accused} is the one. Its masks are off by 1 in each of its two layers, and layers "
            "add up: output {first_t} depends on input {first_s}, {ahead} ahead.",
        ),
        Mistake(
            "the nearest offset",
            _nearest_offset,
            "{accused} is the one. You give 1, as if you had looked only at the next token, "
            "s = t + 1. It sees {ahead} ahead: output {first_t} depends on input {first_s}. Asked "
            "for is the largest s − t.",
        ),
        Mistake(
            "the sign turned round",
            _sign_turned_round,
            "{accused} is the one. The offset is s − t, input minus output: ahead counts as "
            "positive, so {ahead}.",
        ),
    ),
)
