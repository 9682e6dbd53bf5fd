"""Which connections can go? A small reader of drawn digits, and three rules for pruning it.

The digits are drawn in 5 x 7 points on a field of 9 x 7, at one of three places across it, and one
point in twenty is flipped. A network of 63 inputs, 24 hidden units (ReLU) and 10 outputs reads
them.

- ``"magnitude"`` deletes the smallest weights.
- ``"brain damage"`` deletes those that cost the least loss, to second order (``layers.pruning``).
- ``"random"`` deletes any: what a rule has to beat.

Each deletes at one go, or in rounds, with training on after each: what is deleted stays deleted.

Units can be rescaled without changing what a ReLU network computes: c times what goes into a unit,
and 1 / c times what comes out. Optimal Brain Damage's saliency stays the same then, weight by
weight; magnitudes do not.
"""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear

from course_utils.layers.pruning import (
    magnitude_saliency,
    prune,
    saliency_mask,
)
from course_utils.shapes import Float, Int
from course_utils.training import TEST_SEED, Training, train

RULES = ("magnitude", "brain damage", "random")
_HEIGHT, _WIDTH, _HIDDEN, _FLIPPED = 7, 9, 24, 0.05
_STEPS = 150
PIXELS = _HEIGHT * _WIDTH
# Of the training's kind of data: what the second derivatives are averaged over.
_SALIENCY_SEED, _SALIENCY_DIGITS, _TEST_DIGITS = TEST_SEED - 1, 512, 2000
_GLYPHS = (
    "01110 10001 10011 10101 11001 10001 01110",
    "00100 01100 00100 00100 00100 00100 01110",
    "01110 10001 00001 00110 01000 10000 11111",
    "01110 10001 00001 00110 00001 10001 01110",
    "00010 00110 01010 10010 11111 00010 00010",
    "11111 10000 11110 00001 00001 10001 01110",
    "00110 01000 10000 11110 10001 10001 01110",
    "11111 00001 00010 00100 01000 01000 01000",
    "01110 10001 10001 01110 10001 10001 01110",
    "01110 10001 10001 01111 00001 00010 01100",
)
_DIGITS = torch.tensor([[[float(p) for p in row] for row in each.split()] for each in _GLYPHS])


def digit_batch(
    generator: torch.Generator, *, batch: int = 128
) -> tuple[Float[Tensor, "B pixels"], Int[Tensor, " B"]]:
    """Draw digits: their pixels, 0 or 1, row by row, and which digit each is."""
    digits = torch.randint(10, (batch,), generator=generator)
    # The drawings of 5 columns stand behind 1, 2 or 3 empty ones.
    left = torch.randint(1, _WIDTH - 5, (batch, 1), generator=generator)
    columns = (left + torch.arange(5)).unsqueeze(1).expand(-1, _HEIGHT, -1)  # (B, 7, 5)
    field = torch.zeros(batch, _HEIGHT, _WIDTH).scatter(2, columns, _DIGITS[digits])
    flipped = torch.rand(field.shape, generator=generator) < _FLIPPED
    return torch.where(flipped, 1 - field, field).flatten(1), digits


class DigitReader(nn.Module):
    """Two layers: ``W_2 relu(W_1 x + b_1) + b_2``, with 1752 weights and 34 biases.

    What ``kept_expand`` and ``kept_readout`` have a 0 for is gone, and gets no gradient.
    """

    kept_expand: Tensor
    kept_readout: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.expand = nn.Linear(PIXELS, _HIDDEN)
        self.readout = nn.Linear(_HIDDEN, 10)
        self.register_buffer("kept_expand", torch.ones(_HIDDEN, PIXELS))
        self.register_buffer("kept_readout", torch.ones(10, _HIDDEN))

    def forward(self, pixels: Float[Tensor, "B pixels"]) -> Float[Tensor, "B 10"]:
        """Return the scores of the ten digits."""
        hidden = linear(pixels, self.expand.weight * self.kept_expand, self.expand.bias).relu()
        return linear(hidden, self.readout.weight * self.kept_readout, self.readout.bias)


