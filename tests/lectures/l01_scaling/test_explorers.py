"""Lecture 01's explorers: fair bars, an axis that holds them, weights that are softmax's."""

import json
import math
from functools import cache

import numpy as np
import pytest
import scipy.special

from lectures.l01_scaling.explorers.largest_weight import LargestWeight
from lectures.l01_scaling.explorers.score_width import (
    ALL_EQUAL,
    AS_TAUGHT,
    CAUCHY,
    COINS,
    DISTRIBUTIONS,
    QUERIES,
    TYPICAL,
    WIDTHS,
    ScoreWidth,
)
from tests.explorers.support_browser import InBrowser, cases, differences
from tests.explorers.support_node import run_module
from tests.lectures.l01_scaling.support_vectors import (
    SAMPLES,
    dot_products,
    law,
    of_all,
    of_query,
)

AXIS = 50


@pytest.fixture(scope="module")
def picture():
    with InBrowser(ScoreWidth()) as found:
        yield found


@pytest.fixture(scope="module")
def first_picture():
    with InBrowser(LargestWeight()) as found:
        yield found


def taught(**change):
    return {**AS_TAUGHT, **change}


# Scores and weights


@cache
def samples(coordinates, width, correlation, variance, mean):
    """2,000 scores, not divided: they serve scores and bars."""
    return dot_products(of_all(coordinates), width, correlation, variance, mean).sum(axis=1)


def shown_samples(width, divided, coordinates, query, **shape):
    return samples(coordinates, width, **shape) / (math.sqrt(width) if divided else 1.0)


def expected(width, divided, coordinates, query, **shape):
    divisor = math.sqrt(width) if divided else 1.0
    every = shown_samples(width, divided, coordinates, query, **shape)
    scores = dot_products(of_query(coordinates, query), width, **shape).sum(axis=1) / divisor
    weights = scipy.special.softmax(scores)
    mean, spread = None, None
    if coordinates != CAUCHY:
        mean, spread = (each / divisor for each in law(coordinates, width, **shape))
    return {
        "mean": every.mean(), "spread": every.std(), "law_mean": mean, "law_spread": spread,
        "scores": scores, "weights": weights, "best": scores.argmax(), "largest": weights.max(),
    }  # fmt: skip


def test_scores_are_dot_products(picture):
    assert differences(picture, expected) == []


@pytest.mark.parametrize("coordinates", ["normal", COINS, CAUCHY, ALL_EQUAL])
def test_weights_are_those_of_the_scores(picture, coordinates):
    values = taught(coordinates=coordinates, width=48, query=3, mean=0.3, divided=True)
    shown = picture.compute(**values)
    products = dot_products(of_query(coordinates, 3), 48, mean=0.3) / math.sqrt(48)
    close = {"rtol": 1e-9, "atol": 1e-9 * np.abs(products).sum(1).max()}
    assert np.allclose(shown.scores, products.sum(1), **close)
    assert np.allclose(shown.weights, scipy.special.softmax(shown.scores))
    assert shown.best == np.argmax(shown.weights) and shown.largest == shown.weights.max()


def test_widths_are_asked_in_any_order(picture):
    values = [taught(width=width) for width in (512, 3, 64)]
    with InBrowser(ScoreWidth()) as other:
        again = other.states(values[::-1])[::-1]
    for one, two in zip(picture.states(values), again, strict=True):
        assert np.array_equal(one.scores, two.scores) and np.array_equal(one.heights, two.heights)


def test_the_first_query_shown_is_typical(picture):
    """Its largest weight is near the mean, at several widths, among those that can be chosen."""
    widths = (4, 16, 64, 512)
    asked = [taught(width=width, query=each + 1) for each in range(QUERIES) for width in widths]
    rows = np.reshape([state.largest for state in picture.states(asked)], (QUERIES, len(widths)))
    random = np.random.default_rng(0)
    mean = [
        np.mean([
            scipy.special.softmax(random.normal(size=(64, width)) @ random.normal(size=width)).max()
            for _ in range(300)
        ])
        for width in widths
    ]  # fmt: skip
    assert ((rows - mean) ** 2).sum(1).argmin() == TYPICAL - 1


# Bars


