"""The language model's task: windows, the loss of transformers, entropies of scipy."""

import math

import pytest
import torch
from scipy import stats
from torch import nn

from course_utils.language_modeling import (
    next_token_loss,
    split_text,
    text_batch,
    text_loss,
    unigram_entropy,
)
from tests.core.support_gpt2 import P, V, ours, some_ids, theirs

N, T, B = 101, 7, 5


@pytest.fixture(scope="module")
def ids():
    return some_ids(1, N)[0]


def test_loss_as_transformers():
    reference = theirs()
    model = lambda ids: reference(ids).logits  # noqa: E731
    ids = some_ids(B, T + 1)
    found = next_token_loss(model, ids[:, :-1], ids[:, 1:])
    torch.testing.assert_close(found, reference(ids, labels=ids).loss, rtol=1e-5, atol=1e-5)
    unshifted = next_token_loss(model, ids[:, :-1], ids[:, :-1])
    assert (unshifted - found).abs() > 1e-2


def test_windows_begin_anywhere():
    ids = torch.arange(N)
    draw, generator = text_batch(ids, T, B), torch.Generator().manual_seed(0)
    starts = set()
    for _ in range(300):
        inputs, targets = draw(generator)
        assert inputs.shape == targets.shape == (B, T)
        assert torch.equal(targets, inputs + 1) and torch.equal(inputs[:, 1:], targets[:, :-1])
        starts |= set(inputs[:, 0].tolist())
    # 1500 draws of 94 starts: one is missed with a chance of 94 exp(-1500 / 94) = 1e-5.
    assert starts == set(range(N - T))


@pytest.mark.parametrize("length", [1, 5, 10, P, 20])
def test_text_loss_asks_each_token_once(ids, length):
    """10 and 20 divide the 100 that are asked for, 5 windows of 20 too; 7 and P leave a rest."""
    asked = []

    class Remember(nn.Module):
        def forward(self, inputs):
            logits = torch.zeros(*inputs.shape, V)
            logits[..., 3] = inputs
            asked.append(inputs)
            return logits

    found = text_loss(Remember(), ids, length=length)
    assert torch.equal(torch.cat([part.flatten() for part in asked]), ids[:-1])
    logits = torch.zeros(N - 1, V)
    logits[:, 3] = ids[:-1].float()
    expected = nn.functional.cross_entropy(logits, ids[1:])
    assert found == pytest.approx(expected.item(), rel=1e-6)


def test_text_loss_by_windows(ids):
    model = ours()
    windows = [ids[at : at + T + 1] for at in range(0, N - 1, T)]
    losses = [next_token_loss(model, w[None, :-1], w[None, 1:]) * (len(w) - 1) for w in windows]
    expected = sum(losses).item() / (N - 1)
    assert text_loss(model, ids, length=T) == pytest.approx(expected, rel=1e-5)
    assert abs(text_loss(model, ids, length=T + 1) - expected) > 1e-5


def test_unigram_entropy_as_scipy(ids):
    counts = [(ids == token).sum().item() for token in range(V)]
    assert unigram_entropy(ids, V) == pytest.approx(stats.entropy(counts), rel=1e-12)
    assert unigram_entropy(ids, V + 7) == unigram_entropy(ids, V)
    assert unigram_entropy(torch.zeros(5, dtype=torch.int64), 3) == 0
    assert unigram_entropy(torch.arange(V), V) == pytest.approx(math.log(V))


@pytest.mark.parametrize(("share", "first"), [(0.9, 91), (0.5, 50), (0.01, 1)])
def test_split(ids, share, first):
    learn, held_out = split_text(ids, share)
    assert len(learn) == first and torch.equal(torch.cat((learn, held_out)), ids)
    text = "".join(map(chr, range(97, 97 + N)))
    assert split_text(text, share) == (text[:first], text[first:])
