"""Masks: boolean, with one polarity. True = this query may attend to this key.

A mask has shape (T, S), or one that broadcasts to the scores (..., T, S). Masks combine with
``&`` (both must allow) and ``|`` (either may allow).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from course_utils.checks import check_int, check_rank, check_sequence
from course_utils.shapes import Bool, Int

__all__ = [
    "causal_mask",
    "padding_mask",
    "prefix_mask",
    "same_document_mask",
    "sliding_window_mask",
]


def causal_mask(
    T: int, S: int | None = None, *, device: torch.device | str | None = None
) -> Bool[Tensor, "T S"]:
    """Return the causal mask: a query attends to no key that comes after it.

    With T != S the mask is aligned at the bottom right: the last query sees the last key, so
    query t attends to the keys s <= t + S - T. This is what decoding with a cache needs, where the
    T queries are the newest of S tokens. (PyTorch's ``is_causal=True`` aligns at the top left.)

    Drawn with ``#`` for may attend::

        T=2, S=5      T=5, S=2
        # # # # .     . .
        # # # # #     . .
                      . .
                      # .
                      # #

    With T > S the first T - S queries may attend to nothing; ``attend`` gives them zeros.

    Args:
        T: number of queries.
        S: number of keys; T if None.
        device: where the mask is made.

    Raises:
        TypeError, ValueError: if T or S is not an integer of at least 1, or the device not one
            that torch knows.

    Source: Dao, "FlashAttention-2", 2023; the alignment is that of its code since version 2.1.

    >>> causal_mask(2, 5).int()
    tensor([[1, 1, 1, 1, 0],
            [1, 1, 1, 1, 1]], dtype=torch.int32)
    """
    T = check_int("T", T)
    S = T if S is None else check_int("S", S)
    _check_device(device)
    return torch.ones(T, S, dtype=torch.bool, device=device).tril(S - T)


def _check_device(device: torch.device | str | None) -> None:
    __tracebackhide__ = True
    rule = "device must be a torch.device or its name, such as 'cpu'"
    if not isinstance(device, torch.device | str | None):
        raise TypeError(f"{rule}, got {device!r} ({type(device).__name__})")
    try:
        torch.device("cpu" if device is None else device)
    except RuntimeError:
        raise ValueError(f"{rule}, got {device!r}") from None


def sliding_window_mask(
    T: int, window: int, *, device: torch.device | str | None = None
) -> Bool[Tensor, "T T"]:
    """Return the causal window: query t attends to the keys t - window + 1 to t.

    A window of 1 lets each token attend to itself alone; one of T or more is ``causal_mask(T)``.

    Args:
        T: number of queries and of keys.
        window: number of keys that a query may attend to, itself included.
        device: where the mask is made.

    Raises:
        TypeError, ValueError: if T or window is not an integer of at least 1.

    Source: Beltagy, Peters, Cohan, "Longformer", 2020, section 3.1, in its causal form.

    >>> sliding_window_mask(4, 2).int()
    tensor([[1, 0, 0, 0],
            [1, 1, 0, 0],
            [0, 1, 1, 0],
            [0, 0, 1, 1]], dtype=torch.int32)
    """
    T, window = check_int("T", T), check_int("window", window)
    return causal_mask(T, device=device).triu(1 - min(window, T))


def prefix_mask(
    T: int, prefix: int, *, device: torch.device | str | None = None
) -> Bool[Tensor, "T T"]:
    """Return the prefix mask: all attend to the first ``prefix`` keys, the rest is causal.

    Args:
        T: number of queries and of keys.
        prefix: number of leading tokens that every query attends to; 0 gives ``causal_mask(T)``.
        device: where the mask is made.

    Raises:
        TypeError, ValueError: if T is not an integer of at least 1, or prefix not one of 0 to T.

    Source: Raffel et al., "Exploring the limits of transfer learning", 2020, figure 4.

    >>> prefix_mask(4, 2).int()
    tensor([[1, 1, 0, 0],
            [1, 1, 0, 0],
            [1, 1, 1, 0],
            [1, 1, 1, 1]], dtype=torch.int32)
    """
    mask = causal_mask(T, device=device)
    prefix = check_int("prefix", prefix, minimum=0)
    if prefix > T:
        raise ValueError(f"prefix ({prefix}) must be at most T ({T})")
    mask[:, :prefix] = True
    return mask


def padding_mask(lengths: Sequence[int] | Int[Tensor, " B"], S: int) -> Bool[Tensor, "B 1 1 S"]:
    """Return the padding mask: in sequence b, only the keys 0 to lengths[b] - 1 count.

    The shape (B, 1, 1, S) broadcasts over heads and queries.

    Args:
        lengths: the number of real tokens of each sequence, 0 to S. A tensor keeps its device.
        S: the padded length.

    Raises:
        TypeError: if S or a length is not an integer.
        ValueError: if S is below 1, a length is outside 0 to S, or there is no length at all.

    >>> padding_mask([1, 3], 4)[:, 0, 0].int()
    tensor([[1, 0, 0, 0],
            [1, 1, 1, 0]], dtype=torch.int32)
    """
    S = check_int("S", S)
    device = lengths.device if isinstance(lengths, Tensor) else None
    values = _read_lengths(lengths, minimum=0, axis="B")
    for index, length in enumerate(values):
        if length > S:
            raise ValueError(f"lengths[{index}] ({length}) must be at most S ({S})")
    per_sequence = torch.tensor(values, device=device)
    return (torch.arange(S, device=device) < per_sequence[:, None])[:, None, None, :]


def _read_lengths(lengths: object, *, minimum: int, axis: str) -> list[int]:
    __tracebackhide__ = True
    if isinstance(lengths, Tensor):
        check_rank("lengths", lengths, axis)  # before a list is made of it
        lengths = lengths.tolist()
    named = enumerate(check_sequence("lengths", lengths))
    return [check_int(f"lengths[{index}]", length, minimum=minimum) for index, length in named]


def same_document_mask(
    lengths: Sequence[int] | Int[Tensor, " N"], *, device: torch.device | str | None = None
) -> Bool[Tensor, "T T"]:
    """Return the mask of packed documents: a token attends to its own document.

    Documents of different lengths are packed one behind the other into a single sequence, so that
    no room is lost to padding. Without this mask a document would attend to the one before. A
    decoder needs both rules: ``same_document_mask(lengths) & causal_mask(T)``.

    Args:
        lengths: the number of tokens of each document, in order. T is their sum.
        device: where the mask is made; that of ``lengths`` if it is a tensor, and None is given.

    Raises:
        TypeError: if a length is not an integer, or the device not one that torch knows.
        ValueError: if a length is below 1, or there is none.

    Source: Krell et al., "Efficient sequence packing without cross-contamination", 2021.

    >>> same_document_mask([2, 1]).int()
    tensor([[1, 1, 0],
            [1, 1, 0],
            [0, 0, 1]], dtype=torch.int32)
    """
    _check_device(device)
    if device is None and isinstance(lengths, Tensor):
        device = lengths.device
    sizes = torch.tensor(_read_lengths(lengths, minimum=1, axis="N"))
    documents = torch.arange(len(sizes)).repeat_interleave(sizes).to(device)  # (T,)
    return documents[:, None] == documents
