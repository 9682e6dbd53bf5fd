"""Lecture 04's figures: what is drawn, and the words that say it."""

import numpy as np
import pytest

from course_utils.lectures.l04_positions import figures
from course_utils.positions import sinusoidal_positions
from tests.explorers.support_explorers import overhang

LENGTHS = np.array([32, 64, 128, 256])
RESULTS = {
    name: np.linspace(start, end, 4) + np.array([[-0.03], [0.0], [0.03]])
    for name, start, end in (
        ("none", 0.5, 0.2),
        ("learned", 0.9, 0.11),
        ("sinusoidal", 0.95, 0.1),
        ("rope", 0.97, 0.35),
        ("rope, interpolated", 0.97, 0.33),
        ("rope, NTK", 0.97, 0.6),
        ("alibi", 0.97, 0.9),
    )
}
TABLE = sinusoidal_positions(31, 14).numpy()
DISTANCES = np.arange(29)[:, None] - np.arange(29)
SCORES = {
    "relative": np.cos(0.3 * DISTANCES),
    "slower": np.cos(0.1 * DISTANCES),
    "mixed": np.cos(0.3 * np.arange(29)[:, None] - 0.1 * np.arange(29)),
}
PICTURES = {
    "extrapolation": lambda: figures.draw_extrapolation(RESULTS, LENGTHS, 64),
    "sinusoids": lambda: figures.draw_sinusoids(TABLE),
    "scores": lambda: figures.draw_relative_scores(SCORES),
}


@pytest.mark.parametrize("name", PICTURES)
def test_nothing_is_cut_off(name):
    assert overhang(PICTURES[name]().figure) <= 1


def test_extrapolation():
    picture = PICTURES["extrapolation"]()
    axes = picture.figure.axes[0]
    lines = [line for line in axes.lines if line.get_marker() not in ("None", None, "")]
    for line, (name, table) in zip(lines, RESULTS.items(), strict=True):
        assert np.allclose(line.get_ydata(), table.mean(0)), name
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == len(RESULTS)
    names = [text for text in axes.texts if text.get_text() in RESULTS]
    assert [text.get_text() for text in names] == list(RESULTS)
    heights = sorted(text.get_position()[1] for text in names)
    assert np.diff(heights).min() >= figures.LABEL_GAP - 1e-9
    for band, table in zip(axes.collections, RESULTS.values(), strict=True):
        edge = band.get_paths()[0].vertices[:, 1]
        assert (edge.min(), edge.max()) == pytest.approx((table.min(), table.max()))
    assert "mean of 3 seeds" in picture.words
    assert "up to 64 tokens. From 64 to 256 tokens" in picture.words
    assert "alibi 0.95 → 0.90 (0.87 to 0.93)" in picture.words


def test_sinusoids():
    picture = PICTURES["sinusoids"]()
    image = picture.figure.axes[0].images[0]
    assert np.array_equal(image.get_array(), TABLE) and image.get_clim() == (-1, 1)
    changes = (np.diff(np.sign(np.cos(np.arange(31)))) != 0).sum()
    assert f"changes its sign {changes} times, the last 0 times" in picture.words


def test_relative_scores_share_one_scale():
    picture = PICTURES["scores"]()
    images = [image for axes in picture.figure.axes for image in axes.images]
    for image, table in zip(images, SCORES.values(), strict=True):
        assert np.array_equal(image.get_array(), table)
        assert image.get_clim() == pytest.approx((-1, 1))
    mixed = max(np.ptp(SCORES["mixed"].diagonal(offset)) for offset in range(-28, 29))
    assert mixed > 1
    assert picture.words.endswith(f"at most: relative: 0; slower: 0; mixed: {mixed:.2g}.")
