"""Four GPT-2s of four sizes read the same course text, byte by byte: a scaling law in seconds.

All see the same number of bytes, in the same windows, and have two blocks. Their widths double, so
the parameters of the blocks grow about fourfold. They are tiny, and every one stops while its loss
still falls: it has read some 77,000 bytes, where the published laws rest on billions of tokens.
What is fitted to them is what such models do, not what large ones will.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import torch
from torch import Tensor

from course_utils.checks import check_divides, check_flag, check_sequence
from course_utils.data.course_text import course_prose
from course_utils.language_modeling import next_token_loss, split_text, text_batch, text_loss
from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.shapes import Float, Int
from course_utils.training import Training, train

__all__ = [
    "HEAD_WIDTH",
    "WIDTHS",
    "WINDOW",
    "course_bytes",
    "drawn_for_width",
    "final_losses",
    "size_config",
    "train_sizes",
]

WIDTHS = (8, 16, 32, 64)
WINDOW, BATCH, HEAD_WIDTH = 32, 16, 8
BYTES = 256
HELD_OUT = 8192  # bytes, the same for all models
# Adam moves each weight by about the rate, whatever the gradient, and the sums run over C weights:
# the best rate falls like 1 / C. Measured with these models: 0.02 for width 8, 0.003 for 64. With
# one rate for all, 0.02, the largest would end up the worst.
RATE_TIMES_WIDTH = 0.16
GPT2_WIDTH = 768


def drawn_for_width(config: GPT2Config) -> GPT2:
    """Return a GPT2 whose random weights are as large as its width asks for.

    GPT-2 draws from N(0, 0.02^2) for a width of 768. A sum over C products grows like sqrt(C), so a
    narrow model's sums would begin near 0: its weights are drawn sqrt(768 / C) times as large.

    Args:
        config: the sizes.

    Raises:
        TypeError: if config is no GPT2Config.

    >>> model = drawn_for_width(size_config(32))
    >>> 0.08 < model.tokens.weight.std().item() < 0.12
    True
    """
    model = GPT2(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter *= (GPT2_WIDTH / config.width) ** 0.5
    return model


def size_config(width: int) -> GPT2Config:
    """Return the sizes of the model of this width: two blocks, heads of 8, windows of 32 bytes.

    Raises:
        TypeError, ValueError: if width is not a positive multiple of 8.

    >>> [size_config(width).parameters for width in WIDTHS]
    [4064, 11200, 34688, 118528]
    """
    check_divides("head width", HEAD_WIDTH, "width", width)
    return GPT2Config(BYTES, WINDOW, width, num_layers=2, num_heads=width // HEAD_WIDTH)


@lru_cache(maxsize=1)
def course_bytes() -> tuple[Int[Tensor, " N"], Int[Tensor, " M"]]:
    """Return the course's prose as bytes: what to learn from, and 8192 that are held out.

    Raises:
        PackagedFileError: a RuntimeError, if the text is missing or damaged.

    >>> learned, held_out = course_bytes()
    >>> len(learned) > 200_000, len(held_out), max(learned.max(), held_out.max()) < 256
    (True, 8192, tensor(True))
    """
    ids = torch.tensor(list(course_prose().encode("utf-8")))
    return split_text(ids, 1 - HELD_OUT / len(ids))


def train_sizes(
    widths: Iterable[int] = WIDTHS,
    *,
    seeds: Iterable[int] = (0, 1),
    steps: int = 150,
    every: int = 75,
) -> dict[int, Training]:
    """Train one model of each width on the same windows of the course's prose.

    A step reads 16 windows of 32 bytes. The scores are the loss on the held-out bytes, in nats per
    byte; after half the steps a model has read half the bytes.

    Args:
        widths: one training for each.
        seeds: the runs of each training.
        steps: how many updates each run makes.
        every: number of steps between two scores.

    Raises:
        TypeError, ValueError: as ``size_config`` and ``train`` do, or if there is no width.

    >>> done = train_sizes([8], seeds=[0], steps=2)
    >>> done[8].scores.shape, 5 < done[8].scores.item() < 6
    (torch.Size([1, 1]), True)
    """
    widths = check_sequence("widths", widths)
    for index, width in enumerate(widths):
        check_divides("head width", HEAD_WIDTH, f"widths[{index}]", width)
    configs = [size_config(width) for width in widths]
    learned, held_out = course_bytes()
    return {
        config.width: train(
            lambda config=config: drawn_for_width(config),
            text_batch(learned, WINDOW, BATCH),
            next_token_loss,
            seeds=seeds,
            steps=steps,
            learning_rate=RATE_TIMES_WIDTH / config.width,
            evaluate=lambda model: text_loss(model, held_out, length=WINDOW),
            every=every,
            label=f"{config.parameters} parameters",
        )
        for config in configs
    }


def final_losses(
    trainings: Mapping[int, Training], *, embeddings: bool = True
) -> tuple[tuple[int, ...], Float[Tensor, "seeds sizes"]]:
    """Return the parameters and the last held-out losses, as ``fit_power_law`` takes them.

    Args:
        trainings: by width, as from ``train_sizes``.
        embeddings: whether N counts the vectors of tokens and places, as Hoffmann et al. do, or
            leaves them out, as Kaplan et al. do. In models so small they are a large part, and
            the exponent depends on it.

    Raises:
        TypeError: if trainings is no such mapping, or embeddings no flag.
        ValueError: if it is empty, or a training has no score.

    >>> sizes, losses = final_losses(train_sizes([8, 16], seeds=[0], steps=1))
    >>> sizes, losses.shape
    ((4064, 11200), torch.Size([1, 2]))
    """
    check_flag("embeddings", embeddings)
    if not isinstance(trainings, Mapping):
        raise TypeError(
            "trainings must be a mapping from widths to Training, "
            f"got {trainings!r:.40} ({type(trainings).__name__})"
        )
    check_sequence("trainings", trainings)
    sizes, columns = [], []
    for width, done in trainings.items():
        check_divides("head width", HEAD_WIDTH, "a width of trainings", width)
        config = size_config(width)
        if not isinstance(done, Training):
            raise TypeError(
                f"trainings[{width}] must be a Training, got {done!r:.40} ({type(done).__name__})"
            )
        if not done.steps_checked:
            raise ValueError(f"trainings[{width}] must have scores, got none")
        aside = 0 if embeddings else (config.vocab_size + config.max_positions) * config.width
        sizes.append(config.parameters - aside)
        columns.append(done.scores[:, -1])
    return tuple(sizes), torch.stack(columns, dim=1)
