"""Who needs the block? Cards with sums and blanks, and a router that has to find the sums.

A card shows two digits, 0 to 4, and a sign. With ``+`` the answer is the sum modulo 5. With ``.``
the card is blank, and the answer says so. Four of the 16 cards in a sequence have sums. A linear
readout of the card's vector can tell a blank; a sum it cannot do: that takes a block. So a block
that takes a quarter of the cards could get everything right, if they were the right ones.

Four ways to choose them:

- ``"oracle"`` ranks sums before blanks: what is possible.
- ``"random"`` draws: what costs nothing to find.
- ``"router"`` learns, and lets through its share from the first step on.
- ``"router, late"`` learns while the block takes every card, for a third of the training, and has
  to choose from then on.

A token that is not let through gives the router no gradient, so ``"router"`` hears only of the
cards that it happened to rank high at the start.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from course_utils.checks import check_choice, check_generator, check_ids, check_int, check_sequence
from course_utils.layers.mod import (
    ROUTINGS,
    Kept,
    MixtureOfDepths,
    check_capacity,
    predictor_accuracy,
    predictor_loss,
)
from course_utils.models.gpt2 import GPT2Block, GPT2Config
from course_utils.shapes import Float, Int
from course_utils.training import TEST_SEED, Training, train

__all__ = [
    "LENGTH",
    "SHARE",
    "WAYS",
    "CardReader",
    "CardScores",
    "card_batch",
    "card_loss",
    "card_scores",
    "expected_loss",
    "flipped_decisions",
    "train_card_readers",
]

WAYS = ("oracle", "random", "router", "router, late")
LENGTH, SHARE = 16, 0.25
_DIGITS, _BLANK = 5, 5  # the answer to a blank card comes after those of the sums
_WIDTH, _HEADS = 32, 2
Cards = tuple[Tensor, Tensor, Tensor]


def card_batch(generator: torch.Generator, *, batch: int = 16) -> Cards:
    """Draw sequences of 16 cards, four of them sums, at random places.

    Args:
        generator: where the random numbers come from.
        batch: number of sequences, B.

    Returns:
        The cards (B, T, 3): two digits and whether it is a sum. The answers (B, T): the sum modulo
        5, or 5 for a blank. Random numbers (B, T), for those who choose at random.

    Raises:
        TypeError: if generator is not a torch.Generator, or batch not an integer.
        ValueError: if batch is less than 1.

    >>> cards, answers, _ = card_batch(torch.Generator().manual_seed(0), batch=1)
    >>> cards[0, :4].tolist(), answers[0, :4].tolist()
    ([[4, 1, 1], [4, 3, 0], [3, 4, 0], [0, 3, 1]], [0, 5, 5, 3])
    """
    check_generator("generator", generator)
    shape = (check_int("batch", batch), LENGTH)
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
    kept: Kept


class CardReader(nn.Module):
    """One vector for each card, one block that takes part of them, and a linear readout.

    Args:
        capacity: the share of cards that the block takes.
        way: how they are chosen, one of ``WAYS``; the last two differ in their training alone.
        gate: as in ``MixtureOfDepths``.

    Raises:
        TypeError, ValueError: if the way is unknown, or as ``MixtureOfDepths`` does.

    >>> cards, _, draws = card_batch(torch.Generator().manual_seed(0), batch=3)
    >>> scores, kept = CardReader(0.25)(cards, draws)
    >>> tuple(scores.shape), kept.mask.sum(dim=1).tolist()
    ((3, 16, 6), [4, 4, 4])
    """

    def __init__(self, capacity: float | int, *, way: str = "router", gate: str = "one") -> None:
        check_choice("way", way, WAYS)
        super().__init__()
        self.way = way
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

        Args:
            cards: as from ``card_batch``.
            draws: as from ``card_batch``; only the way ``"random"`` uses them.
            routing: as in ``MixtureOfDepths``.

        Raises:
            TypeError, ValueError: if the cards are not as from ``card_batch``, or as
                ``MixtureOfDepths`` does.
        """
        x = self.embed(cards)
        weights = {"oracle": cards[..., 2].to(x.dtype), "random": draws}.get(self.way)
        x, kept = self.layer(x, routing=routing, weights=weights)
        return CardPass(self.readout(x), kept)

    def embed(self, cards: Int[Tensor, "B T 3"]) -> Float[Tensor, "B T C"]:
        """Return each card's vector: the sum of those of its digits and its sign.

        Raises:
            TypeError, ValueError: if the cards are not as from ``card_batch``.
        """
        _check_cards(cards)
        left, right, sign = cards.unbind(dim=-1)
        return self.left(left) + self.right(right) + self.sign(sign)


