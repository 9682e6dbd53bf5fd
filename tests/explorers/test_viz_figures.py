"""Static figures: what is on the axes, and that the words say the numbers that are drawn."""

import numpy as np
import pytest

from course_utils.lectures import EXPLORERS
from course_utils.lectures.l00_start_here import figures as figures_00
from course_utils.lectures.l01_scaling import figures as figures_01
from course_utils.lectures.l01_scaling.explorers.score_variance import (
    AS_TAUGHT,
    VIEW_SCALED,
    VIEW_UNSCALED,
    bin_edges,
)
from tests.explorers.support_explorers import overhang

WEIGHTS = np.array([[0.5, 0.25, 0.25], [0.1, 0.7, 0.2], [0.0, 0.1, 0.9]])
WORDS = ["I", "love", "Transformers"]
SAME = np.array([[0.0, 10.0, 19.0], [0.0, 12.0, 17.0]])
OTHER = np.array([[0.0, 16.0, 27.0], [0.0, 17.0, 29.0], [0.0, 18.0, 31.0]])
CLOUD = np.random.default_rng(0).normal(size=(11, 3))
CLOUDS = {
    "x": CLOUD,
    "LayerNorm(x)": (CLOUD - CLOUD.mean(1, keepdims=True)) / CLOUD.std(1, keepdims=True),
    "x / |x|": CLOUD / np.linalg.norm(CLOUD, axis=1, keepdims=True),
}
LENGTHS = {"same": np.full(5, 3.0), "spread": np.array([1.0, 2.0, 4.0])}
BEFORE = np.linspace(3.7, 64.0, 72).reshape(6, 12)
AFTER, FRESH = BEFORE / 32**0.5, np.linspace(0.4, 0.2, 72).reshape(6, 12)


def maps():
    moved = WEIGHTS[::-1]
    return {"fixed": [WEIGHTS, WEIGHTS], "moving": [WEIGHTS, moved]}


FIGURES = {
    "three words": lambda: figures_00.draw_three_words(WEIGHTS, WORDS),
    "maps": lambda: figures_00.draw_maps(maps(), [WORDS, WORDS], row=2),
    "drift": lambda: figures_00.draw_drift(SAME, OTHER),
    "norms": lambda: figures_01.draw_norms(CLOUDS),
    "lengths": lambda: figures_01.draw_lengths(LENGTHS),
    "spreads": lambda: figures_01.draw_head_spreads(BEFORE, AFTER, FRESH, 32),
}


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_cut_off(name):
    assert overhang(FIGURES[name]()) <= 1  # a pixel: half a line's width at the frame


def test_drift_draws_the_mean_of_each_group():
    axes = figures_00.draw_drift(SAME, OTHER).axes[0]
    drawn = [line.get_ydata().tolist() for line in axes.lines]
    assert drawn == [OTHER.mean(0).tolist(), SAME.mean(0).tolist()]
    words = figures_00.describe_drift(SAME, OTHER)
    assert "two meanings go from 0 to 29" in words and "one meaning from 0 to 18" in words
    assert "below 6 degrees, and the bands never overlap" in words
    touching = figures_00.describe_drift(SAME, OTHER - np.array([0, 5, 0]))
    assert "but the bands overlap" in touching


def test_maps_say_what_the_framed_row_reads():
    words = figures_00.describe_maps(maps(), WORDS, row=2)
    assert "“Transformers” reads" in words and "fixed: nothing changes" in words
    assert "moving: Transformers 0.90 → 0.25, I 0.00 → 0.50, love 0.10 → 0.25" in words
    # The middle row is the same in the mirrored table.
    assert "moving: nothing changes" in figures_00.describe_maps(maps(), WORDS, row=1)


def test_three_words_are_described_by_their_numbers():
    words = figures_00.describe_three_words(WEIGHTS, WORDS)
    assert "I 0.50, love 0.70, Transformers 0.90" in words and "smallest weight is 0.00" in words


