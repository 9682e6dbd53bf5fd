"""Lecture 01's explorers: fair bars, an axis that holds them, weights that are softmax's."""

import math

import numpy as np
import pytest
import scipy.special

from lectures.l01_scaling.experiments.score_variance import (
    ALL_EQUAL,
    CAUCHY,
    COINS,
    KEYS,
    QUERIES,
    SAMPLES,
    TYPICAL,
    ScoreLaw,
    counted_coordinates,
    query_seed,
    score_law,
)
from lectures.l01_scaling.explorers.largest_weight import LargestWeight
from lectures.l01_scaling.explorers.score_width import (
    AS_TAUGHT,
    AXIS,
    ScoreWidth,
    bars_for,
)


def state(**change):
    return ScoreWidth(**{**AS_TAUGHT, **change}).state


@pytest.mark.parametrize("gap", [2.0, 0.25, 2 / 512**0.5])
def test_lattice_fills_bars_evenly(gap):
    lattice, view = gap * np.arange(-37, 38), 7.0
    start, step = bars_for(ScoreLaw(0.0, (20 * gap) ** 2), view, (lattice[-1], gap))
    edges = start + step * np.arange(math.ceil((view - start) / step) + 1)
    assert edges[0] <= -view and edges[-1] >= view
    inside = edges[(edges > lattice[0]) & (edges < lattice[-1])]
    assert len(set(np.histogram(lattice, bins=inside)[0].tolist())) == 1
    # Bars that know nothing of the lattice hold unequal numbers: a comb.
    blind, wide = bars_for(ScoreLaw(0.0, 1.7**2), view, None)
    edges = blind + wide * np.arange(math.ceil((view - blind) / wide) + 1)
    inside = edges[(edges > lattice[0]) & (edges < lattice[-1])]
    assert wide % gap and len(set(np.histogram(lattice, bins=inside)[0].tolist())) > 1


@pytest.mark.parametrize("divided", [False, True])
@pytest.mark.parametrize("width", [1, 64, 512])
@pytest.mark.parametrize(
    "change", [{}, {"correlation": -1.0}, {"mean": 1.0}, {"variance": 4.0}, {"coordinates": COINS}]
)
def test_axis_holds_the_scores(width, change, divided):
    shown = state(width=width, divided=divided, **change)
    law = score_law(**{"distribution": "normal", "width": width} | {
        {"coordinates": "distribution"}.get(name, name): value for name, value in change.items()
    }).divided_by(math.sqrt(width) if divided else 1)  # fmt: skip
    assert shown.view >= AXIS and shown.heights.max() == 1
    assert abs(law.mean) + 2 * math.sqrt(law.variance) <= shown.view
    assert shown.start <= -shown.view <= shown.start + shown.step
    ends = shown.start + shown.step * len(shown.heights)
    assert shown.view <= ends < shown.view + shown.step
    assert (shown.law_mean, shown.law_spread) == pytest.approx(
        (law.mean, math.sqrt(law.variance)), abs=1e-12
    )


@pytest.mark.parametrize("coordinates", ["normal", COINS, CAUCHY, ALL_EQUAL])
def test_weights_are_those_of_the_scores(coordinates):
    shown = state(coordinates=coordinates, width=48, query=3, mean=0.3, divided=True)
    a, c = counted_coordinates(coordinates, query_seed(3), KEYS, 48)
    scores = (0.3 + c) @ (0.3 + a[0]) / math.sqrt(48)
    close = {"rtol": 1e-9, "atol": 1e-9 * np.abs((0.3 + c) * (0.3 + a[0])).sum(1).max()}
    assert np.allclose(shown.scores, scores, **close)
    assert np.allclose(shown.weights, scipy.special.softmax(shown.scores))
    assert shown.best == np.argmax(shown.weights) and shown.largest == shown.weights.max()


def test_the_first_query_shown_is_typical():
    """Its largest weight is near the mean, at several widths, among those that can be chosen."""
    rows = np.array([
        [state(width=width, query=query + 1).largest for width in (4, 16, 64, 512)]
        for query in range(QUERIES)
    ])  # fmt: skip
    random = np.random.default_rng(0)
    mean = [
        np.mean([
            scipy.special.softmax(random.normal(size=(64, width)) @ random.normal(size=width)).max()
            for _ in range(300)
        ])
        for width in (4, 16, 64, 512)
    ]  # fmt: skip
    assert ((rows - mean) ** 2).sum(1).argmin() == TYPICAL - 1


def test_predicted_density_fits_the_bars():
    shown = state(width=512)
    middles = shown.start + (np.arange(len(shown.heights)) + 0.5) * shown.step
    density = shown.peak * np.exp(-0.5 * (middles / shown.law_spread) ** 2)
    # A bar of n pairs is good to the square root of n: 5 times that, relative to the tallest.
    pairs = SAMPLES * shown.step / (shown.law_spread * math.sqrt(2 * math.pi)) / shown.peak
    assert np.abs(shown.heights - density).max() < 5 / math.sqrt(pairs)
    assert state(coordinates=CAUCHY).peak == 0 and state(coordinates=CAUCHY).law_spread is None


@pytest.mark.parametrize("width", [4, 64, 512])
def test_both_pictures_show_the_same_query(width):
    first = LargestWeight(width=width, query=3).state
    assert np.allclose(first.weights, state(width=width, query=3).weights, atol=1e-6)
    assert first.largest[2] == first.weights.max() == first.weights[first.best]
    assert len(set(first.largest.tolist())) == QUERIES, "each query has its own keys"


def test_twelve_queries_show_what_the_lecture_says_of_the_mean():
    assert LargestWeight(width=64).state.largest.mean() == pytest.approx(0.79, abs=0.04)
    assert LargestWeight(width=4).state.largest.mean() < 0.45
    assert LargestWeight(width=512, query=2).state.weights.max() < 0.5, "a close race"
