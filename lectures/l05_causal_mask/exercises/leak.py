"""Find the model that lets the future through, and how far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Tolerance
from lectures.l05_causal_mask.exercises.leak_models import (
    LEAKS,
    leak_suspects,
    reach,
    tokens,
)


def _furthest_ahead(models: Mapping[str, Any], seen: Callable[[Tensor], Tensor]) -> tuple[str, int]:
    """The model with the largest s - t among what is ``seen`` (T, S) of its reach, and s - t."""
    t, s = torch.arange(len(tokens()))[:, None], torch.arange(len(tokens()))
    ahead = {
        name: int((s - t).where(seen(reach(model)), 0).max()) for name, model in models.items()
    }
    return max(ahead.items(), key=lambda pair: pair[1])


def _find_leak(models, x):
    return _furthest_ahead(models, lambda grid: grid > 0)


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    models = inputs["models"]
    name, ahead = _find_leak(models, inputs["x"])
    pair = got if isinstance(got, tuple | list) and len(got) == 2 else (None, None)
    grid = reach(models[name])
    t, s = (grid.triu(1) > 0).nonzero(as_tuple=True)
    far = s - t == ahead
    return {
        "accused": pair[0],
        "offset": pair[1],
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
)


@LEAK.mistake()
def measures_the_first_six_only(models, x):
    """Right for the first six models. The check also shuffles the names, and there the answer is
    another: measure the `models` that come in."""
    return _find_leak(leak_suspects(), x)


@LEAK.mistake(part=0)
def looks_at_the_past(models, x):
    """{accused} is the first that reaches all the way back, and reading the past is allowed. Row t
    of the gradient is an output, column s an input: a leak lies above the diagonal, s > t."""
    return _furthest_ahead(models, lambda grid: grid.T > 0)


@LEAK.mistake()
def first_output_only(models, x):
    """You look only at output 0. One leak starts later: output {first_t} of {leak} depends on input
    {first_s}. Look at all outputs."""
    first = torch.arange(len(x))[:, None] == 0
    return _furthest_ahead(models, lambda grid: (grid > 0) & first)


@LEAK.mistake()
def last_input_only(models, x):
    """You change only the last input. In {leak}, output {first_t} depends on input {first_s},
    {ahead} ahead, and the last input does not show it. Try every input."""
    last = torch.arange(len(x)) == len(x) - 1
    return _furthest_ahead(models, lambda grid: (grid > 0) & last)


_NONE = (
    "For one set of models you return {got}: no dependence is above your limit. The leak of {leak} "
)
_NONE += (
    "is faint: {strongest} at most, where a token's own gradient is {usual}. Without a leak it "
)


@LEAK.mistake(begins=_NONE)
def nothing_passes_the_limit(models, x):
    """is exactly 0: compare with 0."""
    found = _furthest_ahead(models, lambda grid: grid > 0.01)
    return found if found[1] > 0 else None


@LEAK.mistake(begins=_NONE)
def no_name_passes_the_limit(models, x):
    """is exactly 0, so compare with that."""
    found = _furthest_ahead(models, lambda grid: grid > 0.01)
    return found if found[1] > 0 else (None, 0)


@LEAK.mistake()
def overlooks_what_is_faint(models, x):
    """You take a small dependence for none. The leak of {leak} is faint: {strongest} at most, where
    a token's own gradient is {usual}. Its mask adds −8 to the score and not −∞. Without a leak the
    gradient is exactly 0: compare with 0."""
    return _furthest_ahead(models, lambda grid: grid > 0.05)


@LEAK.mistake()
def the_offset_of_one_layer(models, x):
    """{accused} is the one. Its masks are off by 1 in each of its two layers, and layers add up:
    output {first_t} depends on input {first_s}, {ahead} ahead."""
    name, ahead = _find_leak(models, x)
    return name, 1 if LEAKS[models[name].leak][0] == "one ahead in both layers" else ahead


@LEAK.mistake()
def the_nearest_offset(models, x):
    """{accused} is the one. You give 1, as if you had looked only at the next token, s = t + 1. It
    sees {ahead} ahead: output {first_t} depends on input {first_s}. Asked for is the largest s −
    t."""
    return _find_leak(models, x)[0], 1


@LEAK.mistake()
def the_sign_turned_round(models, x):
    """{accused} is the one. The offset is s − t, input minus output: ahead counts as positive, so
    {ahead}."""
    name, ahead = _find_leak(models, x)
    return name, -ahead


@LEAK.mistake()
def the_number_of_inputs_ahead(models, x):
    """{accused} is the one, and one of its outputs depends on {offset} input ahead. Asked for is
    not how many, but how far: output {first_t} depends on input {first_s}, so s − t = {ahead}."""
    name, _ = _find_leak(models, x)
    return name, int((reach(models[name]).triu(1) > 0).sum(dim=1).max())
