"""Recall: the task, and when it counts as learned."""

import math

import pytest
import torch

from lectures.l02_softmax.experiments import (
    NAMES,
    PAIRS,
    VALUES,
    recall_batch,
    steps_until_done,
)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_the_answer_is_beside_the_name():
    names, values, asked, answers = recall_batch(seeded(), size=500)
    assert names.shape == values.shape == (500, PAIRS)
    assert all(len(set(row)) == PAIRS for row in names.tolist())
    found = names == asked[:, None]
    assert (found.sum(dim=1) == 1).all() and torch.equal(values[found], answers)


def test_only_the_pair_tells_the_answer():
    names, values, asked, answers = recall_batch(seeded(), size=4000)
    # Each count is 4000 / size on average, with a standard deviation of about its root.
    for drawn, size in ((asked, NAMES), (answers, VALUES)):
        counts, expected = torch.bincount(drawn, minlength=size), 4000 / size
        assert ((counts - expected).abs() < 5 * math.sqrt(expected)).all()
    place = (names == asked[:, None]).int().argmax(dim=1)
    expected = 4000 / PAIRS
    assert ((torch.bincount(place) - expected).abs() < 5 * math.sqrt(expected)).all()
    # Neither the first value nor the one after the name's does better than guessing.
    after = values[torch.arange(4000), (place + 1) % PAIRS]
    for guess in (values[:, 0][place > 0] == answers[place > 0], after == answers):
        assert abs(guess.double().mean() - 1 / VALUES) < 5 * math.sqrt(1 / VALUES / len(guess))


@pytest.mark.parametrize("last", [0.0, math.nan])
def test_done_is_a_mean_of_twenty_steps(last):
    losses = [1.0] * 30 + [0.0] * 17 + [last] * 13
    assert steps_until_done(losses) == 47  # 16 zeros after 46 steps: the mean of 20 is 0.2
    assert steps_until_done([1.0] * 60) == steps_until_done([math.nan] * 60) == 61
    assert steps_until_done([0.1] * 5) == 5 and steps_until_done([1.0] * 5) == 6


def test_a_run_that_ended_early_is_not_done():
    diverged = [3.0, 9.0, math.nan]
    assert steps_until_done(diverged) == 4 and steps_until_done(diverged, 250) == 251
    assert steps_until_done([0.1] * 30, 250) == 20
