"""Lecture 01's exercises: right answers in other words, and references against measurements."""

import math

import pytest
import torch
import torch.nn.functional as F

from lectures.l01_scaling.exercises import (
    EXERCISES,
    SCORE_VARIANCE,
    UNIT_ATTEND,
    check_score_variance,
    check_suspect,
    check_unit_attend,
)
from lectures.l01_scaling.experiments import mystery_models

SUSPECT = EXERCISES[0]


def divisors(models, keys):
    """What each model divides by, measured."""
    q, k = torch.ones(2, 64), torch.ones(keys, 64)
    return {name: (64 / model(q, k)[0, 0]).item() for name, model in models.items()}


def nearest(models):
    found = divisors(models, keys=7)
    name = min(found, key=lambda each: abs(found[each] - 512**0.5))
    return name, found[name]


def normalised(q, k, v):
    q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
    weights = torch.einsum("...td,...sd->...ts", q, k).mul(q.shape[-1] ** 0.5).softmax(-1)
    return weights @ v, weights


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (check_score_variance, lambda d, a, b: sum(a * b for _ in range(d))),
        (check_unit_attend, normalised),
        (check_suspect, nearest),
        (check_suspect, lambda models: [nearest(models)[0], 22.6]),
    ],
    ids=["variance", "angles", "measured", "rounded"],
)
def test_right_answers_pass(check, answer):
    assert check(answer).passed


def test_a_name_read_off_the_notebook_is_recognised():
    named = nearest(mystery_models(1))
    assert SUSPECT.recognise(lambda models: named).name == "named from the notebook"


def test_score_variance_is_what_samples_show():
    generator = torch.Generator().manual_seed(0)
    for probe in SCORE_VARIANCE.probes:
        q, k = (torch.randn(20_000, probe["d_k"], generator=generator) for _ in range(2))
        products = (q * k).sum(-1) * math.sqrt(probe["var_q"] * probe["var_k"])
        # The relative error of a sample variance is √((κ − 1)/n), and κ ≤ 9 for a product
        # of two normals: 2 % here. Five of these.
        expected = SCORE_VARIANCE.reference(**probe)
        assert products.var().item() == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("d", [3, 7, 64])
def test_scores_of_random_directions_have_variance_1(d):
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(400, d, generator=generator) for _ in range(2))
    _, weights = UNIT_ATTEND.reference(q, k, k)
    # Log-weights are scores less a number for each row; 400 keys make its mean exact to 5 %.
    assert weights.log().var(dim=1).mean().item() == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_one_model_of_each_kind(seed):
    expected = [1 / 8, 1, 7**0.5, 8, 512**0.5, 64]
    models = mystery_models(seed)
    assert list(models) == ["amber", "birch", "cedar", "dogwood", "elder", "fir"]
    assert sorted(divisors(models, 7).values()) == pytest.approx(expected, rel=1e-5)
