"""Who needs the block? Cards with sums and blanks, and a router that has to find the sums.

A card shows two digits, 0 to 4, and a sign. With ``+`` the answer is the sum modulo 5. With ``.``
the card is blank, and the answer says so. Four of the 16 cards in a sequence have sums. A linear
readout of the card's vector can tell a blank; a sum it cannot do: that takes a block. So a block
that takes a quarter of the cards could get everything right, if they were the right ones.

Four schemes choose them:

- ``"oracle"`` ranks sums before blanks: what is possible.
- ``"random"`` draws: what costs nothing to find.
- ``"router"`` learns, and lets through its share from the first step on.
- ``"router, late"`` learns while the block takes every card, for a third of the training, and has
  to choose from then on.

A token that is not let through gives the router no gradient, so ``"router"`` hears only of the
cards that it happened to rank high at the start.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from course_utils.layers.mod import (
    ROUTINGS,
    MixtureOfDepths,
    RoutingDecision,
    predictor_loss,
)
from course_utils.models.gpt2 import GPT2Block, GPT2Config
from course_utils.shapes import Float, Int
from course_utils.training import TEST_SEED, Training, train

LATE = "router, late"
SCHEMES = ("oracle", "random", "router", LATE)
LENGTH, SHARE = 16, 0.25
_DIGITS, _BLANK = 5, 5  # the answer to a blank card comes after those of the sums
_WIDTH, _HEADS = 32, 2
Cards = tuple[Tensor, Tensor, Tensor]


def card_batch(generator: torch.Generator, *, batch: int = 16) -> Cards:
    """Draw sequences of 16 cards, four of them sums, at random places.

    Gives the cards (B, T, 3): two digits and whether it is a sum. The answers (B, T): the sum
    modulo 5, or 5 for a blank. Random numbers (B, T), for those who choose at random.
    """
    shape = (batch, LENGTH)
    left, right = torch.randint(_DIGITS, (2, *shape), generator=generator)
    places = torch.rand(shape, generator=generator).argsort(dim=1)
    is_sum = places < round(SHARE * LENGTH)
    answers = torch.where(is_sum, (left + right) % _DIGITS, _BLANK)
    cards = torch.stack((left, right, is_sum.long()), dim=-1)
    return cards, answers, torch.rand(shape, generator=generator)


class CardPass(NamedTuple):
    """What one pass gives.

    Attributes:
        scores: of the six answers to each card.
        kept: what the router decided.
    """

    scores: Float[Tensor, "B T 6"]
    kept: RoutingDecision


class CardReader(nn.Module):
    """One vector for each card, one block that takes part of them, and a linear readout."""

    scheme: Tensor

    def __init__(
        self,
        capacity: float | int,  # the share of cards that the block takes
        *,
        scheme: str = "router",  # one of SCHEMES; the last two differ in their training
        gate: str = "one",  # of the MixtureOfDepths; "weight" is the paper's
    ) -> None:
        super().__init__()
        # A buffer, so that runs of several schemes can be stacked.
        self.register_buffer("scheme", torch.tensor(SCHEMES.index(scheme)))
        self.left, self.right = (nn.Embedding(_DIGITS, _WIDTH) for _ in range(2))
        self.sign = nn.Embedding(2, _WIDTH)
        block = GPT2Block(GPT2Config(width=_WIDTH, num_heads=_HEADS))
        self.layer = MixtureOfDepths(block, capacity, _WIDTH, gate=gate)
        self.readout = nn.Linear(_WIDTH, _DIGITS + 1)

    def forward(
        self,
        cards: Int[Tensor, "B T 3"],
        draws: Float[Tensor, "B T"],
        *,
        routing: str = "top_k",
    ) -> CardPass:
        """Return the scores of the answers, and which cards went through the block.

        Only the scheme ``"random"`` uses the draws.
        """
        x = self.embed(cards)
        read = x if self.layer.gate == "weight" else x.detach()  # as the layer itself has it
        weights = self.layer.router(read).squeeze(-1)
        for scheme, given in (("oracle", cards[..., 2].to(x.dtype)), ("random", draws)):
            weights = torch.where(self.scheme == SCHEMES.index(scheme), given, weights)
        x, kept = self.layer(x, routing=routing, weights=weights)
        return CardPass(self.readout(x), kept)

    def embed(self, cards: Int[Tensor, "B T 3"]) -> Float[Tensor, "B T C"]:
        """Return each card's vector: the sum of those of its digits and its sign."""
        left, right, sign = cards.unbind(dim=-1)
        return self.left(left) + self.right(right) + self.sign(sign)


