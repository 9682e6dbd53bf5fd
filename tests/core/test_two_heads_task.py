"""Copying from two places: the answers, how often each is asked for, and what a guess costs."""

import math

import torch

from course_utils.two_heads_task import LENGTH, TOKENS, copy_batch, copy_loss


def batch(size):
    return copy_batch(torch.Generator().manual_seed(5), batch=size)


def test_answers_stand_one_and_three_back():
    token_ids, answers = batch(7)
    assert token_ids.shape == (7, LENGTH) and answers.shape == (7, LENGTH - 3, 2)
    for row in range(7):
        for place in range(3, LENGTH):
            expected = [token_ids[row, place - back].item() for back in (1, 3)]
            assert answers[row, place - 3].tolist() == expected


def test_all_pairs_are_equally_frequent():
    _, answers = batch(2000)
    counts = torch.bincount((answers[..., 0] * TOKENS + answers[..., 1]).flatten())
    expected = answers.shape[0] * answers.shape[1] / TOKENS**2  # 215; five deviations are 34 %
    assert len(counts) == TOKENS**2
    assert (counts / expected - 1).abs().max() < 5 / expected**0.5


def loss_of(probabilities, token_ids, answers):
    logits = (probabilities + 1e-9).log()
    return copy_loss(lambda _: (logits, ()), token_ids, answers).item()


def test_loss_of_a_guess_of_the_pair_and_of_the_truth():
    token_ids, answers = batch(2000)
    right = torch.nn.functional.one_hot(answers, TOKENS).float()
    pair = right.mean(dim=-2, keepdim=True).expand_as(right)
    assert loss_of(right, token_ids, answers) < 1e-6
    assert abs(loss_of(torch.ones_like(right), token_ids, answers) - math.log(TOKENS)) < 1e-5
    # Of 26000 pairs one in eleven is twice the same token; three deviations of that are 0.004.
    found = loss_of(pair, token_ids, answers)
    assert abs(found - math.log(2) * (1 - 1 / TOKENS)) < 0.005
