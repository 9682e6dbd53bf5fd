"""Lecture 09: ten broken GPTs, each shown by what can be measured from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Choice
from lectures.l09_since_gpt2.experiments.broken_gpts import LENGTH
from lectures.l09_since_gpt2.experiments.broken_runs import (
    LETTERS,
    MEAN_OF,
    sheet_of,
    sound_band,
)
from lectures.l09_since_gpt2.experiments.broken_sheets import BIN, MAPS, READERS, SHIFTS

A_SOUND_ONE = "a sound one"


class BrokenGPTs(Explorer):
    """A letter → the sheet of its GPT, on the range of six sound ones."""

    title = "What is wrong with this GPT?"
    inputs = {"gpt": Choice("which of them", (A_SOUND_ONE, *LETTERS), A_SOUND_ONE, in_picture=True)}
    presets = {
        A_SOUND_ONE: {"gpt": A_SOUND_ONE},
        "the first": {"gpt": "A"},
        "the last": {"gpt": "J"},
    }
    view = "broken_gpts.js"
    reading = (
        "Grey is the range of six sound GPTs, which differ in their seeds; hollow dots are the "
        "untrained GPT, full dots the trained one. Each learned for 250 steps on rows of 64 words. "
        "New stories are read up to position 128, in one pass (line) and word by word with a cache "
        "(dashed): where the dashes lie on the line, the two agree. What an output depends on, "
        "before training: outputs in rows, inputs in columns; bluer is more, no colour is "
        "nothing. Entropy: of a query's weights, in nats. Weight that moves: of all weights, when "
        "every position becomes larger by 1, 4, 16 or 64. Length of inputs: of the vectors that "
        "attention, network, attention, experts and output read. Cosines: 24 frequent words' input "
        "vectors in rows, their rows of the output matrix in columns; look at the diagonal."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        names = [name for name in sheet_of(A_SOUND_ONE) if name not in MAPS]
        return {
            "bands": {name: [each.tolist() for each in sound_band(name)] for name in names},
            "every": MEAN_OF,
            "bin": BIN,
            "length": LENGTH,
            "shifts": list(SHIFTS),
            "readers": list(READERS),
        }

    def compute(self, gpt: str) -> dict[str, Any]:
        sheet = sheet_of(gpt)
        curves = {name: values for name, values in sheet.items() if name not in MAPS}
        cosines = (sheet["cosines"] / 127).astype(np.float32)
        return {"gpt": gpt, **curves, "reach": sheet["reach"], "cosines": cosines}

    def caption(self, state: Mapping[str, Any]) -> str:
        low, high = (each[-1] for each in sound_band("loss"))
        name = "A sound one" if state["gpt"] == A_SOUND_ONE else f"GPT {state['gpt']}"
        one, other = (number(state[each].mean(), 2) for each in ("one_pass", "word_by_word"))
        return (
            f"{name}: last loss [b:{number(state['loss'][-1], 2)}], sound ones {number(low, 2)} to "
            f"{number(high, 2)}; on new stories {one} in one pass, {other} word by word."
        )
