"""The cards: what is asked, what each way of choosing can reach, and who sees the future."""

import math

import pytest
import torch

from course_utils.layers.mod import MixtureOfDepths
from course_utils.models.gpt2 import GPT2Block, GPT2Config
from lectures.l07b_sharing.experiments.depths import (
    LENGTH,
    SCHEMES,
    SHARE,
    CardReader,
    card_batch,
    card_scores,
    expected_loss,
    train_card_readers,
)


@pytest.fixture(scope="module")
def trained():
    # Fewer steps and seeds than the lecture's: enough for what holds by construction.
    return train_card_readers(("oracle", "random"), seeds=(0,), steps=120)


def test_cards_and_answers():
    cards, answers, draws = card_batch(torch.Generator().manual_seed(0), batch=200)
    left, right, sign = cards.unbind(-1)
    assert cards.shape == (200, LENGTH, 3) and draws.shape == answers.shape == (200, LENGTH)
    assert torch.equal(answers, torch.where(sign > 0, (left + right) % 5, 5))
    assert sign.sum(dim=1).tolist() == [round(SHARE * LENGTH)] * 200
    assert sign.float().mean(dim=0).sub(SHARE).abs().max() < 0.12  # at any place
    assert left.flatten().bincount().min() > 500 < right.flatten().bincount().min()


def test_no_readout_can_add():
    """The best linear readout of both digits, by least squares, is no better than chance."""
    left, right = torch.cartesian_prod(torch.arange(5), torch.arange(5)).T
    one_hot = torch.nn.functional.one_hot
    x = torch.cat((one_hot(left, 5), one_hot(right, 5)), dim=1).double()
    y = one_hot((left + right) % 5, 5).double()
    fitted = x @ torch.linalg.lstsq(x, y, driver="gelsd").solution
    torch.testing.assert_close(fitted, torch.full_like(fitted, 0.2))


def test_a_readout_adds_where_one_digit_is_fixed():
    """So a router that always skips the same pairs can lose less than guesses would."""
    left, right = torch.cartesian_prod(torch.tensor([1]), torch.arange(5)).T
    one_hot = torch.nn.functional.one_hot
    x = torch.cat((one_hot(left, 5), one_hot(right, 5)), dim=1).double()
    y = one_hot((left + right) % 5, 5).double()
    fitted = x @ torch.linalg.lstsq(x, y, driver="gelsd").solution
    torch.testing.assert_close(fitted, y)


@pytest.mark.parametrize("gate", ["one", "weight"])
def test_schemes_side_by_side_are_as_by_themselves(gate):
    options = {"seeds": (2, 3), "steps": 3, "gate": gate}
    together = train_card_readers(SCHEMES, **options)
    assert tuple(together) == SCHEMES
    for scheme, done in together.items():
        (own,) = train_card_readers((scheme,), **options).values()
        torch.testing.assert_close(done.losses, own.losses)
        for reader, other in zip(done.models, own.models, strict=True):
            for weight, same in zip(reader.parameters(), other.parameters(), strict=True):
                torch.testing.assert_close(weight, same)


def test_expected_losses():
    assert expected_loss(1, "random") == expected_loss(1, "oracle") == 0
    assert expected_loss(0.125, "oracle") == pytest.approx(0.125 * math.log(5))
    assert expected_loss(0.125, "random") == pytest.approx(0.25 * 0.875 * math.log(5))
    assert expected_loss(0.5, "oracle") == 0 < expected_loss(0.5, "random")


def test_oracle_and_random_choice(trained):
    oracle, chance = (card_scores(trained[scheme].models[0]) for scheme in ("oracle", "random"))
    assert oracle.sums_kept == 1 and oracle.loss < 0.1
    assert chance.sums_kept == pytest.approx(0.25, abs=0.04)
    # Some of it may not be learned yet; 1024 sums of 256 sequences, a quarter of them by chance.
    assert expected_loss(SHARE, "random") - 0.03 < chance.loss < 0.45


def test_each_scheme_chooses_as_it_says():
    cards, _, draws = card_batch(torch.Generator().manual_seed(0))
    assert torch.equal(
        CardReader(SHARE, scheme="oracle")(cards, draws).kept.mask, cards[..., 2] > 0
    )
    chosen = CardReader(SHARE, scheme="random")(cards, draws).kept.mask
    best = draws.argsort(dim=1, descending=True)[:, :4].sort(dim=1).values
    assert chosen.nonzero()[:, 1].view(-1, 4).tolist() == best.tolist()
    reader = CardReader(SHARE)
    scores, by_router = reader(cards, draws)
    assert scores.shape == (16, LENGTH, 6) and by_router.mask.sum(dim=1).tolist() == [4] * 16
    torch.testing.assert_close(by_router.weights, reader.layer.router(reader.embed(cards))[..., 0])


def flipped_decisions(layer, x, generator, routing="top_k"):
    """The share of decisions that change when a later token does: 0 if none sees it."""
    _, kept = layer(x, routing=routing)
    flipped, compared = 0, 0
    for place in range(1, x.shape[1]):
        changed = x.clone()
        changed[:, place] = x.std() * torch.randn(x[:, place].shape, generator=generator)
        _, others = layer(changed, routing=routing)
        differs = kept.mask[:, :place] != others.mask[:, :place]
        flipped, compared = flipped + int(differs.sum()), compared + differs.numel()
    return flipped / compared


@pytest.mark.parametrize(("capacity", "some"), [(0.5, True), (1, False)])
def test_what_later_tokens_change(capacity, some):
    x = torch.randn(5, 11, 12)
    layer = MixtureOfDepths(GPT2Block(GPT2Config(width=12, num_heads=3)), capacity, 12)
    with torch.no_grad():
        layer.predictor[-1].bias -= layer.predictor(x).median()
    generator = torch.Generator().manual_seed(0)
    assert (flipped_decisions(layer, x, generator) > 0.02) == some
    assert flipped_decisions(layer, x, generator, routing="predicted") == 0
