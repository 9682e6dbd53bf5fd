"""A toy task for two heads: copy the token one position back, and the token three positions back.

A row of attention weights gives one mixture of values. Where the weights are fixed, a linear layer
cannot read from a mixture of two tokens which of them came first. Two heads, or two layers, give
two mixtures.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from course_utils.shapes import Float, Int

__all__ = ["BACK", "LENGTH", "TOKENS", "copy_batch", "copy_loss"]

TOKENS, LENGTH = 11, 16
BACK = (1, 3)  # the positions to copy from, counted backwards
_FIRST = max(BACK)  # the first position that has both


def copy_batch(
    generator: torch.Generator, *, batch: int = 32
) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B answered 2"]]:
    """Draw sequences of random tokens, with the two right answers for each position.

    Args:
        generator: draws the tokens.
        batch: number of sequences, B.

    Returns:
        The token ids, and the tokens ``BACK`` = 1 and 3 positions back, for the fourth and all
        later positions.

    >>> token_ids, answers = copy_batch(torch.Generator().manual_seed(0), batch=1)
    >>> token_ids[0, :5].tolist(), answers[0, :2].tolist()
    ([10, 7, 1, 3, 8], [[1, 10], [3, 7]])
    """
    token_ids = torch.randint(TOKENS, (batch, LENGTH), generator=generator)
    answers = [token_ids[:, _FIRST - back : LENGTH - back] for back in BACK]
    return token_ids, torch.stack(answers, dim=-1)


def copy_loss(
    model: Callable[..., tuple[Tensor, object]],
    token_ids: Int[Tensor, "B T"],
    answers: Int[Tensor, "B answered 2"],
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of both answers, in nats. Guessing costs log 11 = 2.4.

    A model that knows the two tokens but not their order pays log 2 · (1 − 1/11) = 0.63: one pair
    in eleven is the same token twice.

    Args:
        model: returns the scores of both answers, (B, answered, 2, V), and something else.
        token_ids: as from ``copy_batch``.
        answers: as from ``copy_batch``.
    """
    logits, _ = model(token_ids)
    return cross_entropy(logits.flatten(0, 2), answers.flatten())