def card_loss(
    model: Callable[..., tuple[Tensor, Kept]],
    cards: Int[Tensor, "B T 3"],
    answers: Int[Tensor, "B T"],
    draws: Float[Tensor, "B T"],
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the answers, in nats, plus the predictor's loss.

    Args:
        model: a ``CardReader``, or a function that stands in for one.
        cards: as from ``card_batch``.
        answers: as from ``card_batch``.
        draws: as from ``card_batch``.

    Raises:
        TypeError, ValueError: if model is not callable, or the answers are not as from
            ``card_batch``; as ``CardReader.forward`` does.

    >>> batch = card_batch(torch.Generator().manual_seed(0))
    >>> bool(card_loss(CardReader(0.25), *batch) > 1)
    True
    """
    if not callable(model):
        raise TypeError(f"model must be callable, got {model!r} ({type(model).__name__})")
    check_ids("answers", answers, "B T", _DIGITS + 1)
    scores, kept = model(cards, draws)
    if answers.shape != scores.shape[:2]:
        raise ValueError(
            f"answers must be one for each card {tuple(scores.shape[:2])}, "
            f"got shape {tuple(answers.shape)}"
        )
    return cross_entropy(scores.flatten(0, 1), answers.flatten()) + predictor_loss(kept)


class CardScores(NamedTuple):
    """How well a trained reader does on 256 fresh sequences, always the same ones.

    Attributes:
        loss: mean cross-entropy of the answers, in nats, with the best of each sequence let
            through. Blanks alone cost next to nothing; a sum that is guessed costs log 5.
        sums_kept: the share of the sums that were let through, 0 to 1.
        predicted_loss: the same loss where the predictor decides.
        predictor_accuracy: the share of cards for which the predictor says what the router did.
    """

    loss: float
    sums_kept: float
    predicted_loss: float
    predictor_accuracy: float


@torch.no_grad()
def card_scores(model: nn.Module) -> CardScores:
    """Return how well a ``CardReader`` does.

    Raises:
        TypeError: if model is no CardReader.

    >>> card_scores(CardReader(0.25)).loss > 1
    True
    """
    if not isinstance(model, CardReader):
        raise TypeError(f"model must be a CardReader, got {type(model).__name__}")
    generator = torch.Generator().manual_seed(TEST_SEED)
    cards, answers, draws = card_batch(generator, batch=256)
    found = {routing: model(cards, draws, routing=routing) for routing in ROUTINGS}
    top_k, predicted = (
        cross_entropy(each.scores.flatten(0, 1), answers.flatten()).item()
        for each in found.values()
    )
    kept = found["top_k"].kept
    sums_kept = kept.mask[cards[..., 2] > 0].float().mean().item()
    return CardScores(top_k, sums_kept, predicted, predictor_accuracy(kept))


def expected_loss(capacity: float | int, way: str) -> float:
    """Return the loss of a reader that gets every card right that it can, in nats.

    A quarter of the cards are sums, and each that is not let through is a guess of log 5. The
    oracle leaves out ``1/4 - capacity`` of all cards, if any; random choice ``1/4 (1 - capacity)``.
    A router that leaves out sums by their digits can come a little below the oracle: the sums left
    out are then not equally frequent.

    Args:
        capacity: the share that is let through.
        way: ``"oracle"`` or ``"random"``.

    Raises:
        TypeError: if the capacity is no number.
        ValueError: if it is not above 0 and at most 1, or the way is another.

    >>> expected_loss(0.25, "oracle"), round(expected_loss(0.25, "random"), 3)
    (0.0, 0.302)
    """
    capacity = check_capacity(capacity)
    check_choice("way", way, ("oracle", "random"))
    missed = max(0.0, SHARE - capacity) if way == "oracle" else SHARE * (1 - capacity)
    return missed * math.log(_DIGITS)


def train_card_readers(
    ways: Iterable[str] = WAYS,
    *,
    capacity: float | int = SHARE,
    seeds: Iterable[int] = (0, 1, 2),
    steps: int = 200,
    gate: str = "one",
) -> dict[str, Training]:
    """Train a ``CardReader`` for each way: the same sizes, cards and number of steps.

    Args:
        ways: how the cards are chosen; of each way there is one training.
        capacity: the share of cards that the block takes.
        seeds: the runs of each training.
        steps: how many updates each run makes, 3 or more. For ``"router, late"`` the first third
            is made at capacity 1, and the ``Training`` returned is of the rest.
        gate: as in ``MixtureOfDepths``.

    Raises:
        TypeError, ValueError: as ``CardReader`` and ``train`` do, or if there is no way.

    >>> done = train_card_readers(["oracle"], seeds=[0], steps=3)
    >>> done["oracle"].losses.shape
    torch.Size([1, 3])
    """
    seeds, steps = check_sequence("seeds", seeds), check_int("steps", steps, minimum=3)
    capacity = check_capacity(capacity)
    found = {}
    for index, way in enumerate(check_sequence("ways", ways)):
        check_choice(f"ways[{index}]", way, WAYS)
        first = steps // 3 if way == "router, late" else steps
        start = 1 if way == "router, late" else capacity
        done = _train(
            lambda way=way, start=start: CardReader(start, way=way, gate=gate), seeds, first, way
        )
        if way == "router, late":
            readers = _with_capacity(done.models, capacity)
            # The runs go on, with cards that they have not seen.
            done = _train(
                lambda readers=readers: next(readers),
                [TEST_SEED - 1 - seed for seed in seeds],
                steps - first,
                way,
            )
        found[way] = done
    return found


@torch.no_grad()
def flipped_decisions(
    layer: MixtureOfDepths,
    x: Float[Tensor, "B T C"],
    generator: torch.Generator,
    *,
    routing: str = "top_k",
) -> float:
    """Return the share of decisions that change when a later token does: 0 if none sees it.

    Each place in turn gets another vector, drawn from N(0, 1) times the size of x's; the decisions
    of all places before it are compared. A gradient cannot show this, since a choice has none.

    Args:
        layer: whose decisions.
        x: the sequences, of two tokens or more.
        generator: draws the other vectors.
        routing: as in ``MixtureOfDepths``.

    Raises:
        TypeError: if layer is no MixtureOfDepths, or generator no torch.Generator.
        ValueError: if x has fewer than two tokens.
        TypeError, ValueError: as ``MixtureOfDepths.forward`` does.

    >>> layer, x = MixtureOfDepths(nn.Linear(6, 6), 0.5, 6), torch.randn(3, 8, 6)
    >>> flipped_decisions(layer, x, torch.Generator(), routing="predicted")
    0.0
    """
    if not isinstance(layer, MixtureOfDepths):
        raise TypeError(f"layer must be a MixtureOfDepths, got {type(layer).__name__}")
    check_generator("generator", generator)
    _, kept = layer(x, routing=routing)
    T, flipped, compared = x.shape[1], 0, 0
    if T < 2:
        raise ValueError(f"x must have two tokens or more, got shape {tuple(x.shape)}")
    for place in range(1, T):
        changed = x.clone()
        noise = torch.randn(x[:, place].shape, generator=generator)
        changed[:, place] = x.std() * noise
        _, others = layer(changed, routing=routing)
        differs = kept.mask[:, :place] != others.mask[:, :place]
        flipped, compared = flipped + int(differs.sum()), compared + differs.numel()
    return flipped / compared


def _train(build: Callable[[], nn.Module], seeds: Sequence[int], steps: int, way: str) -> Training:
    return train(
        build,
        card_batch,
        card_loss,
        seeds=seeds,
        steps=steps,
        learning_rate=0.01,
        evaluate=lambda model: card_scores(model).loss,
        every=steps,
        label=way,
    )


def _with_capacity(models: Iterable[nn.Module], capacity: float) -> Iterator[nn.Module]:
    """The same models, whose blocks take another share from now on."""
    for model in models:
        layer = model.get_submodule("layer")
        assert isinstance(layer, MixtureOfDepths)
        layer.capacity = capacity
        yield model


def _check_cards(cards: Tensor) -> None:
    __tracebackhide__ = True
    check_ids("cards", cards, "B T 3", _DIGITS)
    if cards.shape[2] != 3:
        raise ValueError(f"cards must have two digits and a sign, got shape {tuple(cards.shape)}")
    check_ids("cards' signs", cards[..., 2], "B T", 2)
