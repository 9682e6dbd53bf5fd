"""What comes out over the guess that is drawn is what a run gives."""

import pytest
import torch

from lectures import find_lecture


def test_largest_weight_of_random_keys():
    curve = find_lecture("01").module("exercises").PREDICTIONS["largest-weight"].curve
    generator = torch.Generator().manual_seed(11)
    for d, truth in zip(curve.at, curve.truth, strict=True):
        q, k = (torch.randn(1500, count, d, generator=generator) for count in (1, 64))
        largest = (q * k).sum(-1).softmax(-1).amax(-1)
        # The standard error of 1,500 such weights is 0.007 at most.
        assert largest.mean().item() == pytest.approx(truth, abs=0.025), d
