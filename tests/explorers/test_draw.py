"""Heat maps and labels, against matplotlib's own artists and plain arithmetic."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from course_utils.explorers.draw import (
    HeatMap,
    draw_weights,
    drawable,
    label_tokens,
)
from course_utils.explorers.style import MAGNITUDE_MAP, new_figure


def pixels_of(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].astype(int)


def whole_axes(width=3.0, height=2.0):
    figure = new_figure(width, height)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    return figure, axes


def test_heat_map_agrees_with_imshow():
    matrix = np.random.default_rng(0).random((5, 7))
    ours, axes = whole_axes()
    HeatMap(axes).set_data(matrix)
    theirs, other = whole_axes()
    other.imshow(matrix, cmap=MAGNITUDE_MAP, vmin=0, vmax=1, interpolation="nearest", aspect="auto")
    difference = np.abs(pixels_of(ours) - pixels_of(theirs)).max(axis=2)
    # A colour table of 256 may round to the neighbouring entry; a square's edge may sit one
    # pixel off. A flipped or transposed matrix differs nearly everywhere.
    assert (difference > 6).mean() < 0.02
    HeatMap(axes).set_data(matrix[::-1])
    flipped = np.abs(pixels_of(ours) - pixels_of(theirs)).max(axis=2)
    assert (flipped > 6).mean() > 0.5


def test_heat_map_clips_beyond_its_ends():
    figure, axes = whole_axes()
    heat = HeatMap(axes, low=-1.0, high=1.0)
    heat.set_data(np.array([[-5.0, 5.0]]))
    beyond = pixels_of(figure)
    heat.set_data(np.array([[-1.0, 1.0]]))
    assert np.array_equal(beyond, pixels_of(figure))


def test_letters_the_font_lacks_become_boxes():
    assert drawable("naïve Ωж") == "naïve Ωж"
    assert drawable("茶🙂") == "□□"


def test_token_labels_are_never_read_as_mathematics():
    figure, axes = whole_axes()
    label_tokens(axes, ["$", "x_1", "$"])
    axes.set_axis_on()
    pixels_of(figure)
    assert [label.get_parse_math() for label in axes.get_yticklabels()] == [False] * 3


@pytest.mark.parametrize("count", [1, 2, 16, 31, 64, 97])
def test_labels_are_legible_and_do_not_touch(count):
    _, axes = whole_axes(3.0, 3.0)
    label_tokens(axes, ["w"] * count)
    places = axes.get_yticks()
    size = axes.get_yticklabels()[0].get_fontsize()
    distance = 3.0 * 72 / count * (places[1] - places[0] if len(places) > 1 else count)
    assert 7.5 <= size <= 11 and size <= 0.81 * distance
    assert places[0] == 0 and len(places) >= min(count, 13)


def test_weights_are_written_in_their_squares():
    figure = new_figure()
    axes = figure.add_subplot()
    draw_weights(axes, np.array([[0.25, 0.75]]), ["a"], ["b", "c"])
    assert [text.get_text() for text in axes.texts] == ["0.25", "0.75"]
