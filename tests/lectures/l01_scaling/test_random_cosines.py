"""Cosines of random directions and their density, against scipy's beta distribution."""

import numpy as np
import pytest
import scipy.stats
import torch

from course_utils.lectures.l01_scaling.experiments.random_cosines import (
    SAMPLES,
    WIDTHS,
    cosine_density,
    sample_cosines,
)

# The seed is fixed, so a p-value is one number: far below this means another distribution.
DOUBT = 1e-3


@pytest.mark.parametrize("width", WIDTHS)
def test_cosines_follow_a_shifted_beta(width):
    # (1 + cos) / 2 of random directions is Beta((d - 1) / 2, (d - 1) / 2).
    law = scipy.stats.beta((width - 1) / 2, (width - 1) / 2, loc=-1, scale=2)
    x = torch.linspace(-0.99, 0.99, 199, dtype=torch.float64)
    assert np.allclose(cosine_density(x, width).numpy(), law.pdf(x.numpy()), rtol=1e-9)
    cosines = sample_cosines()[width]
    assert len(cosines) == SAMPLES
    assert scipy.stats.kstest(cosines.double().numpy(), law.cdf).pvalue > DOUBT
    other = scipy.stats.beta(width / 2, width / 2, loc=-1, scale=2)
    if width <= 5:  # beyond, one dimension more or less is too little to be seen in 8000 pairs
        assert scipy.stats.kstest(cosines.double().numpy(), other.cdf).pvalue < DOUBT
    # The variance of a variance: its standard error is about sqrt(2 / 8000) = 1.6 % of it.
    assert float(cosines.var()) == pytest.approx(1 / width, rel=0.065)


def test_density_at_the_ends():
    ends = torch.tensor([-1.0, 1.0])
    assert cosine_density(ends, 2).isinf().all()
    assert torch.equal(cosine_density(ends, 3), torch.tensor([0.5, 0.5]))
    assert torch.equal(cosine_density(ends, 5), torch.zeros(2))
