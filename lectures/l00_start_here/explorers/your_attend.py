"""The plane once more, on the function that the reader wrote: Python asks it at each move."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import torch

from course_utils.attention import attend as the_course
from course_utils.teaching.outcomes import is_untouched, observe, wrong_kind
from course_utils.teaching.time_limit import OutOfTimeError, within
from course_utils.teaching.usual_torch import usual_torch
from lectures.l00_start_here.explorers.plane import AttentionInThePlane

SECONDS = 1.0  # for one answer: a loop that never ends would stop the notebook
UNWRITTEN = "your `attend` is not written yet"
NO_KERNEL = "there is no Python here to call your `attend`"


class YourAttend(AttentionInThePlane):
    """A query, keys and values in the hand → what the reader's `attend` makes of them."""

    title = "What does your attend do with a query, keys and values?"
    served = ("query", "keys", "values")
    trailing = True
    reading = (
        AttentionInThePlane.reading
        + " The weights and the output are your function's. Where the formula gives others, a line "
        "in each bar and a ring show its weights and its output."
    )

    def __init__(self, attend: Any = ..., **values: Any) -> None:
        self._attend = attend
        super().__init__(**values)

    def given(self, **served: Any) -> Mapping[str, Any]:
        return {"yours": {"of": served, **ask(self._attend, **served)}}

    def page_data(self) -> dict[str, Any]:
        """Where nobody can be asked, the page computes, and says so."""
        given = {"for": {}, "data": {"yours": {"problem": NO_KERNEL}}}
        return {"spec": {**self.spec(), "served": []}, "values": self.values, "given": given}


def ask(attend: Any, query: Any, keys: Any, values: Any) -> dict[str, Any]:
    """Return the weights and the output of the reader's function, or what is wrong, in words."""
    if not callable(attend):
        return {"problem": UNWRITTEN}
    arrows = {"q": [query], "k": keys, "v": values}
    inputs = {name: torch.tensor(each) for name, each in arrows.items()}
    try:
        with usual_torch():
            outcome = within(SECONDS, lambda: observe(attend, inputs))
    except OutOfTimeError:
        return {"problem": f"your `attend` was stopped after {SECONDS:g} s"}
    if is_untouched(attend, outcome):
        return {"problem": UNWRITTEN}
    if outcome.error is not None:
        what = f"{type(outcome.error).__name__}: {outcome.error}"
        what = textwrap.shorten(what, 100, placeholder=" …")
        return {"problem": f"your `attend` stops with {what.rstrip('.')}"}
    got = outcome.value
    if complaint := wrong_kind(got, the_course(*inputs.values()), ("out", "weights")):
        return {"problem": f"your `attend` runs, but {complaint}"}
    return {"out": got[0][0].tolist(), "weights": got[1][0].tolist()}
