"""The table of pairs is the one it says, and the small GPT learns."""

import math
from itertools import pairwise

import torch

from lectures.l06b_learning.experiments.small_text import bigram_loss, train_gpt

V = 7


def some_text(length, seed=3):
    return torch.randint(V - 1, (length,), generator=torch.Generator().manual_seed(seed))


def test_a_table_of_pairs_by_hand():
    ids, unseen = some_text(101), some_text(23, seed=4)
    known, asked = ids.tolist(), unseen.tolist()

    def loss(w):
        total = 0
        for this, token in pairwise(asked):
            followers = [b for a, b in pairwise(known) if a == this]
            after = followers.count(token) / max(1, len(followers))
            total -= math.log(w * after + (1 - w) * (known.count(token) + 1) / (len(known) + V))
        return total / (len(asked) - 1)

    expected = min(loss(w / 10) for w in range(1, 10))
    assert abs(bigram_loss(ids, unseen, V) - expected) < 1e-6


def test_the_small_gpt_learns_and_leaves_the_readers_random_numbers():
    state = torch.random.get_rng_state()
    model, losses = train_gpt(some_text(300).repeat(2), steps=8)
    assert torch.equal(state, torch.random.get_rng_state()) and not model.training
    assert losses[-1] < losses[0] - 1
