"""Recall with and without 1/√d_k: the task, the model at its start, and what training shows."""

import math

import pytest
import torch

from course_utils.lectures.l02_softmax.experiments import (
    NAMES,
    PAIRS,
    STARTS,
    VALUES,
    OneHeadRecall,
    Setting,
    recall_batch,
    steps_until_done,
    train_with_and_without_scale,
)
from course_utils.training import Training


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def model_of(d_k, start, seed=0):
    torch.manual_seed(seed)
    return OneHeadRecall(d_k, start)


# The task


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


# The model at its start


@pytest.mark.parametrize("start", STARTS)
def test_model_is_one_head(start):
    d_k = 7
    model = model_of(d_k, start)
    names, values, asked, _ = recall_batch(seeded(), size=5)
    logits, weights = model(names, values, asked)
    for row in range(5):
        query = model.names.weight[asked[row]] @ model.query
        scores, seen = [], []
        for name, value in zip(names[row], values[row], strict=True):
            pair = (model.names.weight[name] + model.values.weight[value]) / math.sqrt(2)
            score = query @ (pair @ model.key)
            scores.append(score / math.sqrt(d_k) if start == "scaled" else score)
            seen.append(pair @ model.value)
        expected = torch.stack(scores).softmax(dim=0)
        torch.testing.assert_close(weights[row], expected, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(
            logits[row], model.output(expected @ torch.stack(seen)), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("d_k", [4, 64, 256])
def test_scores_start_as_the_proof_says(d_k):
    expected = {"scaled": 1, "unscaled": d_k, "small start": 1}
    for start, variance in expected.items():
        found = []
        for seed in range(8):
            model = model_of(d_k, start, seed)
            names, values, asked, _ = recall_batch(seeded(seed), size=50)
            pairs = (model.names(names) + model.values(values)) / math.sqrt(2)
            query, keys = model.names(asked) @ model.query, pairs @ model.key
            found.append(model.scale * (keys @ query[..., None])[..., 0])
        # Eight draws of the weights, 16 names each: over 40 estimates the standard deviation is
        # 0.11 of the variance at width 4, and 0.06 at 64 and 256. Five times the former is 0.5, and
        # a wrong power of d_k is off by a factor of two at least.
        assert torch.stack(found).var().item() == pytest.approx(variance, rel=0.5)


def test_small_start_begins_as_scaled():
    batch = recall_batch(seeded())[:3]
    scaled, small, unscaled = (
        model_of(64, start)(*batch) for start in ("scaled", "small start", "unscaled")
    )
    for ours, theirs in zip(scaled, small, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    assert unscaled[1].amax(dim=1).mean() > 2 * scaled[1].amax(dim=1).mean()


# What training shows


@pytest.fixture(scope="module")
def trained():
    """Two widths, two seeds, Adam: the smallest training that shows what the lecture says."""
    return train_with_and_without_scale(
        widths=(4, 64), optimizers=["adam"], seeds=(0, 1), steps=120
    )


def mean_loss(trained, d_k, start):
    return trained[Setting(d_k, start, "adam")].losses.mean(dim=1)


def test_scale_matters_for_wide_heads(trained):
    wide = mean_loss(trained, 64, "unscaled") / mean_loss(trained, 64, "scaled")
    narrow = mean_loss(trained, 4, "unscaled") / mean_loss(trained, 4, "scaled")
    # Measured over 8 seeds: 1.7 to 2.9 at width 64, 1.02 to 1.13 at width 4.
    assert (wide > 1.4).all() and (narrow < 1.3).all()


def test_done_is_a_mean_of_twenty_steps():
    losses = torch.ones(2, 60)
    losses[0, 30:] = 0.0  # 16 zeros after 46 steps: the mean of 20 is 0.2, after 47 it is 0.15
    training = Training(losses, torch.zeros(2, 0), (), [], 0.0)
    assert steps_until_done(training) == [47, 61]


def test_trained_head_finds_the_pair(trained):
    names, values, asked, answers = recall_batch(seeded(99), size=200)
    model = trained[Setting(64, "scaled", "adam")].models[0]
    with torch.no_grad():
        logits, weights = model(names, values, asked)
    assert (logits.argmax(dim=1) == answers).double().mean() > 0.97
    assert weights[names == asked[:, None]].mean() > 0.9
