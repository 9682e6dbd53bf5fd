"""Lecture 00's exercises: right answers in other words, and a pronoun that finds milk."""

import pytest
import torch
import torch.nn.functional as F

from lectures.l00_start_here.exercises import check_attend, check_find_milk
from lectures.l00_start_here.exercises.find_milk import CAT_MILK_IT, FIND_MILK


def with_methods(q, k, v, may_attend=None):
    scores = (q @ k.transpose(-1, -2)).div(q.size(-1) ** 0.5)
    if may_attend is not None:
        scores = torch.where(may_attend, scores, -torch.inf)
    weights = F.softmax(scores, -1)
    return [torch.matmul(weights, v), weights]


def with_scaled_queries(q, k, v, may_attend=None):
    exponentials = torch.einsum("...td,...sd->...ts", q * q.shape[-1] ** -0.5, k).exp()
    if may_attend is not None:
        exponentials = exponentials * may_attend
    weights = exponentials / exponentials.sum(dim=-1, keepdim=True)
    return weights @ v, weights


@pytest.mark.parametrize("answer", [with_methods, with_scaled_queries])
def test_right_attention_passes(answer):
    assert check_attend(answer).passed


def test_a_mask_that_is_not_taken_is_said():
    verdict = check_attend(lambda q, k, v: with_methods(q, k, v))
    assert not verdict.passed and "TypeError" in verdict.message


def divided_in_place(q, k, v, may_attend=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if may_attend is not None:
        scores = scores.masked_fill(~may_attend, -torch.inf)
    weights = scores.exp()
    weights /= weights.sum(dim=-1, keepdim=True)
    return weights @ v, weights


def test_what_cannot_be_trained_does_not_pass():
    verdict = check_attend(divided_in_place)
    assert not verdict.passed and "/=" in verdict.message


def made_with(w_q, w_k):
    return lambda x: (x @ torch.tensor(w_q), x @ torch.tensor(w_k))


IDENTITY = [[1.0, 0.0], [0.0, 1.0]]
ASKS_FOR_ANIMALS = [[0.0, 0.0], [0.5, 0.0]]


@pytest.mark.parametrize(
    "answer",
    [
        made_with([[0.0, 0.0], [-2.0, 0.0]], IDENTITY),
        made_with(ASKS_FOR_ANIMALS, [[-1.0, 0.0], [0.0, 1.0]]),  # keys of non-animals instead
        made_with([[0.0, 0.0], [0.0, -0.5]], [[0.0, 1.0], [0.0, 0.0]]),  # in the other number
        made_with([[0.0], [-2.0]], [[1.0], [0.0]]),  # of width 1
        made_with([[0.0, 0.0, 0.0], [0.0, 0.0, -2.0]], [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
    ],
)
def test_milk_is_found_in_many_ways(answer):
    assert check_find_milk(answer).passed


def test_numbers_of_one_sentence_are_not_enough():
    q, k = made_with([[0.0, 0.0], [-0.5, 0.0]], IDENTITY)(CAT_MILK_IT)
    verdict = check_find_milk(lambda x: (q, k))
    assert not verdict.passed and "right on 1 of 2 inputs" in verdict.message


def test_matrices_in_place_of_queries_and_keys():
    verdict = check_find_milk(lambda x: (torch.eye(2), torch.eye(2)))
    assert not verdict.passed and "(2, 2)" in verdict.message


def test_the_query_is_not_blamed_for_the_keys():
    blamed = FIND_MILK.recognise(made_with(IDENTITY, [[0.0, 1.0], [0.0, 0.0]]))
    assert blamed.name == "keys that hide milk"
