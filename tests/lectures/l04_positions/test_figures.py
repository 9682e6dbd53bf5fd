"""Lecture 04's figures: what is drawn, and the words that say it."""

import numpy as np
import pytest

from course_utils.lectures.l04_positions import figures
from course_utils.positions import sinusoidal_positions
from tests.support_figures import overhang

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
    table = sinusoidal_positions(640, 14).numpy()
    picture = figures.draw_sinusoids(table)
    fast, slow = (axes.images[0] for axes in picture.figure.axes[:2])
    assert np.array_equal(fast.get_array(), table[:64, :6]) and fast.get_clim() == (-1, 1)
    assert np.array_equal(slow.get_array(), table[::10, 6:]) and slow.get_clim() == (-1, 1)
    changes = (np.diff(np.sign(np.cos(np.arange(64)))) != 0).sum()
    late = (np.diff(np.sign(np.cos(np.arange(640) * 1e4 ** (-12 / 14)))) != 0).sum()
    assert f"first cosine changes its sign {changes} times" in picture.words
    assert f"over all 640 positions, where the last cosine changes its sign {late} times" in (
        picture.words
    )
    assert picture.figure.axes[1].get_yticks().tolist() == [0, 160, 320, 480]


def test_relative_scores_share_one_scale():
    picture = PICTURES["scores"]()
    images = [image for axes in picture.figure.axes for image in axes.images]
    for image, table in zip(images, SCORES.values(), strict=True):
        assert np.array_equal(image.get_array(), table)
        assert image.get_clim() == pytest.approx((-1, 1))
    mixed = max(np.ptp(SCORES["mixed"].diagonal(offset)) for offset in range(-28, 29))
    assert mixed > 1
    assert picture.words.endswith(f"at most: relative: 0; slower: 0; mixed: {mixed:.2g}.")
