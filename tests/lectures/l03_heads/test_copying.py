"""Copying from two places: the task, its scores, and why one mixture fails at it."""

import pytest
import torch
from torch import nn

from course_utils.lectures.l03_heads.experiments.copying import (
    TwoPlaceCopier,
    copy_scores,
)
from course_utils.two_heads_task import TOKENS, copy_batch

PAIRS = [(i, j) for i in range(TOKENS) for j in range(TOKENS)]


def batch(size=64):
    return copy_batch(torch.Generator().manual_seed(5), batch=size)


@pytest.mark.parametrize("width", [8, 32])
def test_heads_change_no_parameter(width):
    def sizes(num_heads):
        return [p.shape for p in TwoPlaceCopier(num_heads, width=width).parameters()]

    assert sizes(1) == sizes(2) == sizes(4)


def test_model_is_causal():
    model, (token_ids, _) = TwoPlaceCopier(4), batch(1)
    changed = token_ids.clone()
    changed[:, 9:] = (changed[:, 9:] + 1) % TOKENS
    same = model(token_ids)[0][:, : 9 - 3], model(changed)[0][:, : 9 - 3]
    assert torch.equal(*same)


class Knows(TwoPlaceCopier):
    """Answers from the truth, as one who knows so much and no more would."""

    def __init__(self, answers, knows):
        super().__init__(1)
        first, second = nn.functional.one_hot(answers, TOKENS).float().unbind(dim=-2)
        told = {
            "all": (first, second),
            "the other way round": (second, first),
            "one back": (first, torch.full_like(first, 1 / TOKENS)),
        }
        self.probabilities = torch.stack(told[knows], dim=-2)

    def forward(self, token_ids):
        return (self.probabilities + 1e-9).log(), ()


@pytest.mark.parametrize(
    ("knows", "expected"),
    [
        ("all", (1, 1, 1)),
        ("the other way round", (1 / TOKENS, 1 / TOKENS, 1 / TOKENS)),
        ("one back", (1 / TOKENS, 1, 1 / TOKENS)),
    ],
)
def test_scores(knows, expected):
    token_ids, answers = batch(500)
    found = copy_scores(Knows(answers, knows), token_ids, answers)
    for ours, share in zip(found, expected, strict=True):
        # 6500 places; three standard deviations of a share of 1/11 are 0.011.
        assert abs(ours - share) < 0.02


def best_readout(mixtures):
    """How many of all pairs a linear readout gets right, learned with the pairs before it."""
    answers = torch.tensor(PAIRS)
    readout = nn.Linear(mixtures.shape[1], 2 * TOKENS)
    update = torch.optim.LBFGS(readout.parameters(), max_iter=200, line_search_fn="strong_wolfe")

    def loss():
        update.zero_grad()
        logits = readout(mixtures).unflatten(-1, (2, TOKENS))
        value = nn.functional.cross_entropy(logits.flatten(0, 1), answers.flatten())
        value.backward()
        return value

    update.step(loss)
    named = readout(mixtures).unflatten(-1, (2, TOKENS)).argmax(dim=-1)
    return (named == answers).all(dim=-1).float().mean().item()


def test_one_fixed_mixture_is_not_enough():
    one_hot = torch.eye(TOKENS)
    mixed = torch.stack([0.7 * one_hot[i] + 0.3 * one_hot[j] for i, j in PAIRS])
    assert best_readout(mixed) < 0.9
    # Two mixtures, as two heads bring them, are enough.
    both = torch.stack([torch.cat((one_hot[i], one_hot[j])) for i, j in PAIRS])
    assert best_readout(both) == 1


@pytest.mark.parametrize("from_tokens", [False, True])
def test_weights_depend_on_tokens_only_where_they_may(from_tokens):
    model, (token_ids, _) = TwoPlaceCopier(2, from_tokens=from_tokens), batch(2)
    first, second = model(token_ids)[1][0]  # two sentences
    assert torch.allclose(first, second) is not from_tokens
