"""Every explorer of the course, every control over its whole range, alone and at random.

The pictures are not compared with stored ones. What must hold for all: the arrays are finite, the
words say something, the picture is the one that drawing everything anew gives, nothing piles up.
"""

import copy
import gc
import io
import itertools
import re
from random import Random

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from course_utils.explorers import Explorer, picture
from course_utils.explorers import drawn as engine
from course_utils.explorers.data import encode, fields
from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.style import new_figure
from course_utils.explorers.words import plain
from course_utils.lectures import COURSE, EXPLORERS
from tests.explorers.support_explorers import (
    arrays_in,
    counted_objects,
    error_line,
    move,
    overhang,
    press,
    random_events,
    same_state,
    sharpened,
)

COMBINATIONS = 10  # with a picture; every pair of values is tried without one
# The first events fill what is kept on purpose: backdrops, readings, painted pieces.
SOME, THOUSAND = (90, 60), (600, 400)
NO_NUMBER = re.compile(r"\b(nan|inf|None)\b", re.I)
QUOTED = re.compile("“[^”]*”")  # a model may write "none"


NAMES = [
    pytest.param(name, id=f"{lecture.number:02}-{name}")
    for lecture in COURSE
    for name, made in vars(lecture.module("explorers")).items()
    if name.startswith("explore_") and issubclass(made, DrawnExplorer)
]
LIVE = [
    pytest.param(made, id=f"{lecture.number:02}-{name}")
    for lecture in COURSE
    for name, made in vars(lecture.module("explorers")).items()
    if name.startswith("explore_") and issubclass(made, Explorer)
]


@pytest.fixture(scope="module", params=NAMES)
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


def test_each_control(explorer, made):
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


def test_every_pair_of_values(explorer):
    for one, other in itertools.combinations(explorer.inputs, 2):
        for values in itertools.product(*(explorer.inputs[name].sweep() for name in (one, other))):
            chosen = {**defaults(explorer), **dict(zip((one, other), values, strict=True))}
            state = explorer.compute(**chosen)
            wrong = [name for name, array in arrays_in(state) if not np.isfinite(array).all()]
            assert wrong == [] and not holds_no_number(explorer.caption(state)), chosen


def test_controls_at_random(explorer, made):
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
    stream = torch.random.get_rng_state()
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
    assert torch.equal(torch.random.get_rng_state(), stream), "a slider changes later cells"


def test_same_values_same_picture(explorer):
    """A picture depends on where the controls stand, not on how they came there."""
    values = random_values(explorer, Random(3))
    explorer.set(**values)
    assert type(explorer)(**values).png() == explorer.png()


def blurred(png):
    """Mean colours of squares of 10 by 10 pixels of the page, whatever the resolution."""
    with Image.open(io.BytesIO(png)) as image:
        size = 80, image.height * 80 // image.width
        return np.asarray(image.resize(size, Image.Resampling.BOX), dtype=float)


def test_sharp_picture_shows_the_same(explorer, made, monkeypatch):
    monkeypatch.setattr(engine, "REST", 0.01)
    explorer.set(**defaults(explorer))
    png, sharp = explorer.png(), sharpened(explorer)
    with Image.open(io.BytesIO(sharp)) as image:
        assert image.size == tuple(round(200 * inches) for inches in explorer.size)
    # A letter's edges differ, 1 or 2 levels of 255 on average; what lies elsewhere, 10 and more.
    assert np.abs(blurred(sharp) - blurred(png)).mean() < 3
    assert explorer.png(fresh=True) == png
    assert made == []


