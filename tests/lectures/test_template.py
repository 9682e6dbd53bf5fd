"""What a new lecture starts from computes what it says."""

import math

import pytest
import torch

from lectures._template.experiments import prepare_entropies


def test_entropies_of_the_template():
    scores, temperatures = torch.tensor([0.0, math.log(3)]), torch.tensor([1.0, 1e6])
    expected = [math.log(4) - 0.75 * math.log(3), math.log(2)]  # of 1/4 and 3/4, of halves
    assert prepare_entropies(scores, temperatures).tolist() == pytest.approx(expected, abs=1e-5)
    assert prepare_entropies(torch.zeros(4), torch.ones(1)).exp().item() == pytest.approx(4)