def test_norms_show_where_each_cloud_lies():
    top, side = figures_01.draw_norms(CLOUDS).axes
    _, normed, unit = (points.get_offsets() for points in side.collections)
    assert np.allclose(normed[:, 1], 0, atol=1e-12), "LayerNorm leaves nothing along (1, 1, 1)"
    assert np.allclose(np.hypot(*unit.T), 1)
    radius = np.linalg.norm(top.collections[1].get_offsets(), axis=1)
    assert np.allclose(radius, np.sqrt(3))
    words = figures_01.describe_norms(CLOUDS)
    assert "x: of many lengths, in every direction" in words
    assert "LayerNorm(x): all of length 1.73, in the plane" in words
    assert "x / |x|: all of length 1.00, in every direction" in words
    # LayerNorm's ε, 1e-5, shortens a vector whose coordinates are nearly equal.
    near = np.array([[0.03, 0.06, 0.1], [3.0, -1.0, 2.0]])
    centred = near - near.mean(axis=1, keepdims=True)
    normed = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    assert np.ptp(np.linalg.norm(normed, axis=1)) > 0.005
    words = figures_01.describe_norms({"LayerNorm(x)": normed, "x": near, "y": near})
    assert "LayerNorm(x): all of length 1.7" in words and "x: of many lengths" in words


def test_lengths_are_relative_to_their_mean():
    same, spread = (line.get_xdata() for line in figures_01.draw_lengths(LENGTHS).axes[0].lines[:2])
    assert np.allclose(same, 1) and np.allclose(spread, np.array([3, 6, 12]) / 7)
    assert "same 1.00, spread 4.00" in figures_01.describe_lengths(LENGTHS)


def test_every_head_is_drawn_once_and_sorted_within_its_layer():
    axes = FIGURES["spreads"]().axes[0]
    dots = [line for line in axes.lines if line.get_marker() in ("o", "s", "D")]
    heights = np.concatenate([line.get_ydata() for line in dots])
    assert np.allclose(
        np.sort(heights), np.sort(np.r_[BEFORE.ravel(), AFTER.ravel(), FRESH.ravel()])
    )
    assert all((np.diff(line.get_ydata()) >= 0).all() for line in dots)
    low, high = axes.get_ylim()
    assert low < heights.min() and heights.max() < high
    words = figures_01.describe_head_spreads(AFTER, FRESH)
    assert "from 0.65 to 11.3 (layer 5, head 11)" in words and "0.20 to 0.40" in words


@pytest.mark.parametrize("gap", [2.0, 0.25, 2 / 512**0.5])
def test_every_bin_holds_as_many_points_of_a_lattice(gap):
    lattice = gap * np.arange(-37, 38)
    edges = bin_edges(np.repeat(lattice, 3), 7.0)
    assert edges[0] <= -7 and edges[-1] >= 7 and np.allclose(np.diff(edges), edges[1] - edges[0])
    inside = edges[(edges > lattice[0]) & (edges < lattice[-1])]
    held = np.histogram(lattice, bins=inside)[0]
    assert len(set(held.tolist())) == 1
    # Equal bins that know nothing of the lattice hold unequal numbers: a comb.
    assert len(set(np.histogram(lattice, bins=np.linspace(inside[0], inside[-1], 50))[0])) > 1


def test_scores_that_lie_everywhere_get_equal_bins_from_end_to_end():
    edges = bin_edges(np.random.default_rng(0).normal(size=4001), 10.0)
    assert len(edges) == 82 and edges[0] == -10 and edges[-1] == pytest.approx(10)


@pytest.mark.parametrize("width", [1, 64, 512])
@pytest.mark.parametrize("change", [{}, {"correlation": -1.0}, {"mean": 1.0}, {"variance": 4.0}])
def test_the_panels_of_scores_hold_them_at_every_end_of_the_sliders(width, change):
    state = EXPLORERS["explore_score_variance"]().compute(**{**AS_TAUGHT, "width": width, **change})
    for histogram, narrowest in ((state.unscaled, VIEW_UNSCALED), (state.scaled, VIEW_SCALED)):
        assert histogram.outside < 0.01  # three standard deviations leave out 0.3 %
        assert histogram.heights.max() == 1
        assert histogram.view >= narrowest


def test_the_panels_of_scores_keep_their_range_as_long_as_it_serves():
    state = EXPLORERS["explore_score_variance"]().compute(**AS_TAUGHT)
    assert (state.unscaled.view, state.scaled.view) == (VIEW_UNSCALED, VIEW_SCALED)
