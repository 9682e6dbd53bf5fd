"""Every explorer of the course, every control over its whole range, alone and at random.

The pictures are not compared with stored ones. What must hold for all: the arrays are finite, the
words say something, the picture is the one that drawing everything anew gives, nothing piles up.
"""

import copy
import dataclasses
import io
import itertools
import re
from random import Random

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from course_utils import explorers as viz
from course_utils.explorers import Explorer, picture
from course_utils.lectures import EXPLORERS
from tests.explorers.support_explorers import (
    Toy,
    arrays_in,
    counted_objects,
    error_line,
    move,
    press,
    random_events,
    same_state,
)

COMBINATIONS = 15  # with a picture; every pair of values is tried without one
# Of a thousand events the first fill what is kept on purpose: backdrops, readings, painted pieces.
FIRST, EVENTS = 600, 400
NO_NUMBER = re.compile(r"\b(nan|inf|None)\b", re.I)
QUOTED = re.compile("“[^”]*”")  # a model may write "none"


@pytest.fixture(scope="module", params=EXPLORERS)
def explorer(request):
    """One live explorer for all tests of a kind, as a reader has it."""
    made = EXPLORERS[request.param]()
    made.widget()
    return made


@pytest.fixture
def made(monkeypatch):
    """Which figures and axes are made while the test runs."""
    found = []
    for kind in (Figure, Axes):
        init = kind.__init__
        monkeypatch.setattr(
            kind,
            "__init__",
            lambda self, *a, _init=init, **k: (
                found.append(type(self).__name__),
                _init(self, *a, **k),
            )[1],
        )
    return found


def holds_no_number(words):
    """Whether a caption says nan, inf or None in words of its own."""
    return NO_NUMBER.search(QUOTED.sub("", words)) is not None


def faults(explorer):
    """What is wrong with the picture that is shown now, in words."""
    found = []
    if explorer.error is not None:
        found.append(f"error: {explorer.error!r}")
    found += [
        f"{name} is not finite"
        for name, array in arrays_in(explorer.state)
        if not np.isfinite(array).all()
    ]
    words = explorer.words
    if len(words) < 40 or holds_no_number(words):
        found.append(f"caption: {words}")
    with Image.open(io.BytesIO(explorer.png())) as image:
        if image.size != tuple(round(100 * inches) for inches in explorer.size):
            found.append(f"the picture has size {image.size}")
    if explorer.png() != explorer.png(fresh=True):
        found.append("the picture is not the one drawn anew")
    return found


def defaults(explorer):
    return {name: each.default for name, each in explorer.inputs.items()}


def random_values(explorer, random):
    return {name: each.sample(random) for name, each in explorer.inputs.items()}


def test_faults_are_seen():
    class Faulty(Toy):
        def compute(self, slope, **values):
            state = super().compute(slope=slope, **values)
            return dataclasses.replace(state, y=state.y * {4: np.nan, 5: np.inf}.get(slope, 1.0))

        def caption(self, state):
            return {6: "", 7: f"The height at the end is {np.float64('nan'):.2f}, by the way."}.get(
                state.slope, super().caption(state) + " And so it goes, on and on and on."
            )

        def update(self, state):
            super().update(state)
            self._axes.set_facecolor("yellow" if state.slope == 8 else "white")
            if state.slope == 9:
                raise ValueError("nine")

    toy = Faulty()
    assert faults(toy) == []
    for slope, fault in [
        (4, "state.y is not finite"),
        (5, "state.y is not finite"),
        (6, "caption: "),
        (7, "caption: "),
        (8, "not the one drawn anew"),
        (9, "error: ValueError"),
    ]:
        move(toy, slope=slope)
        assert fault in "; ".join(faults(toy)), slope


def test_each_control_over_its_range(explorer, made):
    for name, each in explorer.inputs.items():
        explorer.set(**defaults(explorer))
        pictures, words = set(), set()
        for value in each.sweep():
            move(explorer, **{name: value})
            assert faults(explorer) == [], f"{name} = {value!r}"
            pictures.add(explorer.png())
            words.add(explorer.words)
        assert len(pictures) > 1, f"{name} moves nothing"
        assert len(words) > 1, f"no word of the caption follows {name}"
    assert made == []


