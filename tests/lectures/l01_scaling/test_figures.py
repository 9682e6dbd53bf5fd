"""Lecture 01's static figures: what is on the axes, and that the words say what is drawn."""

import numpy as np
import pytest
import scipy.stats

from course_utils.lectures.l01_scaling.figures import (
    cosine_density,
    draw_head_spreads,
    draw_lengths,
    draw_norms,
    draw_random_cosines,
)
from tests.support_figures import overhang

CLOUD = np.random.default_rng(0).normal(size=(11, 3))
CLOUDS = {
    "x": CLOUD,
    "LayerNorm(x)": (CLOUD - CLOUD.mean(1, keepdims=True)) / CLOUD.std(1, keepdims=True),
    "x / |x|": CLOUD / np.linalg.norm(CLOUD, axis=1, keepdims=True),
}
LENGTHS = {"same": np.full(5, 3.0), "spread": np.array([1.0, 2.0, 4.0])}
BEFORE = np.linspace(3.7, 64.0, 72).reshape(6, 12)
COSINES = {
    d: 2 * np.random.default_rng(d).beta((d - 1) / 2, (d - 1) / 2, 4000) - 1 for d in (2, 64)
}
AFTER, FRESH = BEFORE / 32**0.5, np.linspace(0.4, 0.2, 72).reshape(6, 12)


@pytest.mark.parametrize(
    "picture",
    [
        draw_random_cosines(COSINES),
        draw_norms(CLOUDS),
        draw_lengths(LENGTHS, list("abcde")),
        draw_head_spreads(BEFORE, AFTER, FRESH, 32),
    ],
    ids=["cosines", "norms", "lengths", "spreads"],
)
def test_nothing_is_cut_off(picture):
    assert overhang(picture.figure) <= 1  # a pixel: half a line's width at the frame


@pytest.mark.parametrize("width", [2, 3, 4, 8, 64, 512])
def test_density_is_a_shifted_beta(width):
    # (1 + cos) / 2 of random directions is Beta((d - 1) / 2, (d - 1) / 2).
    law = scipy.stats.beta((width - 1) / 2, (width - 1) / 2, loc=-1, scale=2)
    x = np.linspace(-0.99, 0.99, 199)
    assert np.allclose(cosine_density(x, width), law.pdf(x), rtol=1e-9)
    assert not np.allclose(cosine_density(x, width + 1), law.pdf(x), rtol=1e-2)


def test_cosines_are_drawn_with_their_density():
    picture = draw_random_cosines(COSINES)
    for axes, (width, values) in zip(picture.figure.axes, COSINES.items(), strict=True):
        (bars,) = axes.patches
        heights, edges, _ = bars.get_data()
        assert (heights * np.diff(edges)).sum() == pytest.approx(1)
        line = axes.lines[0]
        inside = np.abs(edges[:-1] + 0.0125) < 0.9
        exact = np.interp(edges[:-1] + 0.0125, line.get_xdata(), line.get_ydata())
        # 4000 pairs: a bar that holds n of them is good to the square root of n.
        error = np.sqrt(exact * 0.025 / 4000) / 0.025
        assert (np.abs(heights - exact) < 5 * error + 0.02 * exact)[inside].all()
        assert f"{width}: spread {values.std():.3f}" in picture.words


def test_norms_show_where_clouds_lie():
    picture = draw_norms(CLOUDS)
    for axes, points in zip(picture.figure.axes, CLOUDS.values(), strict=True):
        (dots,) = [each for each in axes.collections if len(each.get_offsets()) == len(points)]
        assert np.allclose(np.stack(dots._offsets3d, axis=1), points)
    assert len({axes.azim for axes in picture.figure.axes}) == 1, "seen from one side"
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


def test_longest_and_shortest_are_named():
    picture = draw_lengths(LENGTHS, ["tea", "is", "hot", "!", "?"])
    named = {text.get_text(): text.xy[0] for text in picture.figure.axes[0].texts}
    assert named == {"tea": pytest.approx(3 / 7), "hot": pytest.approx(12 / 7)}
    assert "the longest is that of “hot”, the shortest that of “tea”" in picture.words


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
