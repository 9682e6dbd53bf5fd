"""Angles between vectors of one word, against their definition and on the real encoder."""

import math

import numpy as np
import pytest
import torch

from course_utils.lectures.l00_start_here.experiments.context_shift import (
    BAT_ANIMAL,
    BAT_CLUB,
    angles,
    measure_drift,
    word_vectors,
)
from course_utils.models.minilm_or_random import read_text
from tests.support_errors import raises_saying


def test_angles_are_arc_cosines():
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randn(n, 2, 5, generator=generator, dtype=torch.float64) for n in (3, 7))
    expected = np.empty((3, 7, 2))
    for i, j, layer in np.ndindex(expected.shape):
        u, v = a[i, layer].numpy(), b[j, layer].numpy()
        cosine = u @ v / (np.linalg.norm(u) * np.linalg.norm(v))
        expected[i, j, layer] = math.degrees(math.acos(cosine))
    assert np.allclose(angles(a, b), expected)
    assert torch.allclose(angles(a, b), angles(b, a).transpose(0, 1))
    assert torch.allclose(angles(3 * a, b), angles(a, b)), "length plays no part"
    assert torch.allclose(angles(a, -b), 180 - angles(a, b))


@pytest.mark.parametrize("angle", [1e-5, 1e-3, 0.1, 90.0, 179.999])
def test_small_angles_keep_their_precision_in_float32(angle):
    turned = math.radians(angle)
    a = torch.tensor([[[1.0, 0.0]]])
    b = torch.tensor([[[math.cos(turned), math.sin(turned)]]])
    # float32 rounds the coordinates themselves to 6e-8, which near 180 degrees is 3e-6 degrees.
    assert float(angles(a, b)) == pytest.approx(angle, rel=1e-5, abs=1e-8)


def test_the_arc_cosine_would_lose_them():
    cosine = torch.tensor(math.cos(math.radians(1e-3)), dtype=torch.float32)
    assert float(torch.rad2deg(torch.acos(cosine))) != pytest.approx(1e-3, rel=0.1)


def test_a_vector_too_short_for_its_dtype_has_no_direction():
    short = torch.tensor([[[3e-5, 4e-5]]])
    assert float(angles(short, short)) == 0
    with raises_saying(
        ValueError,
        "a must hold vectors longer than 6.1e-05, of a finite length; got lengths 5e-05 to 5e-05",
    ):
        angles(short.half(), short.half())


def test_word_vectors_are_the_readings_states_at_the_word():
    vectors = word_vectors(BAT_ANIMAL[:3], "bat")
    for vector, sentence in zip(vectors, BAT_ANIMAL, strict=False):
        reading = read_text(sentence)
        assert reading.tokens[2] == "bat"
        expected = torch.stack([layer[2] for layer in reading.hidden_states])
        assert torch.equal(vector, expected)
        assert not torch.equal(vector, torch.stack([layer[1] for layer in reading.hidden_states]))


def test_pairs_are_counted_once_and_the_groups_kept_apart():
    first, second = BAT_ANIMAL[:3], BAT_CLUB[:2]
    a, b = word_vectors(first, "bat"), word_vectors(second, "bat")
    drift = measure_drift(first, second, "bat")
    same = [angles(a, a)[i, j] for i, j in ((0, 1), (0, 2), (1, 2))] + [angles(b, b)[0, 1]]
    assert torch.equal(drift.same_meaning, torch.stack(same))
    assert torch.equal(drift.other_meaning, angles(a, b).reshape(6, -1))


def test_the_two_bats_enter_alike_and_leave_apart():
    drift = measure_drift(BAT_ANIMAL, BAT_CLUB, "bat")
    # The same token at the same place: the same vector, up to float32 in the angle.
    assert float(drift.other_meaning[:, 0].max()) < 0.01
    same, other = drift.same_meaning.mean(0), drift.other_meaning.mean(0)
    assert bool((other[1:] > same[1:]).all())
    assert float(other[-1] - same[-1]) > 5


@pytest.mark.parametrize(
    ("sentences", "error", "message"),
    [
        ("The bat.", TypeError, "sentences must be a sequence, got 'The bat.' (str)"),
        ([], ValueError, "sentences must not be empty, got []"),
        (
            ["The bat.", "The cat."],
            ValueError,
            "word must be a token of each sentence; 'bat' is not in 'The cat.'",
        ),
    ],
)
def test_bad_input(sentences, error, message):
    with raises_saying(error, message):
        word_vectors(sentences, "bat")
