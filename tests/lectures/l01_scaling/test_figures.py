"""Lecture 01's static figures: what is on the axes, and that the words say what is drawn."""

import numpy as np
import pytest

from course_utils.lectures.l01_scaling.figures import draw_head_spreads, draw_lengths, draw_norms
from tests.explorers.support_explorers import overhang

CLOUD = np.random.default_rng(0).normal(size=(11, 3))
CLOUDS = {
    "x": CLOUD,
    "LayerNorm(x)": (CLOUD - CLOUD.mean(1, keepdims=True)) / CLOUD.std(1, keepdims=True),
    "x / |x|": CLOUD / np.linalg.norm(CLOUD, axis=1, keepdims=True),
}
LENGTHS = {"same": np.full(5, 3.0), "spread": np.array([1.0, 2.0, 4.0])}
BEFORE = np.linspace(3.7, 64.0, 72).reshape(6, 12)
AFTER, FRESH = BEFORE / 32**0.5, np.linspace(0.4, 0.2, 72).reshape(6, 12)


@pytest.mark.parametrize(
    "picture",
    [draw_norms(CLOUDS), draw_lengths(LENGTHS), draw_head_spreads(BEFORE, AFTER, FRESH, 32)],
    ids=["norms", "lengths", "spreads"],
)
def test_nothing_is_cut_off(picture):
    assert overhang(picture.figure) <= 1  # a pixel: half a line's width at the frame


def test_norms_show_where_clouds_lie():
    picture = draw_norms(CLOUDS)
    top, side = picture.figure.axes
    _, normed, unit = (points.get_offsets() for points in side.collections)
    assert np.allclose(normed[:, 1], 0, atol=1e-12), "LayerNorm leaves nothing along (1, 1, 1)"
    assert np.allclose(np.hypot(*unit.T), 1)
    radius = np.linalg.norm(top.collections[1].get_offsets(), axis=1)
    assert np.allclose(radius, np.sqrt(3))
    assert "x: of many lengths, in every direction" in picture.words
    assert "LayerNorm(x): all of length 1.73, in the plane" in picture.words
    assert "x / |x|: all of length 1.00, in every direction" in picture.words


def test_norms_allow_for_epsilon():
    # LayerNorm's ε, 1e-5, shortens a vector whose coordinates are nearly equal.
    near = np.array([[0.03, 0.06, 0.1], [3.0, -1.0, 2.0]])
    centred = near - near.mean(axis=1, keepdims=True)
    normed = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    assert np.ptp(np.linalg.norm(normed, axis=1)) > 0.005
    words = draw_norms({"LayerNorm(x)": normed, "x": near, "y": near}).words
    assert "LayerNorm(x): all of length 1.7" in words and "x: of many lengths" in words


def test_lengths_are_relative():
    picture = draw_lengths(LENGTHS)
    same, spread = (line.get_xdata() for line in picture.figure.axes[0].lines[:2])
    assert np.allclose(same, 1) and np.allclose(spread, np.array([3, 6, 12]) / 7)
    assert "same 1.00, spread 4.00" in picture.words


def test_every_head_is_drawn_once():
    picture = draw_head_spreads(BEFORE, AFTER, FRESH, 32)
    axes = picture.figure.axes[0]
    dots = [line for line in axes.lines if line.get_marker() in ("o", "s", "D")]
    heights = np.concatenate([line.get_ydata() for line in dots])
    everything = np.r_[BEFORE.ravel(), AFTER.ravel(), FRESH.ravel()]
    assert np.allclose(np.sort(heights), np.sort(everything))
    assert all((np.diff(line.get_ydata()) >= 0).all() for line in dots), "sorted within a layer"
    low, high = axes.get_ylim()
    assert low < heights.min() and heights.max() < high
    assert "from 0.65 to 11.3 (layer 5, head 11)" in picture.words
    assert "0.20 to 0.40" in picture.words
