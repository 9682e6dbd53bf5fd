"""Every explorer of the course, every control over its whole range, alone and at random.

What is computed in the browser, pairs of controls too: tests/explorers/test_in_the_hand.py. How it
looks and answers: tests/browser/test_browser_explorers.py.
"""

import re
from random import Random

import numpy as np
import pytest

from course_utils.explorers.captions import plain
from course_utils.explorers.data import encode, fields
from course_utils.lectures import COURSE
from tests.explorers.support_explorers import arrays_in, same_state

COMBINATIONS = 40
NO_NUMBER = re.compile(r"\b(nan|inf|None)\b", re.I)
QUOTED = re.compile("“[^”]*”")  # a model may write "none"
MOST_WORDS = 25
MOST_BYTES = 2_000_000

EVERY = [
    pytest.param(made, id=f"{lecture.number:02}-{name}")
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


def faults(explorer, values):
    """What is wrong with the state and the caption at these values, in words."""
    state = explorer.compute(**values)
    words = plain(explorer.caption(state))
    found = [
        f"{name} is not finite" for name, array in arrays_in(state) if not np.isfinite(array).all()
    ]
    if len(words) < 30 or holds_no_number(words) or len(words.split()) > MOST_WORDS:
        found.append(f"caption: {words}")
    return found


def test_each_control(explorer):
    for name, each in explorer.inputs.items():
        captions = set()
        for value in each.sweep():
            values = {**defaults(explorer), name: value}
            assert faults(explorer, values) == [], values
            # A control may act only in a mode that a preset sets.
            for mode in ({}, *explorer.presets.values()):
                chosen = {**values, **mode, name: value}
                captions.add((str(mode), explorer.caption(explorer.compute(**chosen))))
        modes = {mode for mode, _ in captions}
        assert len(captions) > len(modes), f"no word of the caption follows {name}"


def test_controls_at_random(explorer):
    random = Random(1)
    for _ in range(COMBINATIONS):
        values = random_values(explorer, random)
        assert faults(explorer, values) == [], values
    first = explorer.compute(**values)
    assert same_state(type(explorer)().compute(**values), first), "compute must be pure"


def test_presets(explorer):
    states = []
    for label, preset in explorer.presets.items():
        explorer.set(**{**defaults(explorer), **preset})
        assert faults(explorer, explorer.values) == [], label
        assert not any(same_state(explorer.state, each) for each in states), (
            f"{label} shows nothing new"
        )
        states.append(explorer.state)
    assert len(states) >= 3


def test_words_of_title_and_controls(explorer):
    assert "?" in explorer.title, "a title asks what the picture answers"
    assert len(explorer.reading) > 40, "how to read it is said"
    for each in explorer.inputs.values():
        each.check("default", each.default)
        assert re.search(r"[a-z]{4}", each.label), "a label is words, not a letter"


def test_bundle(explorer):
    data, _ = explorer._repr_mimebundle_()
    assert data["text/plain"] == f"{explorer.title}\n{explorer.caption_text}"
    assert set(data) == {"text/plain", "application/vnd.jupyter.widget-view+json"}
    explorer.close()


def test_states_can_be_sent(explorer):
    assert type(explorer).view_path().is_file()
    assert len(explorer.module()) < 100_000
    sent = str(explorer.page_data()["given"])
    assert len(sent) < MOST_BYTES
    assert encode(fields(explorer.compute(**defaults(explorer))))
