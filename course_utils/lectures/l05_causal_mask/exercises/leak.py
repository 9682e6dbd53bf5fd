"""Exercise 3 of lecture 05: find the model that lets the future through, and how far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from course_utils.lectures.l05_causal_mask.exercises.leak_models import (
    LEAKS,
    leak_suspects,
    reach,
    tokens,
)
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.verdict import Verdict

__all__ = ["LEAK", "check_leak"]

Models = Mapping[str, Any]


def _named(models: Models, kind: str) -> str:
    return next(name for name, model in models.items() if model.kind == kind)


def _ahead(seen: Tensor) -> int:
    """The largest s - t among the (t, s) that are seen; 0 if none lies ahead."""
    t, s = seen.nonzero(as_tuple=True)
    return max([0, *(s - t).tolist()])


def _measured(view: Callable[[Tensor], Tensor] = lambda grid: grid > 0) -> Callable[..., Any]:
    """Name the model that reaches furthest ahead in what ``view`` leaves of its reach (T, S)."""

    def find_leak(models, x):
        found = {name: _ahead(view(reach(model))) for name, model in models.items()}
        return max(found.items(), key=lambda pair: pair[1])

    return find_leak


_find_leak = _measured()


def _only(mask: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """A view of some (t, s) alone."""

    def view(grid):
        t, s = torch.arange(grid.shape[0])[:, None], torch.arange(grid.shape[1])
        return (grid > 0) & mask(t, s)

    return view


def _accuses(kind: str) -> Callable[..., Any]:
    """The answer of someone who takes ``kind`` for the culprit, whatever offset they give."""
    return lambda models, x: (_named(models, kind), None)


def _right_name(offset: Callable[[int], float]) -> Callable[..., Any]:
    def find_leak(models, x):
        name, ahead = _find_leak(models, x)
        return name, offset(ahead)

    return find_leak


def _through_one_layer(models, x):
    """The offset of the mask itself, where two masks add up."""
    name, ahead = _find_leak(models, x)
    return name, 1 if LEAKS[models[name].leak][0] == "one ahead in both layers" else ahead


def _the_furthest_back(models, x):
    """Name the model that looks furthest into the past: the first of several."""
    found = {name: _ahead(reach(model).T > 0) for name, model in models.items()}
    return max(found, key=lambda name: found[name]), None


def _first_models(models, x):
    return _find_leak(leak_suspects(), x)


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    models = inputs["models"]
    name, ahead = _find_leak(models, inputs["x"])
    pair = got if isinstance(got, tuple | list) and len(got) == 2 else (None, None)
    grid = reach(models[name])
    t, s = (grid.triu(1) > 0).nonzero(as_tuple=True)
    far = s - t == ahead
    return {
        "accused": pair[0],
        "said": pair[1],
        "last": len(grid) - 1,
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
            _the_furthest_back,
            "{accused} is the first that reaches all the way back, and reading the past is "
            "allowed. Row t of the gradient is an output, column s an input: a leak lies above the "
            "diagonal, s > t.",
            part=0,
        ),
        Mistake(
            "accuses the causal model",
            _accuses("causal"),
            "{accused} reads all of the past and nothing ahead: its gradient is exactly 0 for "
            "every s > t. It is the one that does it right.",
            part=0,
        ),
        Mistake(
            "accuses the window",
            _accuses("window"),
            "{accused} has a window: it reads a few tokens back and nothing ahead. Seeing too "
            "little is no leak.",
            part=0,
        ),
        Mistake(
            "accuses the one that skips itself",
            _accuses("earlier"),
            "{accused} gives a token no weight on itself, and still reads nothing ahead. "
            "The diagonal of a mask is allowed to be empty; above it is where a leak shows.",
            part=0,
        ),
        Mistake(
            "accuses the one without attention",
            _accuses("token by token"),
            "{accused} treats each token by itself: output t depends on input t alone. There is "
            "nothing in it that could leak.",
            part=0,
        ),
        Mistake(
            "accuses the recurrent one",
            _accuses("recurrent"),
            "{accused} is recurrent: it reads token after token, and its output t is made before "
            "it has seen token t + 1.",
            part=0,
        ),
        Mistake(
            "first output only",
            _measured(_only(lambda t, s: t == 0)),
            "You look at output 0 alone. One leak starts later: output {first_t} of {leak} "
            "depends on input {first_s}. Look at all outputs.",
        ),
        Mistake(
            "last output only",
            _measured(_only(lambda t, s: t == t.max())),
            "You look at the last output alone, and nothing comes after token {last}: no model "
            "can leak there. Look at all outputs.",
        ),
        Mistake(
            "output in the middle only",
            _measured(_only(lambda t, s: t == len(t) // 2)),
            "You look at the output in the middle alone. A leak may differ from token to token: "
            "output {first_t} of {leak} depends on input {first_s}, {ahead} ahead.",
        ),
        Mistake(
            "last input only",
            _measured(_only(lambda t, s: s == s.max())),
            "You change the last token alone. A leak may differ from token to token: input "
            "{first_s} of {leak} reaches output {first_t}, {ahead} ahead. Change each in turn.",
        ),
        Mistake(
            "input in the middle only",
            _measured(_only(lambda t, s: s == len(s) // 2)),
            "You change the token in the middle alone. A leak may differ from token to token: "
            "input {first_s} of {leak} reaches output {first_t}, {ahead} ahead. Change each in "
            "turn.",
        ),
        Mistake(
            "overlooks what is faint",
            _measured(lambda grid: grid > 0.05),
            "You take a small dependence for none. The leak of {leak} is faint: {strongest} at "
            "most, where a token's own gradient is {usual}. Its mask adds −8 to the score and not "
            "−∞. Without a leak the gradient is exactly 0: compare with 0.",
        ),
        Mistake(
            "always the first",
            lambda models, x: (next(iter(models)), 1),
            "You name the first model, {accused}, and 1 under every shuffle: nothing that you "
            "measure tells the six apart. For one output t, which inputs s > t have a gradient?",
        ),
        Mistake(
            "the offset of one layer",
            _through_one_layer,
            "{accused} is the one. Its masks are off by 1 in each of its two layers, and layers "
            "add up: output {first_t} depends on input {first_s}, {ahead} ahead.",
        ),
        Mistake(
            "the nearest offset",
            _right_name(lambda ahead: 1),
            "{accused} is the one. You give 1, as if you had looked at the next token alone, "
            "s = t + 1. It sees {ahead} ahead: output {first_t} depends on input {first_s}. Asked "
            "for is the largest s − t.",
        ),
        Mistake(
            "the sign turned round",
            _right_name(lambda ahead: -ahead),
            "{accused} is the one. The offset is s − t, input minus output: ahead counts as "
            "positive, so {ahead}.",
        ),
        Mistake(
            "counts itself too",
            _right_name(lambda ahead: ahead + 1),
            "{accused} is the one. You give {said}, one too many: the token itself has offset 0, "
            "the next one 1.",
        ),
        Mistake(
            "one too few",
            _right_name(lambda ahead: ahead - 1),
            "{accused} is the one. You give {said}, one too few: the token itself has offset 0, "
            "and output {first_t} depends on input {first_s}.",
        ),
    ),
)


def check_leak(find_leak: Any) -> Verdict:
    """Judge ``find_leak(models, x)``: the (name, offset) of the model that sees the future.

    ``models`` is what :func:`~course_utils.lectures.l05_causal_mask.exercises.leak_models.leak_suspects` returns,
    ``x`` the rows (13, 5) to try them on. The offset is the largest s − t for which output t
    depends on input s. The check shuffles the names and changes the leak.

    >>> check_leak(lambda models, x: ("agate", 1)).passed
    False
    """
    return LEAK.check(find_leak)
