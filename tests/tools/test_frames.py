"""Frames of explorers: what the live explorer shows, and never too much."""

import io
import itertools
from functools import lru_cache

import numpy as np
import pytest
from PIL import Image

from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Slider, Steps
from course_utils.lectures import EXPLORERS
from tests.explorers.support_explorers import Toy
from tools.site.film import value_text, write_frames
from tools.site.frames import export_frames


class Played(Toy):
    frames = ("slope", "paper")
    scenes = {
        "steep": {"slope": 9},
        "lined": {"slope": 5, "paper": "lined", "shift": 0.0},
        "shifted": {"slope": 1, "shift": 0.5},
        "between two steps": {"shift": 0.123, "name": ""},
    }


class Long(Toy):
    """Two numbers of many values, one of them an author's list."""

    inputs = {
        "slope": Slider("slope", 0, 1000, 1, 321),
        "shift": Steps("shift", tuple(float(2**power) for power in range(12)), 8.0),
        "paper": Toy.inputs["paper"],
        "name": Toy.inputs["name"],
    }
    frames = ("slope", "shift")
    scenes = {"a sight": {"slope": 777, "shift": 128.0}}


def pixels(encoded):
    with Image.open(io.BytesIO(encoded)) as picture:
        return np.asarray(picture.convert("RGB"))


def values_of(film, place):
    return {each.name: each.values[i] for each, i in zip(film.stops, place, strict=True)}


def places(film):
    return itertools.product(*(range(len(each.values)) for each in film.stops))


def differing(film, explorer):
    """The places whose frame is not what the live explorer shows there, pixel for pixel."""
    found = []
    for place, frame in zip(places(film), film.frames, strict=True):
        explorer.set(**values_of(film, place))
        same = np.array_equal(pixels(frame.picture), pixels(explorer.png()))
        if not same or frame.words != explorer.words:
            found.append(place)
    return found


@lru_cache(maxsize=1)  # no test changes it
def toy_film():
    return export_frames(Played())


@pytest.mark.parametrize(
    "name", [name for name, made in EXPLORERS.items() if issubclass(made, DrawnExplorer)]
)
def test_every_explorer_names_its_frames(name):
    explorer = EXPLORERS[name]()
    controls = [explorer.inputs[each] for each in explorer.frames]
    assert len(controls) in (1, 2)
    assert all(isinstance(each, Slider | Steps) for each in controls)


def test_frames_are_what_the_live_explorer_shows():
    film = toy_film()
    assert len(film.frames) == 11 * 2
    assert differing(film, Played()) == []


def test_the_film_starts_where_the_explorer_stands():
    standing = {"slope": 7, "paper": "lined", "shift": 0.3}
    film = export_frames(Played(**standing))
    start = tuple(each.start for each in film.stops)
    assert values_of(film, start) == {"slope": 7, "paper": "lined"}
    assert np.array_equal(pixels(film.start.picture), pixels(Played(**standing).png()))


def test_every_scene_is_a_button():
    film = toy_film()
    assert list(film.scenes) == list(Played.scenes)
    assert values_of(film, film.scenes["lined"].at) == {"slope": 5, "paper": "lined"}
    assert film.scenes["steep"].at == (9, None)  # it says nothing of the paper
    assert [film.scenes[each].frame for each in ("lined", "steep")] == [None, None]


@pytest.mark.parametrize(
    "label, also", [("shifted", ("shift: 0.5",)), ("between two steps", ("shift: 0.123",))]
)
def test_scene_with_a_frame_of_its_own(label, also):
    film, explorer = toy_film(), Played()
    scene = film.scenes[label]
    explorer.set(**Played.scenes[label])
    assert np.array_equal(pixels(scene.frame.picture), pixels(explorer.png()))
    assert (scene.frame.words, scene.also) == (explorer.words, also)
    shown = {name: explorer.values[name] for name in Played.frames}
    assert values_of(film, scene.at) == shown, "the sliders stand elsewhere than the picture"


@pytest.mark.parametrize("most", [8, 30, 60])
def test_thinning_keeps_ends_start_and_scenes(most):
    film = export_frames(Long(), most_frames=most)
    slope, shift = film.stops
    assert {0, 321, 777, 1000} <= set(slope.values)
    assert {1.0, 8.0, 128.0, 2048.0} <= set(shift.values)
    assert len(film.frames) <= max(most, 5 * 5)  # five stops of each stay, whatever is asked
    assert list(slope.values) == sorted(slope.values)
    assert film.stops[1].values[film.stops[1].start] == 8.0
    assert max(np.diff(slope.values)) <= 2.5 * 1000 / len(slope.values), "about evenly"
    if most == 60:  # the slider gives way before the author's list does
        assert (len(slope.values), len(shift.values)) == (5, 12)


def test_stops_without_news_are_left_out():
    class Flat(Played):
        scenes = {}

        def compute(self, slope, **values):
            return super().compute(slope=min(slope, 4), **values)

    film = export_frames(Flat())
    assert film.stops[0].values == (0, 1, 2, 3, 4, 10)
    assert differing(film, Flat()) == []


def test_the_bytes_are_bounded():
    whole = export_frames(Long(), most_frames=36)
    bound = whole.total_bytes * 3 // 4
    film = export_frames(Long(), most_frames=36, most_bytes=bound)
    assert film.total_bytes <= bound < whole.total_bytes
    assert film.stops[0].values[0] == 0 and film.stops[0].values[-1] == 1000
    with pytest.raises(ValueError, match=r"^most_bytes \(1000\) must hold the 25 frames of Long"):
        export_frames(Long(), most_bytes=1000)


def test_equal_pictures_are_one_file(tmp_path):
    class Still(Played):
        scenes = {}

        def compute(self, **values):
            return super().compute(**{**values, "slope": 3})

        def caption(self, state):
            return f"One of two: {state.paper}."

    film = export_frames(Still(), most_frames=4)
    page = write_frames(film, tmp_path)
    names = {name for name, _ in page["frames"]}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert len(names) == 2 < len(page["frames"])
    assert film.total_bytes == sum(path.stat().st_size for path in tmp_path.iterdir())


def test_what_a_page_is_told(tmp_path):
    page = write_frames(toy_film(), tmp_path)
    assert page["controls"] == [
        {"label": "slope", "form": "slider", "texts": [str(i) for i in range(11)], "start": 3},
        {"label": "paper", "form": "list", "texts": ["plain", "lined"], "start": 0},
    ]
    assert page["scenes"] == [
        {"label": "steep", "at": [9, None], "frame": None, "also": []},
        {"label": "lined", "at": [5, 1], "frame": None, "also": []},
        {"label": "shifted", "at": [1, 0], "frame": 22, "also": ["shift: 0.5"]},
        {"label": "between two steps", "at": [3, 0], "frame": 23, "also": ["shift: 0.123"]},
    ]
    assert page["others"] == ["shift", "name"]
    for scene in page["scenes"][2:]:
        name, words = page["frames"][scene["frame"]]
        frame = toy_film().scenes[scene["label"]].frame
        assert ((tmp_path / name).read_bytes(), words) == (frame.picture, frame.words)
    name, words = page["frames"][5 * 2 + 1]  # slope 5, lined
    explorer = Played(slope=5, paper="lined")
    assert words == explorer.words
    assert np.array_equal(pixels((tmp_path / name).read_bytes()), pixels(explorer.png()))


def test_values_as_text():
    assert [value_text(each) for each in (-0.75, 1e6, 1048576, "all", 0)] == [
        "−0.75", "1e+06", "1,048,576", "all", "0",
    ]  # fmt: skip
    assert value_text(-3) == "−3"
