"""Charts that several lectures draw: what is on the axes, and that the words say its numbers."""

import numpy as np
import pytest

from course_utils.explorers.charts import draw_cache_times, draw_learning_curves, draw_losses
from tests.support_figures import overhang

RUNS = np.random.default_rng(0).uniform(0.5, 2, size=(3, 40))
CURVES = {"scaled": 0.1 * RUNS, "unscaled": RUNS}
PANELS = {"SGD": CURVES, "Adam": CURVES}
CHANCE = float(np.log(8))

LENGTHS = np.array([16.0, 64.0, 256.0])
WITH = np.array([[0.010, 0.010, 0.012], [0.011, 0.010, 0.010], [0.010, 0.011, 0.011]])
WITHOUT = np.array([[0.012, 0.030, 0.220], [0.011, 0.020, 0.240]])

LOSSES = {"causal": np.full((3, 40), 2.45), "off by one": np.linspace([2.5] * 3, [0.2] * 3, 40).T}
FLOOR = (float(np.log(11)), "ln 11: no model can go below")

CHARTS = {
    "two panels": lambda: draw_learning_curves(PANELS, CHANCE),
    "five panels": lambda: draw_learning_curves({f"d_k = {n}": CURVES for n in range(5)}, CHANCE),
    "eight panels": lambda: draw_learning_curves({f"SGD, {n}": CURVES for n in range(8)}, CHANCE),
    "losses": lambda: draw_losses(LOSSES, *FLOOR),
    "times": lambda: draw_cache_times(LENGTHS, WITH, WITHOUT),
}


@pytest.mark.parametrize("name", CHARTS)
def test_nothing_is_cut_off(name):
    assert overhang(CHARTS[name]().figure) <= 1


def test_curves_are_medians_in_bands():
    picture = draw_learning_curves(PANELS, CHANCE, window=4)
    axes = picture.figure.axes[0]
    scaled, unscaled = (line for line in axes.lines if not line.get_label().startswith("_"))
    smooth = np.array([[run[i : i + 4].mean() for i in range(37)] for run in RUNS])
    assert unscaled.get_xdata().tolist() == list(range(4, 41))
    assert np.allclose(unscaled.get_ydata(), np.median(smooth, axis=0))
    assert np.allclose(scaled.get_ydata(), 0.1 * np.median(smooth, axis=0))
    band = axes.collections[1].get_paths()[0].vertices
    at_first = band[band[:, 0] == 4][:, 1]
    assert at_first.min() == pytest.approx(smooth[:, 0].min())
    assert at_first.max() == pytest.approx(smooth[:, 0].max())
    ends = smooth[:, -1]
    last = f"unscaled {np.median(ends):.2f} ({ends.min():.2f} to {ends.max():.2f})"
    assert last in picture.words
    assert "median of 3 runs" in picture.words and "guessing gives 2.08" in picture.words


def test_each_curve_is_named_where_it_is_alone():
    """In the panel where the curves are farthest apart, each in its colour, next to its line."""
    near = {"scaled": 0.99 * RUNS, "unscaled": RUNS}
    picture = draw_learning_curves({"near": near, "far": CURVES}, CHANCE, window=4)
    first, second = picture.figure.axes
    assert [text.get_text() for text in first.texts] == ["guessing"] and not picture.figure.legends
    for text, line in zip(second.texts, second.lines, strict=False):
        assert text.get_text() == line.get_label() and text.get_color() == line.get_color()
        step, loss = text.xy
        assert np.interp(step, line.get_xdata(), line.get_ydata()) == pytest.approx(loss)


def test_losses_are_held_to_the_floor():
    picture = draw_losses(LOSSES, *FLOOR)
    lines = picture.figure.axes[0].lines[1:]
    assert [line.get_ydata()[-1] for line in lines] == pytest.approx([2.45, 0.2])
    assert "causal at 2.450 to 2.450, above it" in picture.words
    assert "off by one at 0.229 to 0.229, below it" in picture.words
    assert "Loss over 40 steps, 3 runs each" in picture.words
    around = {"a": np.array([[2.3] * 40, [2.5] * 40])}
    assert "a at 2.300 to 2.500, at it" in draw_losses(around, *FLOOR).words


def test_times_are_medians_words_ratios():
    picture = draw_cache_times(LENGTHS, WITH, WITHOUT)
    drawn = [line.get_ydata().tolist() for line in picture.figure.axes[0].lines]
    assert drawn == [pytest.approx([11.5, 25, 230]), pytest.approx([10, 10, 11])]
    expected = "1.1 times as long as with one at 16 tokens, 21 times at 256"
    assert expected in picture.words
    assert "takes 1.1 times as long as the shortest's" in picture.words
    assert "21 times\nas long" in [text.get_text() for text in picture.figure.axes[0].texts]
