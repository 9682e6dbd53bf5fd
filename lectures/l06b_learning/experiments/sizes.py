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

from course_utils.data.course_text import course_prose
from course_utils.language_modeling import next_token_loss, split_text, text_batch, text_loss
from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.shapes import Float, Int
from course_utils.training import Training, train

WIDTHS = (8, 16, 32, 64)
WINDOW, BATCH, HEAD_WIDTH = 32, 16, 8
BYTES = 256
HELD_OUT = 8192  # bytes, the same for all models
# Adam moves each weight by about the rate, whatever the gradient, and the sums run over C weights:
# the best rate falls like 1 / C.
NARROWEST_RATE = 0.02
GPT2_WIDTH = 768


def drawn_for_width(config: GPT2Config) -> GPT2:
    """Return a GPT2 whose random weights are as large as its width asks for.

    GPT-2 draws from N(0, 0.02^2) for a width of 768. A sum over C products grows like sqrt(C), so a
    narrow model's sums would begin near 0: its weights are drawn sqrt(768 / C) times as large.
    """
    model = GPT2(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter *= (GPT2_WIDTH / config.width) ** 0.5
    return model


def size_config(width: int) -> GPT2Config:
    """Return the sizes of the model of this width: two blocks, heads of 8, windows of 32 bytes."""
    return GPT2Config(BYTES, WINDOW, width, num_layers=2, num_heads=width // HEAD_WIDTH)


@lru_cache(maxsize=1)
def course_bytes() -> tuple[Int[Tensor, " N"], Int[Tensor, " M"]]:
    """Return the course's prose as bytes: what to learn from, and 8192 that are held out."""
    ids = torch.tensor(list(course_prose().encode("utf-8")))
    return split_text(ids, 1 - HELD_OUT / len(ids))


def train_sizes(
    widths: Iterable[int] = WIDTHS,
    *,
    seeds: Iterable[int] = (0, 1),
    steps: int = 150,
    every: int = 75,  # steps between two scores
    one_rate: bool = False,  # all learn at the rate of the narrowest; else it falls as 1 / width
) -> dict[int, Training]:
    """Train one model of each width on the same windows of the course's prose.

    A step reads 16 windows of 32 bytes. The scores are the loss on the held-out bytes, in nats per
    byte; after half the steps a model has read half the bytes.
    """
    learned, held_out = course_bytes()
    return {
        config.width: train(
            lambda config=config: drawn_for_width(config),
            text_batch(learned, WINDOW, BATCH),
            next_token_loss,
            seeds=seeds,
            steps=steps,
            learning_rate=NARROWEST_RATE * (1 if one_rate else WIDTHS[0] / config.width),
            evaluate=lambda model: text_loss(model, held_out, length=WINDOW),
            every=every,
            label=f"{config.parameters} parameters",
        )
        for config in map(size_config, widths)
    }


def final_losses(
    trainings: Mapping[int, Training],  # by width
    *,
    embeddings: bool = True,  # whether N counts the vectors of tokens and places
) -> tuple[tuple[int, ...], Float[Tensor, "seeds sizes"]]:
    """Return the parameters and the last held-out losses, as ``fit_power_law`` takes them.

    Hoffmann et al. count the vectors of tokens and places, Kaplan et al. leave them out. In models
    so small they are a large part, and the exponent depends on it.
    """
    sizes, columns = [], []
    for width, done in trainings.items():
        config = size_config(width)
        aside = 0 if embeddings else (config.vocab_size + config.max_positions) * config.width
        sizes.append(config.parameters - aside)
        columns.append(done.scores[:, -1])
    return tuple(sizes), torch.stack(columns, dim=1)
