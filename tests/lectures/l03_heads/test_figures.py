"""Lecture 03's figures: what is drawn, and the words that say it."""

import numpy as np
import pytest
import torch

from course_utils.lectures.l03_heads import figures
from course_utils.training import Training
from tests.support_figures import overhang

VALUES = {
    heads: np.r_[np.linspace(9, 5, 12 // heads), np.full(17 - 12 // heads, 1e-15)]
    for heads in (1, 2, 4)
}
CURVES = {
    "one head": [[0.1, 0.2, 0.4], [0.1, 0.3, 0.7], [0.1, 0.2, 0.5]],
    "two heads": [[0.1, 0.9, 1.0]] * 3,
}
RUNS = {
    name: Training(torch.zeros(3, 0), torch.tensor(curves), (20, 40, 60), [], "", 0.0)
    for name, curves in CURVES.items()
}
SOURCE, TARGET = list("12 March"), ["03", "-", "12"]
WEIGHTS = np.random.default_rng(0).dirichlet(np.ones(8), 3)
CHANGES = np.linspace(1, 72, 72).reshape(6, 12) / 1000
LONG = np.full((19, 23), 1 / 23), ["September"] * 23, ["transformer"] * 19
PICTURES = {
    "singular values": lambda: figures.draw_singular_values(VALUES, 12),
    "runs": lambda: figures.draw_runs(RUNS, "share right"),
    "alignment": lambda: figures.draw_alignment(WEIGHTS, SOURCE, TARGET),
    "long words": lambda: figures.draw_alignment(*LONG),
    "pruning": lambda: figures.draw_pruning(CHANGES, [(3, 1)], "1 − cosine"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_nothing_is_cut_off(name):
    assert overhang(PICTURES[name]().figure) <= 1


def test_singular_values():
    picture = PICTURES["singular values"]()
    axes = picture.figure.axes[0]
    curves, marks = axes.lines[::3], axes.lines[2::3]
    for heads, curve, mark in zip(VALUES, curves, marks, strict=True):
        assert np.allclose(curve.get_ydata(), VALUES[heads] / 9), "relative to the largest"
        assert mark.get_xdata()[0] == 12 // heads, "marked at the width of a head"
        assert mark.get_ydata()[0] == pytest.approx(5 / 9)
    assert (
        "4 heads, 3 numbers wide: value 3 is 0.56 of the largest, the next 1e-16" in picture.words
    )
    full = figures.draw_singular_values({1: np.ones(5)}, 5).words
    assert full.endswith("1 head, 5 numbers wide: value 5 is 1 of the largest.")


def test_runs():
    picture = PICTURES["runs"]()
    axes = picture.figure.axes[0]
    drawn = [line.get_ydata().tolist() for line in axes.lines]
    assert np.allclose(drawn, [curve for curves in CURVES.values() for curve in curves])
    assert [(text.get_text(), round(text.xy[1], 3)) for text in axes.texts] == [
        ("one head", 0.5),
        ("two heads", 1.0),
    ]
    assert "one head, 3 runs, after 60 steps 0.40 to 0.70" in picture.words
    with_levels = figures.draw_runs(RUNS, "share right", {"blind guess": 0.25})
    (level,) = [line for line in with_levels.figure.axes[0].lines if line.get_linestyle() == ":"]
    assert set(level.get_ydata()) == {0.25}
    assert "blind guess: 0.25" in with_levels.words


def test_alignment():
    picture = PICTURES["alignment"]()
    for token, row in zip(TARGET, WEIGHTS, strict=True):
        assert f"“{token}” attends to “{SOURCE[row.argmax()]}” ({row.max():.2f})" in picture.words
    axes = picture.figure.axes[0]
    assert np.array_equal(axes.images[0].get_array(), WEIGHTS)
    assert [label.get_text() for label in axes.get_yticklabels()] == TARGET
    assert [label.get_text() for label in axes.get_xticklabels()] == SOURCE


def test_pruning():
    picture = PICTURES["pruning"]()
    axes = picture.figure.axes[0]
    assert [frame.get_xy() for frame in axes.patches] == [(0.5, 2.5)]
    written = {text.get_position()[::-1]: text.get_text() for text in axes.texts}
    largest = {(5, head): f"{0.061 + head / 1000:.3f}" for head in range(7, 12)}
    assert written == {(3, 1): "0.038", **largest}, "the framed head and the five largest"
    assert "median 0.0365, largest 0.0720 (layer 5, head 11)" in picture.words
    assert "Layer 3, head 1: 0.0380, rank 35 of 72." in picture.words