def test_bars_count_the_scores(picture):
    tried = cases(picture.explorer)
    for values, state in zip(tried, picture.states(tried), strict=True):
        every = shown_samples(**values)
        edges = state.start + state.step * np.arange(len(state.heights) + 1)
        counts = np.histogram(every, bins=edges)[0]
        assert np.allclose(state.heights, counts / counts.max()), values
        peak = 0.0
        if state.law_spread:
            peak = SAMPLES * state.step / (state.law_spread * math.sqrt(2 * math.pi))
        assert state.peak == pytest.approx(peak / counts.max()), values


def bars_for(spread, view, lattice):
    """Left edge and width of the bars for a law with mean 0."""
    module = json.dumps(ScoreWidth.compute_path().as_uri())
    call = "barsFor({ mean: 0, spread: told.spread }, told.view, told.lattice)"
    source = f"const {{ barsFor }} = await import({module});\nconsole.log(JSON.stringify({call}));"
    return np.array(run_module(source, {"spread": spread, "view": view, "lattice": lattice}))


@pytest.mark.parametrize("gap", [2.0, 0.25, 2 / 512**0.5])
def test_lattice_fills_bars_evenly(gap):
    lattice, view = gap * np.arange(-37, 38), 7.0
    start, step = bars_for(20 * gap, view, (lattice[-1], gap))
    edges = start + step * np.arange(math.ceil((view - start) / step) + 1)
    assert edges[0] <= -view and edges[-1] >= view
    inside = edges[(edges > lattice[0]) & (edges < lattice[-1])]
    assert len(set(np.histogram(lattice, bins=inside)[0].tolist())) == 1
    # Bars that know nothing of the lattice hold unequal numbers: a comb.
    blind, wide = bars_for(1.7, view, None)
    edges = blind + wide * np.arange(math.ceil((view - blind) / wide) + 1)
    inside = edges[(edges > lattice[0]) & (edges < lattice[-1])]
    assert wide % gap and len(set(np.histogram(lattice, bins=inside)[0].tolist())) > 1


@pytest.mark.parametrize("divided", [False, True])
@pytest.mark.parametrize("width", [1, 64, 512])
@pytest.mark.parametrize(
    "change", [{}, {"correlation": -1.0}, {"mean": 1.0}, {"variance": 4.0}, {"coordinates": COINS}]
)
def test_axis_holds_the_scores(picture, width, change, divided):
    shown = picture.compute(**taught(width=width, divided=divided, **change))
    assert shown.view >= AXIS and shown.heights.max() == 1
    assert abs(shown.law_mean) + 2 * shown.law_spread <= shown.view
    assert shown.start <= -shown.view <= shown.start + shown.step
    ends = shown.start + shown.step * len(shown.heights)
    assert shown.view <= ends < shown.view + shown.step


# The first picture


def largest_expected(width, query):
    rows = np.array([
        scipy.special.softmax(dot_products(of_query("normal", each + 1), width).sum(axis=1))
        for each in range(QUERIES)
    ])  # fmt: skip
    largest = rows.max(axis=1)
    weights = rows[query - 1]
    return {
        "weights": weights, "best": weights.argmax(), "largest": largest, "mean": largest.mean(),
    }  # fmt: skip


def test_weights_of_the_first_picture(first_picture):
    assert differences(first_picture, largest_expected) == []


@pytest.mark.parametrize("width", [4, 64, 512])
def test_both_pictures_show_the_same_query(picture, first_picture, width):
    first = first_picture.compute(width=width, query=3)
    assert np.array_equal(first.weights, picture.compute(**taught(width=width, query=3)).weights)
    assert first.largest[2] == first.weights.max() == first.weights[first.best]
    assert len(set(first.largest.tolist())) == QUERIES, "each query has its own keys"


def test_twelve_queries_show_what_the_lecture_says_of_the_mean(first_picture):
    assert first_picture.compute(width=64).mean == pytest.approx(0.79, abs=0.04)
    assert first_picture.compute(width=4).mean < 0.45
    assert first_picture.compute(width=512, query=2).weights.max() < 0.5, "a close race"


# What Python and JavaScript both name


def test_every_width_and_distribution_of_the_controls_has_samples(picture):
    states = picture.states([taught(width=width) for width in WIDTHS])
    assert len({state.spread for state in states}) == len(WIDTHS)
    states = picture.states([taught(coordinates=name) for name in DISTRIBUTIONS])
    assert len({state.spread for state in states}) == len(DISTRIBUTIONS)
