"""What is wrong with this training: five loss curves, four of them of a training with a fault.

tools/scripts/train_learning_runs.py makes them with the lecture's own cells.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from course_utils.data.package_files import read_packaged
from course_utils.teaching.exercise import Exercise

CURVES_FILE = "learning_curves.json"
KINDS = ("right", "rate too high", "rate too low", "not shifted", "one batch")
ENTROPY = 0.52  # of the stories, nats a word
LETTERS = {
    "A": "not shifted",
    "B": "rate too low",
    "C": "right",
    "D": "one batch",
    "E": "rate too high",
}
EVERY = 5  # steps between two losses


@cache
def _runs() -> list[dict[str, Any]]:
    """Each run: of which kind, its losses, and its loss on new stories."""
    return json.loads(read_packaged(CURVES_FILE))


def training_curves() -> dict[str, tuple[list[float], float]]:
    """Five trainings by letter: the losses on every fifth step, and the loss on new stories."""
    first = {run["kind"]: (run["losses"], run["unseen"]) for run in reversed(_runs())}
    return {letter: first[kind] for letter, kind in LETTERS.items()}


def _diagnose(losses, unseen):
    if losses[-1] < ENTROPY:
        return "not shifted" if unseen < ENTROPY else "one batch"
    if losses[-1] > 0.9 * losses[0]:
        return "rate too low"
    return "rate too high" if losses[-1] > 2.5 else "right"


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    losses = inputs["losses"]
    return {
        "first": losses[0],
        "last": losses[-1],
        "half": losses[len(losses) // 2],
        "kind": _diagnose(**inputs),
    }


DIAGNOSE = Exercise(
    title="What is wrong with this training?",
    difficulty=2,
    minutes=10,
    function="diagnose",
    reference=_diagnose,
    probes=tuple({"losses": run["losses"], "unseen": run["unseen"]} for run in _runs()),
    facts=_facts,
    praise="The two lowest curves are the two to distrust first: one sees its answer, the other "
    "has seen nothing else.",
)


@DIAGNOSE.mistake()
def low_is_right(losses, unseen):
    """A run ends at {last} and has {unseen} on new stories; you say it is right. The entropy of the
    stories is 0.52: below that, on new stories, no honest model can be."""
    kind = _diagnose(losses, unseen)
    return "right" if kind == "not shifted" else kind


@DIAGNOSE.mistake()
def by_heart_is_right(losses, unseen):
    """A run ends at {last}, and pays {unseen} on new stories; you say it is right. It has
    learned its one batch by heart, and nothing else."""
    kind = _diagnose(losses, unseen)
    return "right" if kind == "one batch" else kind


@DIAGNOSE.mistake()
def both_low_ones_not_shifted(losses, unseen):
    """A run ends at {last}, below the entropy, but on new stories it pays {unseen}. Whoever sees
    the answer sees it there, too: this one has learned a batch by heart."""
    kind = _diagnose(losses, unseen)
    return "not shifted" if kind == "one batch" else kind


@DIAGNOSE.mistake()
def both_low_ones_one_batch(losses, unseen):
    """A run ends at {last}, and pays {unseen} on new stories, too. What is learned by heart does
    not help there: this one sees its answer."""
    kind = _diagnose(losses, unseen)
    return "one batch" if kind == "not shifted" else kind


@DIAGNOSE.mistake()
def the_rates_exchanged(losses, unseen):
    """A run goes from {first} over {half} to {last}: you took one wrong rate for the other. One
    that is too low hardly moves. One that is too high falls at first, and then jumps about."""
    other = {"rate too high": "rate too low", "rate too low": "rate too high"}
    kind = _diagnose(losses, unseen)
    return other.get(kind, kind)


@DIAGNOSE.mistake()
def stuck_is_too_low(losses, unseen):
    """A run goes from {first} over {half} to {last}; you say that its rate is too low. It moved
    quickly at first, and got stuck: its steps are too large to get further down."""
    kind = _diagnose(losses, unseen)
    return "rate too low" if kind == "rate too high" else kind


@DIAGNOSE.mistake()
def slow_is_right(losses, unseen):
    """A run goes from {first} to {last} in 100 steps; you say it is right. A right one is below
    2 by then: its rate is too low."""
    kind = _diagnose(losses, unseen)
    return "right" if kind == "rate too low" else kind


@DIAGNOSE.mistake()
def everything_is_right(losses, unseen):
    """You call every training right. This one goes from {first} over {half} to {last}, and has
    {unseen} on new stories: four things can be wrong with it, and the numbers show which."""
    return "right"


@DIAGNOSE.mistake()
def worse_on_new_stories_is_one_batch(losses, unseen):
    """A run ends at {last} and has {unseen} on new stories; you say that it has seen one batch.
    New stories mostly cost a little more. By heart is what falls below the entropy, 0.52, and
    costs far more on new ones."""
    return "one batch" if unseen > losses[-1] else _diagnose(losses, unseen)


def _nothing_for(kind: str) -> Callable[..., str | None]:
    """Who returns nothing for one kind has no condition that is true for it."""

    def nothing(losses, unseen):
        found = _diagnose(losses, unseen)
        return None if found == kind else found

    nothing.__name__ = f"nothing_for_{kind.replace(' ', '_')}"
    nothing.__doc__ = f"""A run goes from {{first}} over {{half}} to {{last}}, and has {{unseen}} on
        new stories. None of your conditions is true for it, so you return nothing (None). It is an
        example of "{kind}"."""
    return nothing


for _kind in KINDS:
    DIAGNOSE.mistake()(_nothing_for(_kind))
