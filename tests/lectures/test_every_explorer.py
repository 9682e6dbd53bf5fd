"""Every explorer of the course, as a browser computes it: each control, pairs of them, at random.

Whether the numbers are true: each lecture's own test_explorers.py. How it looks and answers:
tests/browser/test_browser_explorers.py.
"""

import gzip
import re

import numpy as np
import pytest

from course_utils.explorers.inputs import Choice
from lectures import COURSE
from tests.explorers.support_browser import InBrowser, cases
from tests.explorers.support_explorers import arrays_in, same_state

NO_NUMBER = re.compile(r"\b(nan|inf|None)\b", re.I)
QUOTED = re.compile("“[^”]*”")  # a model may write "none"
MOST_WORDS = 25
MOST_BYTES = 2_000_000
MODULE_BYTES = 18_000  # what arrives before the picture, without the kit; one has a GPT in it

EVERY = [
    pytest.param(made, id=f"{lecture.number}-{name}")
    for lecture in COURSE
    for name, made in vars(lecture.module("explorers")).items()
    if name.startswith("explore_")
]


def holds_no_number(words):
    """Whether a caption says nan, inf or None in words of its own."""
    return NO_NUMBER.search(QUOTED.sub("", words)) is not None


@pytest.fixture(scope="module", params=EVERY)
def browser(request):
    with InBrowser(request.param()) as found:
        yield found


def bytes_in(value):
    """How many bytes a message has, its names aside."""
    if isinstance(value, dict):
        return sum(map(bytes_in, value.values()))
    if isinstance(value, list):
        return sum(map(bytes_in, value))
    return len(value if isinstance(value, bytes) else str(value))


def faults(state):
    """What is wrong with a state and its caption, in words."""
    found = [
        f"{name} is not finite" for name, array in arrays_in(state) if not np.isfinite(array).all()
    ]
    if len(state.words) < 30 or holds_no_number(state.words):
        found.append(f"caption: {state.words}")
    if len(state.words.split()) > MOST_WORDS:
        found.append(f"{len(state.words.split())} words: {state.words}")
    return found


def modes_of(explorer):
    """As it opens, each preset, and each preset with one of a few named values."""
    presets = [{}, *explorer.presets.values()]
    chosen = {name: each for name, each in explorer.inputs.items() if isinstance(each, Choice)}
    choices = [{name: value} for name, each in chosen.items() for value in each.sweep()]
    return [*presets, *({**preset, **choice} for preset in presets for choice in choices)]


def test_each_control(browser):
    explorer = browser.explorer
    for name, each in explorer.inputs.items():
        # A control may act only in a mode that a preset sets, or a preset and a choice.
        for mode in modes_of(explorer):
            states = browser.states([{**mode, name: value} for value in each.sweep()])
            assert [fault for state in states for fault in faults(state)] == []
            if len({state.caption for state in states}) > 1:
                break
        else:
            pytest.fail(f"no word of the caption follows {name}")


def test_pairs_of_controls_and_values_at_random(browser):
    tried = cases(browser.explorer)
    for values, state in zip(tried, browser.states(tried), strict=True):
        assert faults(state) == [], values
    assert same_state(browser.compute(**values), state), "it must be pure"


def test_presets(browser):
    labels = browser.explorer.presets
    states = browser.states(labels.values())
    for i, label in enumerate(labels):
        assert faults(states[i]) == [], label
        assert not any(same_state(states[i], each) for each in states[:i]), f"{label} is not new"
    assert len(states) >= 3


def test_words_of_title_and_controls(browser):
    explorer = browser.explorer
    assert "?" in explorer.title, "a title asks what the picture answers"
    assert len(explorer.reading) > 40, "how to read it is said"
    for each in explorer.inputs.values():
        each.check("default", each.default)
        assert re.search(r"[a-z]{4}", each.label), "a label is words, not a letter"


def test_what_a_cell_shows_can_be_sent(browser):
    explorer = browser.explorer
    data, _ = explorer._repr_mimebundle_()
    assert set(data) == {"text/plain", "application/vnd.jupyter.widget-view+json"}
    assert data["text/plain"].split("\n")[0] == explorer.title
    assert len(gzip.compress(explorer.widget()._esm.encode())) <= MODULE_BYTES
    assert bytes_in(explorer.widget().given) < MOST_BYTES
    explorer.close()
