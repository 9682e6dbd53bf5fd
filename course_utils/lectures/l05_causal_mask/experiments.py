"""A model of random tokens, which nobody can predict: trained under any mask."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from course_utils.models.causal_lm import CausalLM, CausalLMConfig
from course_utils.training import Training, train

__all__ = ["T", "V", "next_token_loss", "random_text", "train_on_random"]

V, T = 11, 16  # kinds of random tokens, and how many of them in a text


def random_text(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """32 random texts, and what comes next at each position: (32, T) and (32, T)."""
    text = torch.randint(V, (32, T + 1), generator=generator)
    return text[:, :-1], text[:, 1:]


def next_token_loss(mask: Tensor) -> Callable[..., Tensor]:
    """The loss of a model under a mask, (T, T)."""

    def loss(model: Callable[..., Tensor], x: Tensor, y: Tensor) -> Tensor:
        return cross_entropy(model(x, may_attend=mask).flatten(0, 1), y.flatten())

    return loss


def train_on_random(
    mask: Tensor, seeds: Sequence[int] = (0, 1, 2), *, steps: int = 150, width: int = 32
) -> Training:
    """Train one layer of two heads to predict random tokens under a mask, (T, T)."""
    config = CausalLMConfig(V, width=width, num_layers=1, num_heads=2, max_positions=T)
    return train(
        lambda: CausalLM(config), random_text, next_token_loss(mask),
        seeds=seeds, steps=steps, learning_rate=3e-3,
    )  # fmt: skip