def card_loss(
    model: Callable[..., tuple[Tensor, RoutingDecision]],
    cards: Int[Tensor, "B T 3"],
    answers: Int[Tensor, "B T"],
    draws: Float[Tensor, "B T"],
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the answers, in nats, plus the predictor's loss."""
    scores, kept = model(cards, draws)
    return cross_entropy(scores.flatten(0, 1), answers.flatten()) + predictor_loss(kept)


class CardScores(NamedTuple):
    """How well a trained reader does on 256 fresh sequences, always the same ones.

    Attributes:
        loss: mean cross-entropy of the answers, in nats, with the best of each sequence let
            through. Blanks alone cost next to nothing; a sum that is guessed costs log 5.
        sums_kept: the share of the sums that were let through, 0 to 1.
        predicted_loss: the same loss where the predictor decides.
    """

    loss: float
    sums_kept: float
    predicted_loss: float


@torch.no_grad()
def card_scores(model: nn.Module) -> CardScores:
    """Return how well a ``CardReader`` does."""
    generator = torch.Generator().manual_seed(TEST_SEED)
    cards, answers, draws = card_batch(generator, batch=256)
    found = {routing: model(cards, draws, routing=routing) for routing in ROUTINGS}
    top_k, predicted = (
        cross_entropy(each.scores.flatten(0, 1), answers.flatten()).item()
        for each in found.values()
    )
    sums_kept = found["top_k"].kept.mask[cards[..., 2] > 0].float().mean().item()
    return CardScores(top_k, sums_kept, predicted)


def expected_loss(
    capacity: float | int,  # the share that is let through
    scheme: str,  # "oracle" or "random"
) -> float:
    """Return the loss of a reader that gets every card right that it can, in nats.

    A quarter of the cards are sums, and each that is not let through is a guess of log 5. The
    oracle leaves out ``1/4 - capacity`` of all cards, if any; random choice ``1/4 (1 - capacity)``.
    A router that leaves out sums by their digits can come a little below the oracle: the sums left
    out are then not equally frequent.
    """
    missed = max(0.0, SHARE - capacity) if scheme == "oracle" else SHARE * (1 - capacity)
    return missed * math.log(_DIGITS)


def train_card_readers(
    schemes: Iterable[str] = SCHEMES,
    *,
    capacity: float | int = SHARE,
    seeds: Sequence[int] = (0, 1, 2),
    steps: int = 200,
    gate: str = "one",
) -> dict[str, Training]:
    """Train a ``CardReader`` with each scheme: the same sizes, cards and number of steps.

    For ``"router, late"`` the first third of the steps is made at capacity 1, and the ``Training``
    returned is of the rest.
    """
    schemes = tuple(schemes)
    found = _train_at_once([each for each in schemes if each != LATE], capacity, seeds, steps, gate)
    if LATE in schemes:
        first = _train_at_once([LATE], 1, seeds, steps // 3, gate)[LATE]
        for reader in first.models:
            reader.get_submodule("layer").capacity = capacity  # type: ignore
        # The runs go on, with cards that they have not seen.
        others = [TEST_SEED - 1 - seed for seed in seeds]
        found[LATE] = _train(iter(first.models).__next__, others, steps - steps // 3, LATE)
    return {scheme: found[scheme] for scheme in schemes}


def _train_at_once(
    schemes: Sequence[str], capacity: float | int, seeds: Sequence[int], steps: int, gate: str
) -> dict[str, Training]:
    """Train all runs of several schemes side by side.

    A step of nine runs takes half the time of three steps of three. The numbers stay the same.
    """
    if not schemes:
        return {}
    readers = (CardReader(capacity, scheme=each, gate=gate) for each in schemes for _ in seeds)
    # The schemes share their seeds, and `train` wants different ones: a generator keeps the lower
    # 32 bits of a seed.
    apart = [seed + (place << 32) for place in range(len(schemes)) for seed in seeds]
    done = _train(readers.__next__, apart, steps, ", ".join(schemes))
    runs = [slice(place, place + len(seeds)) for place in range(0, len(apart), len(seeds))]
    return {
        scheme: replace(
            done, losses=done.losses[own], scores=done.scores[own], models=done.models[own]
        )
        for scheme, own in zip(schemes, runs, strict=True)
    }


def _train(
    build: Callable[[], nn.Module], seeds: Sequence[int], steps: int, label: str
) -> Training:
    return train(
        build, card_batch, card_loss, seeds=seeds, steps=steps, learning_rate=0.01, label=label
    )
