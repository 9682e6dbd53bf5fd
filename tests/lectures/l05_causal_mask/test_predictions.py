"""What comes out over the guess that is drawn is what counting gives."""

import pytest
import torch

from lectures import find_lecture


def scores_computed(words, keeps):
    """Count the scores of one head that writes so many words, pass by pass."""
    counted = 0
    for length in range(1, words + 1):
        queries = torch.zeros(1 if keeps else length, 1)
        counted += (queries @ torch.zeros(1, length)).numel()
    return counted


def test_scores_without_a_cache():
    curve = find_lecture("05").module("exercises").PREDICTIONS["scores-saved"].curve
    for words, truth in zip(curve.at, curve.truth, strict=True):
        factor = scores_computed(words, keeps=False) / scores_computed(words, keeps=True)
        assert truth == pytest.approx(factor, rel=0.003), words