def test_every_two_values_together_give_numbers_and_words(explorer):
    for one, other in itertools.combinations(explorer.inputs, 2):
        for values in itertools.product(*(explorer.inputs[name].sweep() for name in (one, other))):
            chosen = {**defaults(explorer), **dict(zip((one, other), values, strict=True))}
            state = explorer.compute(**chosen)
            wrong = [name for name, array in arrays_in(state) if not np.isfinite(array).all()]
            assert wrong == [] and not holds_no_number(explorer.caption(state)), chosen


def test_controls_at_random_together(explorer, made):
    random = Random(1)
    for _ in range(COMBINATIONS):
        values = random_values(explorer, random)
        explorer.set(**values)
        assert faults(explorer) == [], values
    assert made == []


def test_scenes(explorer, made):
    pictures = {}
    for label, scene in explorer.scenes.items():
        explorer.set(**defaults(explorer))
        press(explorer, label)
        assert faults(explorer) == [], label
        assert scene.items() <= explorer.values.items()
        pictures[explorer.png()] = label
    assert len(pictures) == len(explorer.scenes) >= 3, "two scenes show the same"
    assert made == []


def test_same_values_same_state(explorer):
    """`compute` is pure: it needs no picture, and neither history nor drawing changes it."""
    random, undrawn = Random(2), type(explorer)()
    for _ in range(5):
        values = random_values(explorer, random)
        first = copy.deepcopy(explorer.compute(**values))
        explorer.set(**values)
        explorer.png(fresh=True)
        assert same_state(explorer.state, first)
        explorer.set(**random_values(explorer, random))
        assert same_state(explorer.compute(**values), first)
        assert same_state(undrawn.compute(**values), first)
    assert explorer.state.__dataclass_params__.frozen


def test_the_same_picture_by_another_way(explorer):
    """A picture depends on where the controls stand, not on how they came there."""
    values = random_values(explorer, Random(3))
    explorer.set(**values)
    assert type(explorer)(**values).png() == explorer.png()


def test_a_thousand_events_leave_nothing_behind(explorer, made, monkeypatch):
    # Half the time of an event goes into compressing pixels. Bytes are no objects that the
    # collector sees, so here each picture is drawn, and a number stands for the compressed one.
    numbers = itertools.count()
    with monkeypatch.context() as changed:
        changed.setattr(picture, "encode_png", lambda pixels: b"%d" % next(numbers))
        for name, each in explorer.inputs.items():
            for value in each.sweep():
                move(explorer, **{name: value})
        for _ in random_events(explorer, FIRST, seed=4):
            pass
        explorer.set(**defaults(explorer))
        made.clear()
        before = counted_objects()
        for name in random_events(explorer, EVENTS, seed=5):
            assert explorer.error is None, (name, explorer.values)
    explorer.set(**defaults(explorer))
    grown = {kind: count - before[kind] for kind, count in counted_objects().items()}
    assert made == []
    assert grown["artists"] == 0
    # One object left behind by each event would be EVENTS more; caches of others come and go.
    assert grown["objects"] < EVENTS / 2


def test_what_an_event_leaves_behind_would_be_seen():
    class Hoarder(Toy):
        kept = []

        def compute(self, **values):
            state = super().compute(**values)
            self.kept.append(state)
            return state

        def update(self, state):
            super().update(state)
            self.kept.append(self._axes.plot([0], [state.slope])[0])

    toy = Hoarder()
    toy.png()
    before = counted_objects()
    for _ in random_events(toy, 100, seed=5):
        pass
    after = counted_objects()
    # An event whose value is the one that stands already is none, hence not quite 100.
    assert after["objects"] - before["objects"] > 50
    assert after["artists"] - before["artists"] > 50


@pytest.mark.parametrize("name", EXPLORERS)
def test_the_register(name):
    one, other = EXPLORERS[name](), EXPLORERS[name]()
    assert isinstance(one, Explorer) and one is not other
    assert name.startswith("explore_") and name in viz.__all__
    assert getattr(viz, name) is EXPLORERS[name]
    assert "?" in one.title, "a title asks what the picture answers"
    for each in one.inputs.values():
        assert re.search(r"[a-z]{4}", each.description), "a description is words, not a letter"


def test_no_explorer_is_left_out_of_the_register():
    def families(kind):
        return [kind, *(f for child in kind.__subclasses__() for f in families(child))]

    ours = {k for k in families(Explorer)[1:] if k.__module__.startswith("course_utils.")}
    assert ours == {type(make()) for make in EXPLORERS.values()}


def test_an_explorer_without_an_error_shows_no_error_line(explorer):
    explorer.set(**defaults(explorer))
    assert explorer.error is None and error_line(explorer) is None
