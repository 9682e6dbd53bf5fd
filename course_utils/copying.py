"""A task for two heads: say at each place which token stood one place back, and which three back.

One row of weights brings one mixture of values. Two tokens in one mixture are a bag: which of them
stood where is lost, unless something tells them apart. Two heads, or two layers, bring two.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from course_utils.checks import check_callable, check_generator, check_ids, check_int
from course_utils.shapes import Float, Int

__all__ = ["BACK", "LENGTH", "TOKENS", "copy_batch", "copy_loss"]

TOKENS, LENGTH = 11, 16
BACK = (1, 3)  # the places to copy from, counted backwards
_FIRST = max(BACK)  # the first place that has both


def copy_batch(
    generator: torch.Generator, *, batch: int = 32
) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B asked 2"]]:
    """Draw sequences of random tokens, and the two right answers at each place.

    Args:
        generator: where the random numbers come from.
        batch: number of sequences, B.

    Returns:
        The token ids, and the tokens that stood ``BACK`` = 1 and 3 places back, for each place
        that has both: the fourth and all later ones.

    Raises:
        TypeError: if generator is not a torch.Generator, or batch not an integer.
        ValueError: if batch is less than 1.

    >>> token_ids, answers = copy_batch(torch.Generator().manual_seed(0), batch=1)
    >>> token_ids[0, :5].tolist(), answers[0, :2].tolist()
    ([10, 7, 1, 3, 8], [[1, 10], [3, 7]])
    """
    check_generator("generator", generator)
    token_ids = torch.randint(TOKENS, (check_int("batch", batch), LENGTH), generator=generator)
    answers = [token_ids[:, _FIRST - back : LENGTH - back] for back in BACK]
    return token_ids, torch.stack(answers, dim=-1)


def copy_loss(
    model: Callable[..., tuple[Tensor, object]],
    token_ids: Int[Tensor, "B T"],
    answers: Int[Tensor, "B asked 2"],
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of both answers, in nats. A guess costs log 11 = 2.4.

    Knowing the two tokens but not their order costs log 2 · (1 − 1/11) = 0.63: of the pairs, one
    in eleven is twice the same token.

    Args:
        model: returns the scores of both answers, (B, asked, 2, V), and something else.
        token_ids: as from ``copy_batch``.
        answers: as from ``copy_batch``.

    Raises:
        TypeError, ValueError: if model is not callable, or the ids or the answers are not as from
            ``copy_batch``.
    """
    check_callable("model", model)
    check_ids("token_ids", token_ids, "B T", TOKENS)
    check_ids("answers", answers, "B asked 2", TOKENS)
    B = len(token_ids)
    for name, tensor, expected in (
        ("token_ids", token_ids, (B, LENGTH)),
        ("answers", answers, (B, LENGTH - _FIRST, 2)),
    ):
        if tensor.shape != expected:
            raise ValueError(f"{name} must have shape {expected}, got shape {tuple(tensor.shape)}")
    logits, _ = model(token_ids)
    return cross_entropy(logits.flatten(0, 2), answers.flatten())
