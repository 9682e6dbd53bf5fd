"""Angles between vectors of one word, against their definition and on the real encoder."""

import math

import numpy as np
import pytest
import torch

from course_utils.models.minilm_or_random import read_text
from lectures.l00_start_here.experiments.context_shift import (
    BAT_ANIMAL,
    BAT_CLUB,
    BAT_ELSEWHERE,
    angles,
    measure_context_shift,
    word_vectors,
)


def test_angles_are_arc_cosines():
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randn(n, 2, 5, generator=generator, dtype=torch.float64) for n in (3, 7))
    expected = np.empty((3, 7, 2))
    for i, j, layer in np.ndindex(expected.shape):
        u, v = a[i, layer].numpy(), b[j, layer].numpy()
        cosine = u @ v / (np.linalg.norm(u) * np.linalg.norm(v))
        expected[i, j, layer] = math.degrees(math.acos(cosine))
    assert np.allclose(angles(a, b), expected)


@pytest.mark.parametrize("angle", [1e-5, 1e-3, 0.1, 90.0, 179.999])
def test_small_angles_are_precise(angle):
    turned = math.radians(angle)
    a = torch.tensor([[[1.0, 0.0]]])
    b = torch.tensor([[[math.cos(turned), math.sin(turned)]]])
    # float32 rounds the coordinates themselves to 6e-8, which near 180 degrees is 3e-6 degrees.
    assert float(angles(a, b)) == pytest.approx(angle, rel=1e-5, abs=1e-8)


def test_word_vectors_are_hidden_states():
    vectors = word_vectors(BAT_ANIMAL[:3], "bat")
    for vector, sentence in zip(vectors, BAT_ANIMAL, strict=False):
        reading = read_text(sentence)
        assert reading.tokens[2] == "bat"
        assert torch.equal(vector, torch.stack([layer[2] for layer in reading.hidden_states]))


def test_each_pair_counts_once():
    first, second = BAT_ANIMAL[:3], BAT_CLUB[:2]
    a, b = word_vectors(first, "bat"), word_vectors(second, "bat")
    shift = measure_context_shift(first, second, "bat")
    same = [angles(a, a)[i, j] for i, j in ((0, 1), (0, 2), (1, 2))] + [angles(b, b)[0, 1]]
    assert torch.equal(shift.same_meaning, torch.stack(same))
    assert torch.equal(shift.other_meaning, angles(a, b).reshape(6, -1))


def test_two_bats_enter_alike_and_part():
    shift = measure_context_shift(BAT_ANIMAL, BAT_CLUB, "bat")
    # The same token at the same place: the same vector, up to float32 in the angle.
    assert float(shift.other_meaning[:, 0].max()) < 0.01
    same, other = shift.same_meaning.mean(0), shift.other_meaning.mean(0)
    assert bool((other[1:] > same[1:]).all())
    assert float(other[-1] - same[-1]) > 5


def test_one_meaning_elsewhere_does_not_part():
    shift = measure_context_shift(BAT_ANIMAL, BAT_ELSEWHERE, "bat")
    gap = shift.other_meaning.mean(0) - shift.same_meaning.mean(0)
    assert float(gap.abs().max()) < 1  # two meanings: more than 5 degrees
