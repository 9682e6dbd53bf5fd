"""`show`: the picture, its words under it, and nothing registered with pyplot."""

import base64
import html
import io
import re

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from PIL import Image
from traitlets.config import Config

from course_utils.explorers import show
from course_utils.explorers.draw import heat_map
from course_utils.explorers.show import AnnotatedFigure, folded, sharp_png
from course_utils.explorers.style import RC, course_style, new_figure

WORDS = "A line that rises from 0 to 1. " + "It is blue and drawn on white. " * 5


@pytest.fixture(scope="module", autouse=True)
def shell():
    """`display` hands a picture to a shell; in a notebook there always is one."""
    yield InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    InteractiveShell.clear_instance()


def line_figure(width=3.0, height=2.0):
    figure = new_figure(width, height)
    figure.add_subplot().plot([0, 1], [0, 1])
    return figure


def shown(figure, words):
    with capture_output() as captured:
        result = show(AnnotatedFigure(figure, words))
    assert result is None, "a returned figure would be shown twice"
    assert captured.stdout == captured.stderr == ""
    on_page = {"width": 300, "height": 200, "alt": words}
    assert captured.outputs[0].metadata == {"image/png": on_page, "needs_background": "light"}
    return [output.data for output in captured.outputs]


def test_picture_and_words():
    picture, words = shown(line_figure(), WORDS)
    with Image.open(io.BytesIO(base64.b64decode(picture["image/png"]))) as image:
        assert image.size == (600, 400), "two pixels for each of the page's"
        assert len(np.unique(np.asarray(image))) > 2, "the picture is blank"
    assert WORDS in picture["text/plain"]
    assert words["text/plain"] == WORDS
    in_sight, *folded_up = re.findall(r"<p [^>]*>([^<]+)</p>", words["text/html"])
    assert html.unescape(" ".join([in_sight, *folded_up])).split() == WORDS.split()
    assert in_sight.startswith("A line that rises") and len(in_sight.split()) <= 25


@pytest.mark.parametrize(
    ("caption", "first"),
    [
        ("A short one. Of two sentences.", "A short one. Of two sentences."),
        ("Shares. " + "0.12 " * 25 + "at most.", "Shares."),
        ("Median of 7 runs: " + "naive 2.31 (2.2 to 2.5), " * 9 + "tiled 1.", "Median of 7 runs:"),
        ("Is it so? " + "Each is 0.5. " * 9, "Is it so?" + " Each is 0.5." * 7),
    ],
)
def test_what_is_in_sight_is_one_idea(caption, first):
    assert folded(caption.strip()) == (first, caption.removeprefix(first).strip())


def test_words_are_text_and_never_markup():
    _, words = shown(line_figure(), "a < b & c > d, $x_1$ and *stars*")
    assert "a &lt; b &amp; c &gt; d, $x_1$ and *stars*" in words["text/html"]


# What readers have in their own matplotlibrc, or a cell above.
OF_READERS = [
    {"image.origin": "lower", "image.cmap": "jet", "image.interpolation": "bilinear"},
    {"text.usetex": True},
    {"xtick.bottom": False, "ytick.labelleft": False, "axes.grid": True, "lines.linestyle": ":"},
    {"figure.constrained_layout.use": True, "axes.xmargin": 0.4, "figure.subplot.left": 0.4},
    "dark_background",
    "Solarize_Light2",
]


@pytest.mark.parametrize("own", OF_READERS, ids=str)
def test_a_figure_is_the_same_whatever_the_reader_has_set(own):
    from matplotlib import rc_context, rcParams, style

    def picture():
        figure = new_figure(3.0, 2.0)
        with course_style():
            left, right = figure.subplots(1, 2)
            heat_map(left, np.arange(6).reshape(2, 3) / 6)
            right.plot([0.5, 1, 0.25], label="curve")
            right.set_title("$x_1$ of it")
            right.legend()
        return sharp_png(figure)

    expected = picture()
    with rc_context():
        style.use(own)
        before = dict(rcParams)
        assert picture() == expected
        assert dict(rcParams) == before


def test_the_style_ends_with_its_block():
    import matplotlib

    before = {name: matplotlib.rcParams[name] for name in RC}
    with pytest.raises(ZeroDivisionError), course_style():
        assert matplotlib.rcParams["font.size"] == RC["font.size"]
        raise ZeroDivisionError
    new_figure()
    assert {name: matplotlib.rcParams[name] for name in RC} == before
    assert before["font.size"] != RC["font.size"]
