"""What comes out over a guess that is drawn is what a run gives."""

import re

import pytest
import torch

from lectures import find_lecture
from tests.lectures.support_notebooks import notebook_of, read
from tools.editions.notebook_outputs import texts


def curve_of(number, name):
    return find_lecture(number).module("exercises").PREDICTIONS[name].curve


def printed(number, cell):
    """All that a cell of a lecture has in its stored output."""
    (found,) = [each for each in read(notebook_of(find_lecture(number))).cells if each.id == cell]
    return " ".join(text for output in found.outputs for text in texts(output))


def test_largest_weight_of_random_keys():
    curve = curve_of("01", "largest-weight")
    generator = torch.Generator().manual_seed(11)
    for d, truth in zip(curve.at, curve.truth, strict=True):
        q, k = (torch.randn(1500, count, d, generator=generator) for count in (1, 64))
        largest = (q * k).sum(-1).softmax(-1).amax(-1)
        # The standard error of 1,500 such weights is 0.007 at most.
        assert largest.mean().item() == pytest.approx(truth, abs=0.025), d


def test_rope_on_longer_lists_than_trained():
    curve = curve_of("04", "rope-longer")
    trained = re.findall(r"0\.\d\d", printed("04", "far-first"))[-1]
    longest = re.search(r"the answer stays near:.*?RoPE (0\.\d\d)", printed("04", "far-figure"))
    assert (curve.truth[0], curve.truth[-1]) == (float(trained), float(longest[1]))
    assert list(curve.truth) == sorted(curve.truth, reverse=True)
