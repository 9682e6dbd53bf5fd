"""Heat maps and labels of plain figures, against plain arithmetic."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from course_utils.explorers.draw import drawable, heat_map, label_tokens
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


def test_heat_map_has_the_first_row_on_top_and_clips():
    matrix = np.array([[-5.0, 0.0, 0.5], [1.0, 7.0, 0.25]])
    figure, axes = whole_axes()
    heat_map(axes, matrix)
    pixels = pixels_of(figure)
    height, width = pixels.shape[:2]
    rows, columns = (np.arange(2) + 0.5) / 2 * height, (np.arange(3) + 0.5) / 3 * width
    found = pixels[rows.astype(int)[:, None], columns.astype(int)]
    expected = 255 * np.asarray(MAGNITUDE_MAP(matrix.clip(0, 1)))[..., :3]
    assert np.abs(found - expected).max() < 3  # a table of 256 colours rounds


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
