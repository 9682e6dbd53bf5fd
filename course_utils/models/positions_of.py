"""The positions of a language model's input, which follow those in its caches."""

from collections.abc import Sequence

from torch import Tensor

from course_utils.checks import check_ids
from course_utils.layers import KVCache
from course_utils.shapes import Int

__all__ = ["positions_of"]


def positions_of(
    token_ids: Int[Tensor, "B T"],
    caches: Sequence[KVCache] | None,
    *,
    vocab_size: int,
    max_positions: int,
) -> range:
    """Return the positions of the tokens.

    Args:
        token_ids: the newest tokens.
        caches: one for each block, with the tokens before; or None.
        vocab_size: number of token ids, V.
        max_positions: the longest sequence.

    Raises:
        TypeError, ValueError: if an id is out of range, the sequence is too long, or the caches
            differ in length.
    """
    __tracebackhide__ = True
    check_ids("token_ids", token_ids, "B T", vocab_size)
    lengths = {cache.length for cache in caches or ()} or {0}
    if len(lengths) > 1:
        raise ValueError(
            "caches must all have the same number of tokens, one cache for each block, "
            f"got {', '.join(str(cache.length) for cache in caches or ())}"
        )
    (start,) = lengths
    end = start + token_ids.shape[1]
    if end > max_positions:
        cached = f" ({start} of them in the caches)" if start else ""
        raise ValueError(
            f"token_ids must make at most max_positions ({max_positions}) tokens, got {end}{cached}"
        )
    return range(start, end)
