"""Small explorers to try the engine on, and what its tests look at."""

import asyncio
import base64
import dataclasses
import gc
import html
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

import ipywidgets
import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg

from course_utils.explorers import drawn as engine
from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Choice, FreeText, Slider

PAPERS = ("plain", "lined")


@dataclass(frozen=True)
class LineState:
    x: np.ndarray
    y: np.ndarray
    slope: int
    paper: str
    name: str


class Toy(DrawnExplorer):
    """A line and a dot over one of two papers. `calls` counts what the engine asked for."""

    title = "What does a slope < 5 do?"
    inputs = {
        "slope": Slider("slope", 0, 10, 1, 3),
        "shift": Slider("shift", -1.0, 1.0, 0.1, 0.0),
        "paper": Choice("paper", PAPERS, "plain"),
        "name": FreeText("name", ""),
    }
    scenes = {"steep": {"slope": 10, "shift": 0.5}, "flat": {"slope": 0}}
    size = (3.0, 2.0)

    def __init__(self, **values):
        self.calls = Counter()
        super().__init__(**values)

    def prepare(self):
        self.calls["prepare"] += 1

    def compute(self, slope, shift, paper, name):
        self.calls["compute"] += 1
        x = np.linspace(-1, 1, 11)
        return LineState(x, slope * x + shift, slope, paper, name)

    def draw(self, figure, state):
        self.calls["draw"] += 1
        self._axes = figure.add_axes((0.2, 0.2, 0.7, 0.7), xlim=(-2, 2), ylim=(-12, 12))
        (self._line,) = self._axes.plot([], [])
        (self._dot,) = self._axes.plot([], [], "o")
        self.animate(self._line, self._dot)

    def backdrop(self, state):
        return state.paper

    def draw_backdrop(self, state):
        self.calls["draw_backdrop"] += 1
        self._axes.set_title(state.paper)
        self._axes.set_xlim(-2, 3 if state.paper == "lined" else 2)

    def update(self, state):
        self.calls["update"] += 1
        self._line.set_data(state.x, state.y)
        self._dot.set_data(state.x[-1:], state.y[-1:])

    def caption(self, state):
        return f"The line rises by {state.slope}, {state.name} & on."


def move(explorer, **values):
    """Move controls as a hand would: one event each, no check of ours in between."""
    for name, value in values.items():
        explorer.controls[name].value = value


def parts(explorer, kind):
    """All widgets of one kind inside an explorer's box, from top to bottom."""
    found, waiting = [], [explorer.widget()]
    while waiting:
        widget = waiting.pop(0)
        if isinstance(widget, kind):
            found.append(widget)
        waiting = [*getattr(widget, "children", ()), *waiting]
    return found


def image_of(explorer):
    """The widget that holds the picture, an <img> with its alternative text."""
    (image,) = (w for w in parts(explorer, ipywidgets.HTML) if "<img" in w.value)
    return image


def shown_png(explorer):
    """The bytes that a browser would decode."""
    (data,) = re.findall(r'src="data:image/png;base64,([^"]+)"', image_of(explorer).value)
    return base64.b64decode(data)


def sharpened(explorer):
    """The bytes that a browser would decode, once the hand has rested after an event."""

    async def rest():
        explorer.set()
        await asyncio.sleep(engine.REST + 0.01)

    asyncio.run(rest())
    return shown_png(explorer)


def alternative_text(explorer):
    (words,) = re.findall(r'<img [^>]*alt="([^"]*)"', image_of(explorer).value)
    return html.unescape(words)


def words_widget(explorer, css_class):
    (widget,) = (w for w in parts(explorer, ipywidgets.HTML) if css_class in w._dom_classes)
    return widget


def error_line(explorer):
    """The sentence under the controls as HTML, or None while it is hidden."""
    widget = words_widget(explorer, "course-error")
    return None if widget.layout.display == "none" else widget.value


def press(explorer, label):
    (button,) = (b for b in parts(explorer, ipywidgets.Button) if b.description == label)
    button.click()


def arrays_in(value, name="state"):
    """Every array and number in a frozen dataclass, with the path to it."""
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from arrays_in(getattr(value, field.name), f"{name}.{field.name}")
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from arrays_in(each, f"{name}[{key!r}]")
    elif isinstance(value, (tuple, list)):
        for i, each in enumerate(value):
            yield from arrays_in(each, f"{name}[{i}]")
    elif isinstance(value, (int, float, np.ndarray, np.generic)):
        yield name, np.asarray(value)
    else:
        assert value is None or isinstance(value, str), f"{name} is a {type(value).__name__}"


def texts_in(value):
    """Every text in a state; with `arrays_in`, all that a state may hold."""
    if dataclasses.is_dataclass(value):
        return [t for f in dataclasses.fields(value) for t in texts_in(getattr(value, f.name))]
    if isinstance(value, (tuple, list)):
        return [text for each in value for text in texts_in(each)]
    return [value] if value is None or isinstance(value, str) else []


def same_state(one, other):
    """Whether two states hold the same arrays, numbers and texts, bit for bit."""
    first, second = dict(arrays_in(one)), dict(arrays_in(other))
    return (
        type(one) is type(other)
        and first.keys() == second.keys()
        and all(np.array_equal(first[name], second[name]) for name in first)
        and texts_in(one) == texts_in(other)
    )


def random_events(explorer, count, seed):
    """Move one control at a time at random; yields after each event."""
    random = Random(seed)
    for _ in range(count):
        name = random.choice(list(explorer.inputs))
        move(explorer, **{name: explorer.inputs[name].sample(random)})
        yield name


def counted_objects():
    """How many objects are alive: all that the collector sees, and matplotlib's artists."""
    gc.collect()
    alive = gc.get_objects()
    # Asking an object itself for its class wakes the deprecation warnings of some.
    artists = sum(issubclass(type(each), Artist) for each in alive)
    return {"objects": len(alive), "artists": artists}


def overhang(figure):
    """How far, in pixels, what is drawn reaches beyond the figure's edge."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer, edge = canvas.get_renderer(), figure.bbox
    boxes = [axes.get_tightbbox(renderer) for axes in figure.axes]
    return max(
        max(edge.x0 - box.x0, box.x1 - edge.x1, edge.y0 - box.y0, box.y1 - edge.y1) for box in boxes
    )
