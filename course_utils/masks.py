"""Masks: boolean, with one polarity. True = this query may attend to this key.

A mask has shape (T, S), or one that broadcasts to the scores (..., T, S). Combine masks with ``&``
(both must allow) and ``|`` (either may allow).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from course_utils.checks import check_ids, check_int
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

    With T != S the mask is aligned at the bottom right: the last query attends to the last key, so
    query t attends to the keys s <= t + S - T. Decoding with a cache needs this, where the T
    queries are the newest of S tokens. (PyTorch's ``is_causal=True`` aligns at the top left.)

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

    Source: Dao, "FlashAttention-2", 2023; the alignment is that of its code since version 2.1.

    >>> causal_mask(2, 5).int()
    tensor([[1, 1, 1, 1, 0],
            [1, 1, 1, 1, 1]], dtype=torch.int32)
    """
    S = T if S is None else S
    return torch.ones(T, S, dtype=torch.bool, device=device).tril(S - T)


def sliding_window_mask(T: int, window: int) -> Bool[Tensor, "T T"]:
    """Return the causal window: query t attends to the keys t - window + 1 to t.

    With a window of 1 each token attends only to itself. A window of T or more gives
    ``causal_mask(T)``.

    Args:
        T: number of queries and of keys.
        window: number of keys that a query may attend to, with its own.

    Raises:
        TypeError, ValueError: if window is not an integer of at least 1.

    Source: Beltagy, Peters, Cohan, "Longformer", 2020, section 3.1, in its causal form.

    >>> sliding_window_mask(4, 2).int()
    tensor([[1, 0, 0, 0],
            [1, 1, 0, 0],
            [0, 1, 1, 0],
            [0, 0, 1, 1]], dtype=torch.int32)
    """
    return causal_mask(T).triu(1 - min(check_int("window", window), T))


def prefix_mask(T: int, prefix: int) -> Bool[Tensor, "T T"]:
    """Return the prefix mask: all attend to the first ``prefix`` keys, the rest is causal.

    Args:
        T: number of queries and of keys.
        prefix: number of leading tokens that every query attends to; 0 gives ``causal_mask(T)``.

    Raises:
        TypeError, ValueError: if prefix is not an integer from 0 to T.

    Source: Raffel et al., "Exploring the limits of transfer learning", 2020, figure 4.

    >>> prefix_mask(4, 2).int()
    tensor([[1, 1, 0, 0],
            [1, 1, 0, 0],
            [1, 1, 1, 0],
            [1, 1, 1, 1]], dtype=torch.int32)
    """
    mask = causal_mask(T)
    mask[:, : check_int("prefix", prefix, minimum=0, maximum=T)] = True
    return mask


def padding_mask(lengths: Sequence[int] | Int[Tensor, " B"], S: int) -> Bool[Tensor, "B 1 1 S"]:
    """Return the padding mask: sequence b has real keys from 0 to lengths[b] - 1.

    The shape (B, 1, 1, S) broadcasts over heads and queries.

    Args:
        lengths: the number of real tokens of each sequence, 0 to S. A tensor keeps its device.
        S: the padded length.

    Raises:
        TypeError, ValueError: if a length is not an integer from 0 to S.

    >>> padding_mask([1, 3], 4)[:, 0, 0].int()
    tensor([[1, 0, 0, 0],
            [1, 1, 1, 0]], dtype=torch.int32)
    """
    per_sequence = torch.as_tensor(lengths)
    check_ids("lengths", per_sequence, "B", S + 1)
    keys = torch.arange(S, device=per_sequence.device)
    return (keys < per_sequence[:, None])[:, None, None, :]


def same_document_mask(lengths: Sequence[int] | Int[Tensor, " N"]) -> Bool[Tensor, "T T"]:
    """Return the mask of packed documents: a token attends only to its own document.

    Documents of different lengths are packed one after another into a single sequence, so that no
    space is lost to padding. Without this mask a document would attend to the ones before it. A
    decoder needs both rules: ``same_document_mask(lengths) & causal_mask(T)``.

    Args:
        lengths: the number of tokens of each document, in order. T is their sum. A tensor keeps its
            device.

    Source: Krell et al., "Efficient sequence packing without cross-contamination", 2021.

    >>> same_document_mask([2, 1]).int()
    tensor([[1, 1, 0],
            [1, 1, 0],
            [0, 0, 1]], dtype=torch.int32)
    """
    sizes = torch.as_tensor(lengths)
    documents = torch.arange(len(sizes), device=sizes.device).repeat_interleave(sizes)  # (T,)
    return documents[:, None] == documents
