"""What the layers check of their input before they compute."""

from torch import Tensor

from course_utils.checks import (
    check_floating,
    check_instance,
    check_like,
    check_not_empty,
    check_rank,
)
from course_utils.layers.cache import KVCache

__all__ = ["check_cache", "check_memory", "check_tokens", "check_vectors"]


def check_vectors(name: str, x: Tensor, weight: Tensor, width: int) -> None:
    """Check that the last axis of x holds vectors that a layer with this weight takes."""
    __tracebackhide__ = True
    check_rank(name, x, "C", exactly=False)
    check_floating(name, x)
    if x.shape[-1] != width:
        raise ValueError(
            f"{name} must have the model width, C ({width}), got shape {tuple(x.shape)}"
        )
    check_like(name, x, "the layer's weights", weight)


def check_tokens(name: str, x: Tensor, weight: Tensor, width: int, axes: str = "B T C") -> None:
    """Check that x holds sequences of such vectors, (B, T, C), with a token at least."""
    __tracebackhide__ = True
    check_rank(name, x, axes)
    check_floating(name, x)
    check_not_empty(name, x, axes=2)
    check_vectors(name, x, weight, width)


def check_memory(memory: Tensor, x: Tensor, weight: Tensor, width: int) -> None:
    """Check that x can read the memory: (B, S, C), with the batch size of x."""
    __tracebackhide__ = True
    check_tokens("memory", memory, weight, width, axes="B S C")
    if memory.shape[0] != x.shape[0]:
        raise ValueError(
            f"memory must have x's batch size ({x.shape[0]}), got shape {tuple(memory.shape)}"
        )


def check_cache(
    name: str,
    cache: KVCache,
    x: Tensor,
    num_heads: int,
    memory: Tensor | None,
    *,
    head_width: int | None = None,
) -> None:
    """Check that a layer can go on from what the cache holds.

    Args:
        name: the argument's name, for the message.
        cache: what came.
        x: the tokens that the layer reads, (B, T, C).
        num_heads: heads that a cache of this layer holds.
        memory: what keys and values are computed from in cross-attention; None for x.
        head_width: width of a head, D; ``C / num_heads`` if None, as where no heads are shared.
    """
    __tracebackhide__ = True
    check_instance(name, cache, KVCache, "a KVCache")
    source = x if memory is None else memory
    if not cache.length:
        cache.check_room("x" if memory is None else "memory", source.shape[1])
        return
    B, _, C = x.shape
    kept, expected = cache.keys, (B, num_heads, head_width or C // num_heads)
    if (sizes := (*kept.shape[:2], kept.shape[3])) != expected:
        raise ValueError(
            f"{name} must hold x's batch size, heads and head width {expected}, got {sizes}"
        )
    check_like(name, kept, "x", x)
    # Read again under another memory, the old keys and values would go unnoticed.
    if cache.source is not memory:
        expected = "the tokens before x" if memory is None else "this memory"
        raise ValueError(
            f"{name} must be new, or filled from {expected}, "
            f"got one of {cache.length} positions of {_origin(cache.source, memory)}"
        )
    if memory is None:
        cache.check_room("x", x.shape[1])


def _origin(source: Tensor | None, memory: Tensor | None) -> str:
    if source is None:
        return "self-attention"
    return "a memory" if memory is None else "another memory"
