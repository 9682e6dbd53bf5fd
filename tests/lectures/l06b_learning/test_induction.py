"""Induction: the rows, the loss, and what the scores mean."""

import math

import torch
from torch.nn.functional import one_hot

from lectures.l06b_learning.experiments.induction import (
    LENGTH,
    TOKENS,
    induction_scores,
    repeat_loss,
    repeated_tokens,
    shifted_repeats,
)
from tests.core.support_gpt2 import H, L, ours

n = LENGTH


def generator(seed=3):
    return torch.Generator().manual_seed(seed)


def random_model():
    return ours(max_positions=2 * n)


def rows_for_random_model():
    return repeated_tokens(generator(), batch=3)


def test_rows_say_different_tokens_twice():
    rows = repeated_tokens(generator(), batch=7)
    assert rows.shape == (7, 2 * n)
    assert torch.equal(rows[:, :n], rows[:, n:])
    assert all(len(set(row)) == n for row in rows[:, :n].tolist())
    assert set(rows.flatten().tolist()) <= set(range(TOKENS))


def test_what_is_learned_from_runs_around_the_end():
    (rows,) = shifted_repeats(generator(), batch=64)
    begins = set()
    for first, second in rows.view(64, 2, n).tolist():
        begin = first.index(second[0])
        assert second == first[begin:] + first[:begin]
        begins.add(begin)
    assert begins == set(range(n))


def knows(rows, first, second):
    """Scores of one who gives the right token this probability, in either half."""
    right = one_hot(rows.roll(-1, dims=1), TOKENS).double()
    sure = torch.full((rows.shape[1],), second, dtype=torch.float64)
    sure[: rows.shape[1] // 2] = first
    rest = (1 - sure) / (TOKENS - 1)
    return lambda _: (right * (sure - rest)[:, None] + rest[:, None]).log()


def test_the_loss_counts_what_can_be_known():
    (rows,) = shifted_repeats(generator(), batch=5)
    assert abs(repeat_loss(knows(rows, 0.01, 0.7), rows).item() + math.log(0.7)) < 1e-9
    assert abs(repeat_loss(lambda ids: torch.zeros(*ids.shape, TOKENS), rows).item()
               - math.log(TOKENS)) < 1e-6  # fmt: skip


def test_scores_are_means_of_single_weights():
    model, rows = random_model(), rows_for_random_model()
    traced = model.trace(rows).heads
    induction = induction_scores(model, rows)
    assert induction.shape == (L, H)
    for layer in range(L):
        for head in range(H):
            weights = traced[layer].weights[:, head]
            # The token that the query's own token was followed by, found by its name.
            after = [
                weights[r, t, rows[r].tolist().index(int(rows[r, t])) + 1].item()
                for r in range(3)
                for t in range(n, 2 * n - 1)
            ]
            assert abs(induction[layer, head].item() - sum(after) / len(after)) < 1e-6
