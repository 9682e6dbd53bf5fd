"""The task of a language model: predict the next token at each position of a text.

The loss is the mean of ``-ln p(next token)``, in nats. A uniform guess costs ln V. A model that
knows how frequent each token is, and ignores the context, reaches the unigram entropy. Whatever a
model gains below that, it gains by using the context.
"""

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from course_utils.checks import check_ids
from course_utils.shapes import Float, Int

__all__ = ["next_token_loss", "split_text", "text_batch", "text_loss", "unigram_entropy"]

Text = TypeVar("Text", str, Tensor)
WINDOWS_IN_A_BATCH = 64


def split_text(text: Text, share: float) -> tuple[Text, Text]:
    """Cut a text, or its ids, in two: the first part to train on, the end held out.

    Args:
        text: a string, or ids (N,).
        share: of the text to train on, above 0 and below 1.

    Raises:
        ValueError: if one of the two parts would be empty.

    >>> split_text("abcdefghij", 0.9)
    ('abcdefghi', 'j')
    """
    first = round(share * len(text))
    if not 0 < first < len(text):
        raise ValueError(f"share must leave two parts of a text of {len(text)}, got {share}")
    return text[:first], text[first:]


def text_batch(
    ids: Int[Tensor, " N"], length: int, batch_size: int
) -> Callable[[torch.Generator], tuple[Tensor, Tensor]]:
    """Return a function that draws random windows of a text, as ``training.train`` wants it.

    It takes a generator, and returns the inputs (B, T) and the targets (B, T): the same windows,
    one token later.

    Args:
        ids: the text, (N,).
        length: of a window, T.
        batch_size: number of windows, B.

    Raises:
        ValueError: if the text has fewer than ``length + 1`` tokens.

    >>> draw = text_batch(torch.arange(97), length=5, batch_size=3)
    >>> inputs, targets = draw(torch.Generator().manual_seed(0))
    >>> tuple(inputs.shape), bool((targets == inputs + 1).all())
    ((3, 5), True)
    """
    _check_length(ids, length)

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        first = torch.randint(len(ids) - length, (batch_size, 1), generator=generator)
        windows = ids[first + torch.arange(length + 1)]  # (B, T + 1)
        return windows[:, :-1], windows[:, 1:]

    return draw


def next_token_loss(
    model: Callable[..., Tensor], inputs: Int[Tensor, "B T"], targets: Int[Tensor, "B T"]
) -> Float[Tensor, ""]:
    """Return the mean of ``-ln p(target)`` over all positions, in nats.

    Args:
        model: gives scores (B, T, V) for inputs.
        inputs: the tokens that the model sees.
        targets: the right next token at each position.

    Raises:
        TypeError, ValueError: if a target is not an id from 0 to V - 1.

    >>> uniform = lambda inputs: torch.zeros(*inputs.shape, 7)
    >>> ids = torch.tensor([[5, 2, 3]])
    >>> print(f"{next_token_loss(uniform, ids, ids):.4f} = ln 7")
    1.9459 = ln 7
    """
    logits = model(inputs)  # (B, T, V)
    check_ids("targets", targets, "B T", logits.shape[-1])  # cross_entropy would skip -100
    return cross_entropy(logits.flatten(0, 1), targets.flatten())


@torch.no_grad()
def text_loss(model: nn.Module, ids: Int[Tensor, " N"], *, length: int) -> float:
    """Return the mean loss over a whole text, in nats per token. Each token is predicted once.

    The text is cut into consecutive windows of ``length`` tokens. The first prediction in a window
    has a context of one token, so longer windows make an easier task.

    Args:
        model: gives scores (B, T, V) for ids (B, T).
        ids: the text, (N,).
        length: of a window, T.

    Raises:
        ValueError: if the text has fewer than ``length + 1`` tokens.

    >>> from course_utils.models import GPT2, GPT2Config
    >>> model = GPT2(GPT2Config(vocab_size=31, max_positions=8, width=12, num_heads=3))
    >>> ids = torch.randint(31, (200,), generator=torch.Generator().manual_seed(0))
    >>> abs(text_loss(model, ids, length=8) - torch.tensor(31).log().item()) < 0.1
    True
    """
    _check_length(ids, length)
    inputs, targets = ids[:-1], ids[1:]
    whole = len(inputs) // length * length  # the tokens in whole windows
    batches = [
        *zip(
            inputs[:whole].view(-1, length).split(WINDOWS_IN_A_BATCH),
            targets[:whole].view(-1, length).split(WINDOWS_IN_A_BATCH),
            strict=True,
        ),
        (inputs[None, whole:], targets[None, whole:]),
    ]
    losses = [next_token_loss(model, x, y) * x.numel() for x, y in batches if x.numel()]
    return (torch.stack(losses).cpu().double().sum() / len(inputs)).item()


def unigram_entropy(ids: Int[Tensor, " N"], vocab_size: int) -> float:
    """Return ``-sum p ln p`` over the shares p of the tokens in a text, in nats.

    No model that predicts the same probabilities at every position has a smaller mean loss on this
    text.

    Args:
        ids: the text, (N,).
        vocab_size: number of token ids, V.

    >>> print(f"{unigram_entropy(torch.tensor([0, 1, 0, 1, 2, 2, 3, 3]), 5):.4f} = ln 4")
    1.3863 = ln 4
    """
    shares = ids.bincount(minlength=vocab_size).cpu().double() / len(ids)
    return -torch.special.xlogy(shares, shares).sum().item()


def _check_length(ids: Tensor, length: int) -> None:
    __tracebackhide__ = True
    if len(ids) <= length:
        raise ValueError(f"ids must be at least length + 1 ({length + 1}) tokens, got {len(ids)}")
