"""`show`: the picture, its words under it, and nothing registered with pyplot."""

import base64
import io

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from PIL import Image
from support_errors import refuses
from traitlets.config import Config

from course_utils.viz import show
from course_utils.viz.style import RC, course_style, new_figure

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


def shown(figure, alt):
    with capture_output() as captured:
        result = show(figure, alt=alt)
    assert result is None, "a returned figure would be shown twice"
    (output,) = captured.outputs
    return output, captured.stdout


def test_picture_and_words():
    output, printed = shown(line_figure(), WORDS)
    with Image.open(io.BytesIO(base64.b64decode(output.data["image/png"]))) as image:
        assert image.size == (300, 200)
        assert len(np.unique(np.asarray(image))) > 2, "the picture is blank"
    assert output.metadata["image/png"]["alt"] == WORDS
    assert " ".join(printed.split()) == WORDS.strip()
    assert max(map(len, printed.splitlines())) <= 96
    assert output.data["text/plain"] == printed.rstrip("\n")


def test_another_figure_gives_another_picture_and_the_same_one_the_same():
    first, _ = shown(line_figure(), "a line")
    again, _ = shown(line_figure(), "a line")
    other = line_figure()
    other.axes[0].lines[0].set_color("black")
    assert first.data["image/png"] == again.data["image/png"]
    assert first.data["image/png"] != shown(other, "a line")[0].data["image/png"]


def test_bad_input():
    with refuses(TypeError, "figure must be a matplotlib Figure; got ndarray"):
        show(np.zeros(3), alt="zeros")
    for alt in ("", " \n "):
        with refuses(ValueError, "alt must say in words what the figure shows; got an empty text"):
            show(line_figure(), alt=alt)


def test_the_style_ends_with_its_block():
    import matplotlib

    before = {name: matplotlib.rcParams[name] for name in RC}
    with pytest.raises(ZeroDivisionError), course_style():
        assert matplotlib.rcParams["font.size"] == RC["font.size"]
        raise ZeroDivisionError
    new_figure()
    assert {name: matplotlib.rcParams[name] for name in RC} == before
    assert before["lines.linewidth"] != RC["lines.linewidth"]
