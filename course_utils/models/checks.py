"""What a language model checks of its input before the first block computes."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from torch import Tensor

from course_utils.checks import check_ids, check_instance, check_int, check_sequence
from course_utils.layers import KVCache
from course_utils.layers.checks import check_cache

__all__ = ["check_caches_take", "check_next_tokens"]


@runtime_checkable
class _Sizes(Protocol):
    """What the configurations of all language models give."""

    @property
    def vocab_size(self) -> int:
        """Number of token ids, V."""
        ...

    @property
    def num_layers(self) -> int:
        """Number of blocks."""
        ...

    @property
    def max_positions(self) -> int:
        """The longest sequence."""
        ...


def check_next_tokens(token_ids: Tensor, caches: Sequence[KVCache] | None, config: _Sizes) -> int:
    """Check the ids, and that they fit behind those in the caches; return the first's position.

    Args:
        token_ids: what came.
        caches: one for each block, or None.
        config: the model's sizes.
    """
    __tracebackhide__ = True
    check_ids("token_ids", token_ids, "B T", config.vocab_size)
    start = 0 if caches is None else _shared_length(caches, config.num_layers)
    T = check_int("the length of token_ids, T,", token_ids.shape[1])
    longest = config.max_positions
    if start + T > longest:
        parts = f" ({start} in the caches and {T} new)" if start else ""
        raise ValueError(
            f"token_ids must make at most max_positions ({longest}) tokens, got {start + T}{parts}"
        )
    return start


def _shared_length(caches: Sequence[KVCache], num_layers: int) -> int:
    __tracebackhide__ = True
    caches = check_sequence("caches", caches, may_be_empty=True)
    for index, cache in enumerate(caches):
        check_instance(f"caches[{index}]", cache, KVCache, "a KVCache")
    lengths = [cache.length for cache in caches]
    if len(lengths) != num_layers:
        raise ValueError(f"caches must be one for each block ({num_layers}), got {len(lengths)}")
    for index, cache in enumerate(caches):
        if (first := caches.index(cache)) < index:  # by identity: both blocks would fill it
            raise ValueError(
                f"caches must be another one for each block, "
                f"got caches[{first}] again as caches[{index}]"
            )
    if len(set(lengths)) > 1:
        raise ValueError(f"caches must hold equally many positions, got {lengths}")
    return lengths[0]


def check_caches_take(
    caches: Sequence[KVCache] | None,
    x: Tensor,
    num_heads: int,
    *,
    head_width: int | None = None,
) -> None:
    """Check all caches before the first one grows: a refused call leaves them as they were.

    Args:
        caches: one for each block, or None.
        x: the new tokens' vectors, (B, T, C).
        num_heads: heads that a cache holds: H, or G where they are shared.
        head_width: as in ``check_cache``.
    """
    __tracebackhide__ = True
    for index, cache in enumerate(caches or ()):
        cache.check_room("token_ids", x.shape[1])
        check_cache(f"caches[{index}]", cache, x, num_heads, memory=None, head_width=head_width)