@pytest.mark.parametrize("events", [SOME, pytest.param(THOUSAND, marks=pytest.mark.slow)])
def test_events_leave_nothing_behind(explorer, events, made, monkeypatch):
    first, measured = events
    gc.freeze()  # what is there already is counted neither before nor after
    # Half the time of an event goes into compressing pixels. Bytes are no objects that the
    # collector sees, so here each picture is drawn, and a number stands for the compressed one.
    numbers = itertools.count()
    with monkeypatch.context() as changed:
        changed.setattr(picture, "encode_png", lambda pixels: b"%d" % next(numbers))
        for name, each in explorer.inputs.items():
            for value in each.sweep():
                move(explorer, **{name: value})
        for _ in random_events(explorer, first, seed=4):
            pass
        explorer.set(**defaults(explorer))
        made.clear()
        before = counted_objects()
        for name in random_events(explorer, measured, seed=5):
            assert explorer.error is None, (name, explorer.values)
    explorer.set(**defaults(explorer))
    grown = {kind: count - before[kind] for kind, count in counted_objects().items()}
    assert made == []
    assert grown["artists"] == 0
    # One object left behind by each event would be as many more; caches of others come and go.
    assert grown["objects"] < measured / 2


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_cut_off(name, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        engine, "new_figure", lambda *size: drawn.append(new_figure(*size)) or drawn[0]
    )
    EXPLORERS[name]().png()
    for artist in drawn[0].findobj(lambda each: each.get_animated()):
        artist.set_animated(False)
    assert overhang(drawn[0]) <= 1  # a pixel: half a line's width at the frame


@pytest.mark.parametrize("name", NAMES)
def test_words_of_title_and_controls(name):
    made = EXPLORERS[name]()
    assert isinstance(made, DrawnExplorer)
    assert "?" in made.title, "a title asks what the picture answers"
    for each in made.inputs.values():
        each.check("default", each.default)
        assert re.search(r"[a-z]{4}", each.description), "a description is words, not a letter"


def test_no_error_line_without_an_error(explorer):
    explorer.set(**defaults(explorer))
    assert explorer.error is None and error_line(explorer) is None


# Explorers that move in the browser. What they compute there: tests/explorers/test_in_the_hand.py.

MOST_WORDS = 25
MOST_BYTES = 2_000_000


@pytest.fixture(scope="module", params=LIVE)
def live(request):
    return request.param()


def live_faults(live, values):
    """What is wrong with the state and the caption at these values, in words."""
    state = live.compute(**values)
    words = plain(live.caption(state))
    found = [
        f"{name} is not finite" for name, array in arrays_in(state) if not np.isfinite(array).all()
    ]
    if len(words) < 30 or holds_no_number(words) or len(words.split()) > MOST_WORDS:
        found.append(f"caption: {words}")
    return found


def test_live_each_control(live):
    for name, each in live.inputs.items():
        captions = set()
        for value in each.sweep():
            values = {**defaults(live), name: value}
            assert live_faults(live, values) == [], values
            # A control may act only in a mode that a preset sets.
            for mode in ({}, *live.presets.values()):
                chosen = {**values, **mode, name: value}
                captions.add((str(mode), live.caption(live.compute(**chosen))))
        modes = {mode for mode, _ in captions}
        assert len(captions) > len(modes), f"no word of the caption follows {name}"


def test_live_every_pair_of_values(live):
    for one, other in itertools.combinations(live.inputs, 2):
        for values in itertools.product(*(live.inputs[name].sweep() for name in (one, other))):
            chosen = {**defaults(live), **dict(zip((one, other), values, strict=True))}
            assert live_faults(live, chosen) == [], chosen


def test_live_controls_at_random(live):
    random = Random(1)
    for _ in range(COMBINATIONS):
        values = random_values(live, random)
        assert live_faults(live, values) == [], values
        first = live.compute(**values)
        assert same_state(type(live)().compute(**values), first), "compute must be pure"


def test_live_presets(live):
    states = []
    for label, preset in live.presets.items():
        live.set(**{**defaults(live), **preset})
        assert live_faults(live, live.values) == [], label
        assert not any(same_state(live.state, each) for each in states), (
            f"{label} shows nothing new"
        )
        states.append(live.state)
    assert len(states) >= 3


def test_live_words_of_title_and_controls(live):
    assert "?" in live.title, "a title asks what the picture answers"
    assert len(live.reading) > 40, "how to read it is said"
    for each in live.inputs.values():
        each.check("default", each.default)
        assert re.search(r"[a-z]{4}", each.label), "a label is words, not a letter"


def test_live_bundle(live):
    data, _ = live._repr_mimebundle_()
    assert data["text/plain"] == f"{live.title}\n{live.words}"
    assert set(data) == {"text/plain", "application/vnd.jupyter.widget-view+json"}
    live.close()


def test_live_states_can_be_sent(live):
    assert type(live).view_path().is_file()
    assert len(live.module()) < 100_000
    sent = str(live.page_data()["given"])
    assert len(sent) < MOST_BYTES
    assert encode(fields(live.compute(**defaults(live))))
