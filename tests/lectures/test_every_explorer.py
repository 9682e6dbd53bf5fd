"""Every explorer of the course, every control over its whole range, alone and at random.

What is computed in the browser, pairs of controls too: tests/explorers/test_in_the_hand.py. How it
looks and answers: tests/browser/test_browser_explorers.py.
"""

import gzip
import re
from random import Random

import numpy as np
import pytest

from course_utils.explorers.captions import plain
from course_utils.explorers.data import encode, fields
from lectures import COURSE
from tests.explorers.support_explorers import arrays_in, same_state

COMBINATIONS = 40
NO_NUMBER = re.compile(r"\b(nan|inf|None)\b", re.I)
QUOTED = re.compile("“[^”]*”")  # a model may write "none"
MOST_WORDS = 25
MOST_BYTES = 2_000_000
MODULE_BYTES = 12_000  # what arrives before the picture, without the kit that all share

EVERY = [
    pytest.param(made, id=f"{lecture.number}-{name}")
    for lecture in COURSE
    for name, made in vars(lecture.module("explorers")).items()
    if name.startswith("explore_")
]


def holds_no_number(words):
    """Whether a caption says nan, inf or None in words of its own."""
    return NO_NUMBER.search(QUOTED.sub("", words)) is not None


def defaults(explorer):
    return {name: each.default for name, each in explorer.inputs.items()}


def random_values(explorer, random):
    return {name: each.sample(random) for name, each in explorer.inputs.items()}


@pytest.fixture(scope="module", params=EVERY)
def explorer(request):
    return request.param()


def faults(explorer, state):
    """What is wrong with a state and its caption, in words."""
    words = plain(explorer.caption(state))
    found = [
        f"{name} is not finite" for name, array in arrays_in(state) if not np.isfinite(array).all()
    ]
    if len(words) < 30 or holds_no_number(words) or len(words.split()) > MOST_WORDS:
        found.append(f"caption: {words}")
    return found


def test_each_control(explorer):
    for name, each in explorer.inputs.items():
        # A control may act only in a mode that a preset sets.
        for mode in ({}, *explorer.presets.values()):
            captions = set()
            for value in each.sweep():
                values = {**defaults(explorer), **mode, name: value}
                state = explorer.compute(**values)
                assert faults(explorer, state) == [], values
                captions.add(explorer.caption(state))
            if len(captions) > 1:
                break
        else:
            pytest.fail(f"no word of the caption follows {name}")


def test_controls_at_random(explorer):
    random = Random(1)
    for _ in range(COMBINATIONS):
        values = random_values(explorer, random)
        state = explorer.compute(**values)
        assert faults(explorer, state) == [], values
    assert same_state(type(explorer)().compute(**values), state), "compute must be pure"


def test_presets(explorer):
    states = []
    for label, preset in explorer.presets.items():
        explorer.set(**{**defaults(explorer), **preset})
        state = explorer.state
        assert faults(explorer, state) == [], label
        assert not any(same_state(state, each) for each in states), f"{label} shows nothing new"
        states.append(state)
    assert len(states) >= 3


def test_words_of_title_and_controls(explorer):
    assert "?" in explorer.title, "a title asks what the picture answers"
    assert len(explorer.reading) > 40, "how to read it is said"
    for each in explorer.inputs.values():
        each.check("default", each.default)
        assert re.search(r"[a-z]{4}", each.label), "a label is words, not a letter"


def test_what_a_cell_shows_can_be_sent(explorer):
    data, _ = explorer._repr_mimebundle_()
    assert data["text/plain"] == f"{explorer.title}\n{explorer.caption_text}"
    assert set(data) == {"text/plain", "application/vnd.jupyter.widget-view+json"}
    assert len(gzip.compress(explorer.widget()._esm.encode())) <= MODULE_BYTES
    assert len(str(explorer.widget().given)) < MOST_BYTES
    assert encode(fields(explorer.compute(**defaults(explorer))))
    explorer.close()