def digit_loss(
    model: Callable[[Tensor], Tensor], pixels: Float[Tensor, "B pixels"], digits: Int[Tensor, " B"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy, in nats. A guess costs log 10 = 2.3."""
    return cross_entropy(model(pixels), digits)


@lru_cache(maxsize=1)
def _test_digits() -> tuple[Tensor, Tensor]:
    return digit_batch(torch.Generator().manual_seed(TEST_SEED), batch=_TEST_DIGITS)


@torch.no_grad()
def digit_accuracy(model: nn.Module) -> float:
    """Return the share of 2000 fresh digits, always the same ones, that the model reads right."""
    pixels, digits = _test_digits()
    return (model(pixels).argmax(dim=1) == digits).float().mean().item()


def train_digit_readers(
    *,
    seeds: Iterable[int] = (0, 1, 2),
    steps: int = _STEPS,
    build: Callable[[], DigitReader] = DigitReader,
) -> Training:
    """Train one ``DigitReader`` for each seed, side by side; ``scores`` holds the accuracies."""
    return train(
        build,
        digit_batch,
        digit_loss,
        seeds=seeds,
        steps=steps,
        learning_rate=0.005,
        evaluate=digit_accuracy,
        every=steps,
        label="digit readers",
    )


def pruned_accuracies(
    models: Sequence[DigitReader], sparsities: Sequence[float], *, rules: Iterable[str] = RULES
) -> dict[str, Float[Tensor, "models sparsities"]]:
    """Prune each model to each sparsity at one go, by each rule, and measure how well it reads."""
    found = {}
    for rule in rules:
        saliencies = [_saliency(model, rule, row) for row, model in enumerate(models)]
        found[rule] = torch.tensor(
            [
                [digit_accuracy(prune(model, saliency_mask(each, share))) for share in sparsities]
                for model, each in zip(models, saliencies, strict=True)
            ]
        )
    return found


def pruned_in_rounds(
    models: Sequence[DigitReader],
    sparsities: Sequence[float],  # rising shares; a leading 0 deletes and trains nothing
    *,
    seeds: Sequence[int],  # one for each model, of the digits that it is trained on
    steps: int = _STEPS,  # after each round
    rules: Iterable[str] = RULES,
) -> dict[str, Float[Tensor, "models sparsities"]]:
    """Prune to one sparsity after another, train on after each, and measure how well they read."""
    rules = tuple(rules)
    # All rules together, which takes half the time; torch keeps the lower 32 bits of a seed, so
    # every rule trains on the same digits.
    runs = [(rule, row) for rule in rules for row in range(len(models))]
    now: list[Any] = [models[row] for _, row in runs]
    scores = []
    for number, share in enumerate(sparsities, start=1):
        if share:
            pairs = zip(now, runs, strict=True)
            cut = [_cut(each, rule, share, row) for each, (rule, row) in pairs]
            others = [TEST_SEED - 1 - 100 * seed - number for seed in seeds]  # unseen digits
            theirs = [place * 2**32 + each for place in range(len(rules)) for each in others]
            build = iter(cut).__next__
            now = train_digit_readers(seeds=theirs, steps=steps, build=build).models
        scores.append([digit_accuracy(each) for each in now])
    tables = torch.tensor(scores).T.split(len(models))  # of (models, sparsities)
    return dict(zip(rules, tables, strict=True))


def _cut(model: DigitReader, rule: str, share: float, row: int) -> DigitReader:
    kept = saliency_mask(_saliency(model, rule, row), share)
    cut = prune(model, kept)
    for layer in ("expand", "readout"):
        getattr(cut, f"kept_{layer}").mul_(kept[f"{layer}.weight"])
    return cut


def _saliency(model: DigitReader, rule: str, row: int) -> Mapping[str, Tensor]:
    if rule == "brain damage":
        generator = torch.Generator().manual_seed(_SALIENCY_SEED)
        pixels, _ = digit_batch(generator, batch=_SALIENCY_DIGITS)
        return _brain_damage(model, pixels)
    sizes = magnitude_saliency(model)
    if rule == "magnitude":
        return sizes
    generator = torch.Generator().manual_seed(row)
    # What is 0 has gone before, and must not come back.
    return {
        name: torch.rand(size.shape, generator=generator) * (size > 0)
        for name, size in sizes.items()
    }


@torch.no_grad()
def _brain_damage(model: DigitReader, pixels: Float[Tensor, "B pixels"]) -> dict[str, Tensor]:
    """Return what ``layers.pruning.brain_damage_saliency`` does, in milliseconds.

    The scores are linear in each weight, up to the kinks of ReLU. So the second derivative of
    ``digit_loss`` is the variance, over the ten answers as the model believes in them, of what the
    weight adds to their scores: the mean of it over the digits. No answer has to be known.
    """
    readout = model.readout.weight * model.kept_readout  # (10, hidden)
    hidden = linear(pixels, model.expand.weight * model.kept_expand, model.expand.bias).relu()
    belief = linear(hidden, readout, model.readout.bias).softmax(dim=-1)  # (B, 10)
    spread = readout - (belief @ readout)[:, None]  # (B, 10, hidden)
    of_unit = (belief[..., None] * spread.square()).sum(dim=1) * (hidden > 0)  # (B, hidden)
    curvatures = {
        "expand.weight": of_unit.T @ pixels.square() * model.kept_expand,
        "readout.weight": (belief * (1 - belief)).T @ hidden.square() * model.kept_readout,
    }
    return {
        name: curvature / len(pixels) * model.get_parameter(name).square() / 2
        for name, curvature in curvatures.items()
    }


@torch.no_grad()
def rescale_units(model: DigitReader, generator: torch.Generator) -> DigitReader:
    """Return a copy that computes the same, up to rounding, with weights of other sizes.

    Each hidden unit gets a factor c between 1/4 and 4, uniform in its logarithm: its weights and
    its bias times c, what leaves it times 1 / c. relu(c x) is c relu(x) for c > 0.
    """
    factors = 4.0 ** (2 * torch.rand(_HIDDEN, generator=generator) - 1)
    rescaled = copy.deepcopy(model)
    rescaled.expand.weight.mul_(factors[:, None])
    rescaled.expand.bias.mul_(factors)
    rescaled.readout.weight.div_(factors)
    return rescaled
