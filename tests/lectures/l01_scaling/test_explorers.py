"""Lecture 01's histograms of scores: fair bins, and panels that hold what is drawn."""

import numpy as np
import pytest

from course_utils.lectures.l01_scaling.explorers.score_variance import (
    AS_TAUGHT,
    VIEW_SCALED,
    VIEW_UNSCALED,
    ScoreVariance,
    bin_edges,
)


@pytest.mark.parametrize("gap", [2.0, 0.25, 2 / 512**0.5])
def test_lattice_fills_bins_evenly(gap):
    lattice = gap * np.arange(-37, 38)
    edges = bin_edges(np.repeat(lattice, 3), 7.0)
    assert edges[0] <= -7 and edges[-1] >= 7 and np.allclose(np.diff(edges), edges[1] - edges[0])
    inside = edges[(edges > lattice[0]) & (edges < lattice[-1])]
    assert len(set(np.histogram(lattice, bins=inside)[0].tolist())) == 1
    # Equal bins that know nothing of the lattice hold unequal numbers: a comb.
    assert len(set(np.histogram(lattice, bins=np.linspace(inside[0], inside[-1], 50))[0])) > 1


def test_continuous_scores_get_equal_bins():
    edges = bin_edges(np.random.default_rng(0).normal(size=4001), 10.0)
    assert len(edges) == 82 and edges[0] == -10 and edges[-1] == pytest.approx(10)


@pytest.mark.parametrize("width", [1, 64, 512])
@pytest.mark.parametrize("change", [{}, {"correlation": -1.0}, {"mean": 1.0}, {"variance": 4.0}])
def test_panels_hold_the_scores(width, change):
    state = ScoreVariance().compute(**{**AS_TAUGHT, "width": width, **change})
    for histogram, narrowest in ((state.unscaled, VIEW_UNSCALED), (state.scaled, VIEW_SCALED)):
        assert histogram.outside < 0.01  # three standard deviations leave out 0.3 %
        assert histogram.heights.max() == 1
        assert histogram.view >= narrowest


def test_panels_keep_their_range():
    state = ScoreVariance().compute(**AS_TAUGHT)
    assert (state.unscaled.view, state.scaled.view) == (VIEW_UNSCALED, VIEW_SCALED)
