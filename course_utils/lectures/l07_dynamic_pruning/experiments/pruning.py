"""Which connections can go? A small reader of drawn digits, and three rules for pruning it.

The digits are drawn in 5 x 7 points on a field of 9 x 7, at one of three places across it, and one
point in twenty is flipped. A network of 63 inputs, 24 hidden units (ReLU) and 10 outputs reads
them.

- ``"magnitude"`` deletes the smallest weights.
- ``"brain damage"`` deletes those that cost the least loss, to second order (``layers.pruning``).
- ``"random"`` deletes any: what a rule has to beat.

Units can be rescaled without changing what a ReLU network computes: c times what goes into a unit,
and 1 / c times what comes out. Optimal Brain Damage's saliency stays the same then, weight by
weight; magnitudes do not.
"""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from course_utils.checks import (
    check_choice,
    check_finite,
    check_generator,
    check_ids,
    check_int,
    check_like,
    check_rank,
    check_seed,
    check_sequence,
)
from course_utils.layers.pruning import (
    brain_damage_saliency,
    check_sparsity,
    magnitude_saliency,
    prune,
    saliency_mask,
)
from course_utils.shapes import Float, Int
from course_utils.training import TEST_SEED, Training, train

__all__ = [
    "PIXELS",
    "RULES",
    "DigitReader",
    "digit_accuracy",
    "digit_batch",
    "digit_loss",
    "loss_rises",
    "pruned_accuracies",
    "rescale_units",
    "retrain",
    "train_digit_readers",
]

RULES = ("magnitude", "brain damage", "random")
_HEIGHT, _WIDTH, _HIDDEN, _FLIPPED = 7, 9, 24, 0.05
_LEARNING_RATE = 0.005
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
    """Draw digits: their pixels, 0 or 1, row by row, and which digit each is.

    Args:
        generator: where the random numbers come from.
        batch: number of digits, B.

    Raises:
        TypeError: if generator is not a torch.Generator, or batch not an integer.
        ValueError: if batch is less than 1.

    >>> pixels, digits = digit_batch(torch.Generator().manual_seed(0), batch=5)
    >>> tuple(pixels.shape), tuple(digits.shape)
    ((5, 63), (5,))
    """
    check_generator("generator", generator)
    B = check_int("batch", batch)
    digits = torch.randint(10, (B,), generator=generator)
    # The drawings of 5 columns stand behind 1, 2 or 3 empty ones.
    left = torch.randint(1, _WIDTH - 5, (B, 1), generator=generator)
    columns = (left + torch.arange(5)).unsqueeze(1).expand(-1, _HEIGHT, -1)  # (B, 7, 5)
    field = torch.zeros(B, _HEIGHT, _WIDTH).scatter(2, columns, _DIGITS[digits])
    flipped = torch.rand(field.shape, generator=generator) < _FLIPPED
    return torch.where(flipped, 1 - field, field).flatten(1), digits


class DigitReader(nn.Module):
    """Two layers: ``W_2 relu(W_1 x + b_1) + b_2``, with 1752 weights and 34 biases.

    >>> tuple(DigitReader()(digit_batch(torch.Generator(), batch=5)[0]).shape)
    (5, 10)
    """

    def __init__(self) -> None:
        super().__init__()
        self.expand = nn.Linear(PIXELS, _HIDDEN)
        self.readout = nn.Linear(_HIDDEN, 10)

    def forward(self, pixels: Float[Tensor, "B pixels"]) -> Float[Tensor, "B 10"]:
        """Return the scores of the ten digits.

        Raises:
            TypeError: if the pixels have another dtype than the weights.
            ValueError: if they are not rows of 63.
        """
        check_rank("pixels", pixels, "B pixels")
        check_like("pixels", pixels, "the weights", self.expand.weight)
        if pixels.shape[1] != PIXELS:
            raise ValueError(f"pixels must be rows of {PIXELS}, got shape {tuple(pixels.shape)}")
        return self.readout(self.expand(pixels).relu())


