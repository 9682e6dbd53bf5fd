"""Signal and noise: both ratios measured against their formulas, and against each other's."""

import math

import pytest
import torch
from torch.nn.functional import cosine_similarity

from course_utils.signal_noise import (
    cosine_variance,
    largest_cosine,
    measure_signal_noise,
    score_ratio,
    share_found,
    vector_energy_ratio,
)

K = 13


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(11)


@pytest.mark.parametrize("width", [17, 53, 401])
def test_the_ratios_are_those_of_the_formulas(width, generator):
    found = measure_signal_noise(K, width, generator)
    assert K in found.score_signal and 0 in found.score_noise
    # 4000 samples: the standard deviation of a deviation is 1.1 %, of sums of squares less.
    assert found.score_ratio == pytest.approx(score_ratio(K, width), rel=0.06)
    assert found.vector_energy == pytest.approx(vector_energy_ratio(K, width), rel=0.06)
    other = K / (width - K)
    assert found.score_ratio != pytest.approx(other, rel=0.3)


def test_four_times_the_noise_halves_the_one_and_quarters_the_other(generator):
    small, large = (measure_signal_noise(K, K + noise, generator) for noise in (100, 400))
    assert small.score_ratio / large.score_ratio == pytest.approx(2, rel=0.08)
    assert small.vector_energy / large.vector_energy == pytest.approx(4, rel=0.08)


def test_the_pairs_are_as_described(generator):
    """The same draws, put together coordinate by coordinate."""
    width, samples = 29, 4000
    q, noise = torch.randn(2, samples, width, generator=torch.Generator().manual_seed(11))
    signal_part = sum(q[:, i] * q[:, i] for i in range(K))
    noise_part = sum(q[:, i] * noise[:, i] for i in range(K, width))
    found = measure_signal_noise(K, width, generator)
    assert found.score_signal.mean == pytest.approx(signal_part.mean().item(), rel=1e-4)
    assert found.score_ratio == pytest.approx(
        (signal_part.mean() / noise_part.std()).item(), rel=1e-4
    )


def test_irrelevant_coordinates_hide_the_key(generator):
    shares = [share_found(K, width, generator) for width in (K, 4 * K, 16 * K, 100 * K)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.9 and shares[-1] < 0.1
    fewer = share_found(K, 16 * K, generator, keys=2)
    assert fewer > shares[2]


@pytest.mark.parametrize("width", [2, 37, 512])
def test_cosines_have_variance_one_over_d(width, generator):
    found = cosine_variance(width, generator, samples=10_000)
    assert 1 / width in found
    assert 1 / (2 * width) not in found and 1 / math.sqrt(width) not in found


def test_the_largest_cosine_is_torchs():
    vectors = torch.randn(7, 11)
    pairs = [(a, b) for a in range(7) for b in range(a)]
    expected = max(abs(cosine_similarity(vectors[a], vectors[b], dim=0)) for a, b in pairs)
    assert largest_cosine(vectors) == pytest.approx(expected.item(), abs=1e-6)
    assert largest_cosine(torch.eye(5)) == 0
    assert largest_cosine(torch.tensor([[1.0, 2.0], [-2.0, -4.0]])) == pytest.approx(1)
