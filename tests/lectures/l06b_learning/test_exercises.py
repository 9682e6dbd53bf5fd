"""Lecture 06b's exercises: answers that must pass, references."""

import pytest
import torch

from course_utils.sampling import with_top_p
from lectures.l06b_learning.exercises.nucleus import NUCLEUS


def nucleus_counted(probabilities, p):
    kept, total = torch.zeros(len(probabilities)), 0.0
    for token in sorted(range(len(probabilities)), key=lambda i: -probabilities[i]):
        if total >= p - 1e-6:
            break
        kept[token] = probabilities[token]
        total += probabilities[token].item()
    return kept / total


def nucleus_of_the_library(probabilities, p):
    return with_top_p(probabilities.log(), p)


@pytest.mark.parametrize("answer", [nucleus_counted, nucleus_of_the_library])
def test_other_right_nuclei_pass(answer):
    assert NUCLEUS.check(answer).passed


def test_the_library_keeps_the_same():
    probabilities = torch.randn(7, 23).mul(2).softmax(dim=-1)
    for row, p in zip(probabilities, (0.05, 0.3, 0.5, 0.8, 0.9, 0.99, 1.0), strict=True):
        torch.testing.assert_close(NUCLEUS.reference(row, p), with_top_p(row.log(), p))