def digit_loss(
    model: Callable[[Tensor], Tensor], pixels: Float[Tensor, "B pixels"], digits: Int[Tensor, " B"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy, in nats. A guess costs log 10 = 2.3.

    Args:
        model: a ``DigitReader``, or a function that stands in for one.
        pixels: as from ``digit_batch``.
        digits: as from ``digit_batch``.

    Raises:
        TypeError: if model is not callable, or the digits are not int64.
        ValueError: if a digit is not in 0 to 9, or they are not one for each row of pixels.
        TypeError, ValueError: for pixels that the model does not take.

    >>> batch = digit_batch(torch.Generator().manual_seed(0))
    >>> 2 < digit_loss(DigitReader(), *batch).item() < 3
    True
    """
    if not callable(model):
        raise TypeError(f"model must be callable, got {model!r} ({type(model).__name__})")
    check_ids("digits", digits, "B", 10)
    scores = model(pixels)
    if len(digits) != len(scores):
        raise ValueError(
            f"digits must be one for each row of pixels ({len(scores)}), "
            f"got shape {tuple(digits.shape)}"
        )
    return cross_entropy(scores, digits)


@torch.no_grad()
def digit_accuracy(model: nn.Module) -> float:
    """Return the share of 2000 fresh digits, always the same ones, that the model reads right.

    Raises:
        TypeError: if model is no DigitReader.

    >>> digit_accuracy(DigitReader()) < 0.4
    True
    """
    _check_reader(model)
    pixels, digits = digit_batch(torch.Generator().manual_seed(TEST_SEED), batch=_TEST_DIGITS)
    return (model(pixels).argmax(dim=1) == digits).float().mean().item()


def train_digit_readers(*, seeds: Iterable[int] = (0, 1, 2), steps: int = 150) -> Training:
    """Train one ``DigitReader`` for each seed, side by side; ``scores`` holds the accuracies.

    Args:
        seeds: the runs.
        steps: how many updates each makes.

    Raises:
        TypeError, ValueError: as ``train`` does.

    >>> train_digit_readers(seeds=[0], steps=2).scores.shape
    torch.Size([1, 1])
    """
    return train(
        DigitReader,
        digit_batch,
        digit_loss,
        seeds=seeds,
        steps=steps,
        learning_rate=_LEARNING_RATE,
        evaluate=digit_accuracy,
        every=check_int("steps", steps),
        label="digit readers",
    )


def pruned_accuracies(
    models: Sequence[DigitReader], sparsities: Iterable[float], *, rules: Iterable[str] = RULES
) -> dict[str, Float[Tensor, "models sparsities"]]:
    """Prune each model to each sparsity at one go, by each rule, and measure how well it reads.

    Args:
        models: trained ``DigitReader``s.
        sparsities: shares of the weights to delete.
        rules: which rules.

    Raises:
        TypeError: if models is no sequence of DigitReaders, or a sparsity no number.
        ValueError: if one of the three is empty, a sparsity is not at least 0 and below 1, or a
            rule is unknown.

    >>> pruned_accuracies([DigitReader()], [0, 0.5], rules=["magnitude"])["magnitude"].shape
    torch.Size([1, 2])
    """
    models = check_sequence("models", models)
    for index, model in enumerate(models):
        _check_reader(model, f"models[{index}]")
    sparsities = check_sequence("sparsities", sparsities)
    for index, share in enumerate(sparsities):
        check_sparsity(share, f"sparsities[{index}]")
    found = {}
    for rule in check_sequence("rules", rules):
        saliencies = [_saliency(model, rule, row) for row, model in enumerate(models)]
        found[rule] = torch.tensor(
            [
                [digit_accuracy(prune(model, saliency_mask(each, share))) for share in sparsities]
                for model, each in zip(models, saliencies, strict=True)
            ]
        )
    return found


def _saliency(model: DigitReader, rule: str, row: int) -> Mapping[str, Tensor]:
    check_choice("rules", rule, RULES)
    if rule == "brain damage":
        return brain_damage_saliency(model, digit_loss, *_saliency_digits())
    sizes = magnitude_saliency(model)
    if rule == "magnitude":
        return sizes
    generator = torch.Generator().manual_seed(row)
    return {name: torch.rand(size.shape, generator=generator) for name, size in sizes.items()}


def _saliency_digits() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(_SALIENCY_SEED)
    return digit_batch(generator, batch=_SALIENCY_DIGITS)


@torch.no_grad()
def loss_rises(model: DigitReader, *, every: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    """Delete single weights, each alone, and measure by how much the loss rises.

    Args:
        model: a trained ``DigitReader``.
        every: take each ``every``-th weight.

    Returns:
        Three numbers for each weight taken: the rise that Optimal Brain Damage foretells, the rise
        that is measured, both in nats, and the weight's size.

    Raises:
        TypeError: if model is no DigitReader, or every not an integer.
        ValueError: if every is less than 1.

    >>> foretold, measured, size = loss_rises(DigitReader(), every=100)
    >>> len(foretold), len(measured), len(size)
    (18, 18, 18)
    """
    _check_reader(model)
    every = check_int("every", every)
    data = _saliency_digits()
    foretold = brain_damage_saliency(model, digit_loss, *data)
    intact, changed = digit_loss(model, *data), copy.deepcopy(model)
    rows = [dict(changed.named_parameters())[name].view(-1) for name in foretold]
    places = [(row, place) for row in rows for place in range(len(row))][::every]
    measured, sizes = [], []
    for row, place in places:
        weight = row[place].item()
        row[place] = 0.0
        measured.append(digit_loss(changed, *data) - intact)
        sizes.append(abs(weight))
        row[place] = weight
    flat = torch.cat([each.flatten() for each in foretold.values()])
    return flat[::every], torch.stack(measured), torch.tensor(sizes)


@torch.no_grad()
def rescale_units(
    model: DigitReader, generator: torch.Generator, *, spread: float | int = 4.0
) -> DigitReader:
    """Return a copy that computes the same, up to rounding, with weights of other sizes.

    Each hidden unit gets a factor c: its weights and its bias times c, what leaves it times 1 / c.
    relu(c x) is c relu(x) for c > 0.

    Args:
        model: a ``DigitReader``.
        generator: draws the factors, between 1 / spread and spread, uniform in their logarithm.
        spread: the largest factor, at least 1.

    Raises:
        TypeError: if model is no DigitReader, generator no torch.Generator, or spread no number.
        ValueError: if spread is below 1.

    >>> model, pixels = DigitReader(), digit_batch(torch.Generator(), batch=5)[0]
    >>> other = rescale_units(model, torch.Generator())
    >>> torch.allclose(other(pixels), model(pixels), atol=1e-5)
    True
    """
    _check_reader(model)
    check_generator("generator", generator)
    if check_finite("spread", spread) < 1:
        raise ValueError(f"spread must be at least 1, got {spread}")
    factors = float(spread) ** (2 * torch.rand(_HIDDEN, generator=generator) - 1)
    rescaled = copy.deepcopy(model)
    rescaled.expand.weight.mul_(factors[:, None])
    rescaled.expand.bias.mul_(factors)
    rescaled.readout.weight.div_(factors)
    return rescaled


def retrain(
    model: DigitReader, masks: Mapping[str, Tensor], *, steps: int = 100, seed: int = 0
) -> DigitReader:
    """Prune a copy and train on what is left: the second half of LeCun et al.'s recipe.

    Args:
        model: a trained ``DigitReader``.
        masks: what to keep, as from ``saliency_mask``; the rest stays zero.
        steps: how many updates.
        seed: of the batches.

    Raises:
        TypeError, ValueError: if model is no DigitReader, the steps are no positive integer, the
            seed is none, or as ``prune`` does.

    >>> from course_utils.layers.pruning import kept_weights, magnitude_mask
    >>> model = DigitReader()
    >>> kept_weights(retrain(model, magnitude_mask(model, 0.75), steps=2)) <= 1752 // 4 + 34
    True
    """
    _check_reader(model)
    steps, stream = check_int("steps", steps), torch.Generator().manual_seed(check_seed(seed))
    pruned = prune(model, masks)
    parameters = dict(pruned.named_parameters())
    update = torch.optim.Adam(pruned.parameters(), lr=_LEARNING_RATE)
    for _ in range(steps):
        update.zero_grad()
        digit_loss(pruned, *digit_batch(stream)).backward()
        update.step()
        with torch.no_grad():  # Adam moves the deleted ones too: back to zero
            for name, mask in masks.items():
                parameters[name].mul_(mask)
    return pruned


def _check_reader(model: object, name: str = "model") -> None:
    __tracebackhide__ = True
    if not isinstance(model, DigitReader):
        raise TypeError(f"{name} must be a DigitReader, got {type(model).__name__}")
