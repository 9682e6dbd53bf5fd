"""Multi-head attention: self-attention, cross-attention and the step with a cache, in one layer."""

from torch import Tensor, nn

from course_utils.attention import attend
from course_utils.checks import check_divides, check_flag, check_instance, check_may_attend
from course_utils.layers.cache import KVCache
from course_utils.layers.checks import check_cache, check_memory, check_tokens
from course_utils.layers.heads import AttentionTrace, merge_heads, split_heads
from course_utils.layers.position_schemes import PositionScheme, Rotary
from course_utils.shapes import Bool, Float

__all__ = ["MultiHeadAttention"]


class MultiHeadAttention(nn.Module):
    """H heads that attend side by side, each with queries, keys and values of its own.

    ``head_h = attend(x Wq_h, source Wk_h, source Wv_h)`` and ``out = concat(heads) Wo``. The source
    of keys and values is x itself in self-attention, the memory in cross-attention. The matrices
    of all heads lie in one (C, C) layer each, so the number of heads costs no parameters: there
    are ``4 * C^2``, and ``4 * C`` biases.

    Args:
        width: model width, C.
        num_heads: number of heads, H; it divides the width.
        bias: whether the four layers add a bias.
        position: ``Rotary(...)`` or ``Alibi()``, for self-attention; None adds no positions.

    Raises:
        TypeError: if a size is not an integer, bias not a bool, or position none of the schemes.
        ValueError: if a size is not positive, the heads do not divide the width, or the head
            width is odd with ``Rotary``.

    Source: Vaswani et al., "Attention is all you need", 2017, section 3.2.2.

    >>> import torch
    >>> layer = MultiHeadAttention(width=12, num_heads=3)
    >>> out, heads = layer(torch.randn(2, 5, 12))
    >>> tuple(out.shape), tuple(heads.weights.shape)
    ((2, 5, 12), (2, 3, 5, 5))
    """

    def __init__(
        self,
        width: int,
        num_heads: int,
        *,
        bias: bool = True,
        position: PositionScheme | None = None,
    ) -> None:
        check_divides("num_heads", num_heads, "width", width)
        check_flag("bias", bias)
        _check_position(position, width // num_heads)
        super().__init__()
        self.width, self.num_heads, self.position = width, num_heads, position
        self.query = nn.Linear(width, width, bias=bias)
        self.key = nn.Linear(width, width, bias=bias)
        self.value = nn.Linear(width, width, bias=bias)
        self.output = nn.Linear(width, width, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        *,
        memory: Float[Tensor, "B S C"] | None = None,
        may_attend: Bool[Tensor, "... #T #keys"] | None = None,
        cache: KVCache | None = None,
    ) -> tuple[Float[Tensor, "B T C"], AttentionTrace]:
        """Let each token of x attend to tokens of x, or of the memory.

        With a cache, x holds the newest tokens alone: their keys and values join those in the
        cache, and they attend to all of them. With a memory and a cache, the memory's keys and
        values are computed at the first call, and taken from the cache at the later ones.

        Args:
            x: the tokens that attend.
            memory: the tokens attended to, in cross-attention.
            may_attend: True where a token may attend to a key, broadcastable to (B, H, T, S), where
                S counts the keys from the cache too. None lets each attend to all.
            cache: what earlier calls for the same sequences have left. It is changed.

        Returns:
            The new vectors, and what the heads did.

        Raises:
            TypeError: for a dtype other than the weights', a mask that is not boolean, or a cache
                of another kind.
            ValueError: for a wrong rank, width, batch size or device, an empty sequence, a mask
                that does not fit, a memory in a layer with positions, a cache that was filled
                from other sequences, or one that is full.
        """
        self._check(x, memory, may_attend, cache)
        q = split_heads(self.query(x), self.num_heads)  # (B, H, T, D)
        k, v = self._keys_and_values(x, memory, cache)  # (B, H, S, D)
        bias = None
        if self.position is not None:  # the queries are the newest of the S tokens
            q = self.position.turn(q, start=k.shape[2] - q.shape[2])
            bias = self.position.bias(q, S=k.shape[2])
        out, weights = attend(q, k, v, may_attend=may_attend, bias=bias)
        return self.output(merge_heads(out)), AttentionTrace(weights, q, k)

    def _keys_and_values(
        self, x: Tensor, memory: Tensor | None, cache: KVCache | None
    ) -> tuple[Tensor, Tensor]:
        if cache is not None and cache.source is not None:  # the memory's, from an earlier call
            return cache.keys, cache.values
        source = x if memory is None else memory
        k = split_heads(self.key(source), self.num_heads)
        v = split_heads(self.value(source), self.num_heads)
        if self.position is not None:
            k = self.position.turn(k, start=0 if cache is None else cache.length)
        if cache is None:
            return k, v
        cache.source = memory
        return cache.append(k, v)

    def _check(
        self, x: Tensor, memory: Tensor | None, may_attend: Tensor | None, cache: KVCache | None
    ) -> None:
        """Refuse all that is wrong before the cache grows."""
        __tracebackhide__ = True
        check_tokens("x", x, self.query.weight, self.width)
        if memory is not None:
            check_memory(memory, x, self.query.weight, self.width)
            if self.position is not None:
                raise ValueError(
                    "memory must be None in a layer with positions, whose distances are those "
                    f"within one sequence, got position={self.position}"
                )
        if cache is not None:
            check_cache("cache", cache, x, self.num_heads, memory)
        B, T, _ = x.shape
        S = T + (0 if cache is None else cache.length) if memory is None else memory.shape[1]
        check_may_attend(may_attend, (B, self.num_heads, T, S), x.device)


def _check_position(position: object, head_width: int) -> None:
    __tracebackhide__ = True
    if position is not None:
        check_instance("position", position, PositionScheme, "Rotary(...), Alibi() or None")
    if isinstance(position, Rotary) and head_width % 2:
        raise ValueError(
            f"position must be no Rotary where the head width is odd ({head_width}): "
            f"it turns pairs of coordinates, got {position}"
        )
