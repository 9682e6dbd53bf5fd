"""The task of a language model: at each place of a text, say which token comes next.

The loss is the mean of ``-ln p(next token)``, in nats. Who knows nothing pays ln V. Who knows how
frequent each token is, and does not look at the text before, pays the unigram entropy. What a model
gains below that it has from reading.
"""

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from course_utils.checks import (
    check_callable,
    check_finite,
    check_ids,
    check_instance,
    check_int,
    check_rank,
)
from course_utils.shapes import Float, Int

__all__ = ["next_token_loss", "split_text", "text_batch", "text_loss", "unigram_entropy"]

Text = TypeVar("Text", str, Tensor)
WINDOWS_AT_ONCE = 64
ANY_ID = torch.iinfo(torch.int64).max  # where the vocabulary is not known


def split_text(text: Text, share: float) -> tuple[Text, Text]:
    """Cut a text, or its ids, in two: what to learn from, and what is held out, its end.

    Args:
        text: a string, or ids (N,).
        share: of the text that is to learn from, above 0 and below 1.

    Raises:
        TypeError: if text is neither, or share not a number.
        ValueError: if the share is out of range, or one of the parts would be empty.

    >>> split_text("abcdefghij", 0.9)
    ('abcdefghi', 'j')
    """
    if not isinstance(text, str):
        check_rank("text", text, "N")
    if not 0 < check_finite("share", share) < 1:
        raise ValueError(f"share must be above 0 and below 1, got {share}")
    first = round(share * len(text))
    if first in (0, len(text)):
        raise ValueError(f"text must be long enough to be cut at {share}, got length {len(text)}")
    return text[:first], text[first:]


def text_batch(
    ids: Int[Tensor, " N"], length: int, batch_size: int
) -> Callable[[torch.Generator], tuple[Tensor, Tensor]]:
    """Return a function that draws windows of a text, as ``training.train`` wants it.

    It takes a generator, and returns the inputs (B, T) and the targets (B, T): the same windows,
    one token further on. A window may begin anywhere.

    Args:
        ids: the text, (N,).
        length: of a window, T.
        batch_size: number of windows, B.

    Raises:
        TypeError: if ids is not an int64 tensor, or a number not an integer.
        ValueError: if a number is less than 1, ids has another rank or an id below 0, or the text
            has not ``length + 1`` tokens.

    >>> draw = text_batch(torch.arange(97), length=5, batch_size=3)
    >>> inputs, targets = draw(torch.Generator().manual_seed(0))
    >>> tuple(inputs.shape), bool((targets == inputs + 1).all())
    ((3, 5), True)
    """
    check_int("batch_size", batch_size)
    _check_text(ids, check_int("length", length))

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        first = torch.randint(len(ids) - length, (batch_size, 1), generator=generator)
        windows = ids[first + torch.arange(length + 1)]  # (B, T + 1)
        return windows[:, :-1], windows[:, 1:]

    return draw


def next_token_loss(
    model: Callable[..., Tensor], inputs: Int[Tensor, "B T"], targets: Int[Tensor, "B T"]
) -> Float[Tensor, ""]:
    """Return the mean of ``-ln p(target)`` over all places, in nats.

    Args:
        model: gives scores (B, T, V) for inputs.
        inputs: the tokens that are read.
        targets: the tokens to say, one for each place.

    Raises:
        TypeError: if model is not callable, or the targets are not int64.
        ValueError: if the targets have not the shape of the inputs, or one is not in 0 to V - 1.

    >>> uniform = lambda inputs: torch.zeros(*inputs.shape, 7)
    >>> ids = torch.tensor([[5, 2, 3]])
    >>> print(f"{next_token_loss(uniform, ids, ids):.4f} = ln 7")
    1.9459 = ln 7
    """
    check_callable("model", model)
    check_rank("inputs", inputs, "B T")
    check_rank("targets", targets, "B T")
    if targets.shape != inputs.shape:
        raise ValueError(
            f"targets must have the shape of inputs {tuple(inputs.shape)}, "
            f"got {tuple(targets.shape)}"
        )
    logits = model(inputs)  # (B, T, V)
    check_ids("targets", targets, "B T", logits.shape[-1])
    return cross_entropy(logits.flatten(0, 1), targets.flatten())


@torch.no_grad()
def text_loss(model: nn.Module, ids: Int[Tensor, " N"], *, length: int) -> float:
    """Return the mean loss over a whole text, in nats per token: each token is asked for once.

    The text is read in windows of ``length`` tokens, one behind the other. The first token of a
    window is said after reading a single one, so a longer window is an easier task.

    Args:
        model: gives scores (B, T, V) for ids (B, T).
        ids: the text, (N,).
        length: of a window, T.

    Raises:
        TypeError: if model is not a module, ids not an int64 tensor, or length not an integer.
        ValueError: if length is less than 1, ids has another rank or an id below 0, or the text
            has not ``length + 1`` tokens.

    >>> from course_utils.models import GPT2, GPT2Config
    >>> model = GPT2(GPT2Config(vocab_size=31, max_positions=8, width=12, num_heads=3))
    >>> ids = torch.randint(31, (200,), generator=torch.Generator().manual_seed(0))
    >>> abs(text_loss(model, ids, length=8) - torch.tensor(31).log().item()) < 0.1
    True
    """
    check_instance("model", model, nn.Module, "an nn.Module")
    _check_text(ids, check_int("length", length))
    asked = len(ids) - 1
    whole = asked // length * length
    inputs, targets = ids[:-1], ids[1:]
    pairs = [
        *zip(
            inputs[:whole].view(-1, length).split(WINDOWS_AT_ONCE),
            targets[:whole].view(-1, length).split(WINDOWS_AT_ONCE),
            strict=True,
        ),
        (inputs[None, whole:], targets[None, whole:]),
    ]
    losses = [next_token_loss(model, *pair) * pair[0].numel() for pair in pairs if pair[0].numel()]
    return (torch.stack(losses).double().sum() / asked).item()


def unigram_entropy(ids: Int[Tensor, " N"], vocab_size: int) -> float:
    """Return ``-sum p ln p`` over the shares p of the tokens in a text, in nats.

    It is the least mean loss on this text of a model that says the same chances at each place.

    Args:
        ids: the text, (N,).
        vocab_size: number of token ids, V.

    Raises:
        TypeError: if ids is not an int64 tensor, or vocab_size not an integer.
        ValueError: if vocab_size is less than 1, ids has another rank or no token, or an id is not
            in 0 to V - 1.

    >>> print(f"{unigram_entropy(torch.tensor([0, 1, 0, 1, 2, 2, 3, 3]), 5):.4f} = ln 4")
    1.3863 = ln 4
    """
    check_ids("ids", ids, "N", check_int("vocab_size", vocab_size))
    check_int("the length of ids, N,", len(ids))
    shares = ids.bincount(minlength=vocab_size).double() / len(ids)
    return -torch.special.xlogy(shares, shares).sum().item()


def _check_text(ids: Tensor, length: int) -> None:
    __tracebackhide__ = True
    check_ids("ids", ids, "N", ANY_ID)
    if len(ids) <= length:
        raise ValueError(f"ids must be at least length + 1 ({length + 1}) tokens, got {len(ids)}")
