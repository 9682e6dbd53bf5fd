"""Multi-head attention: self-attention, cross-attention and decoding with a cache, in one layer."""

from torch import Tensor, nn

from course_utils.attention import attend
from course_utils.checks import check_divides
from course_utils.layers.cache import KVCache, whole_step
from course_utils.layers.heads import AttentionTrace, merge_heads, split_heads
from course_utils.layers.position_schemes import PositionScheme
from course_utils.shapes import Bool, Float

__all__ = ["MultiHeadAttention"]


class MultiHeadAttention(nn.Module):
    """H heads that attend in parallel, each with its own queries, keys and values.

    ``head_h = attend(x Wq_h, source Wk_h, source Wv_h)`` and ``out = concat(heads) Wo``. The source
    of keys and values is x itself in self-attention, the memory in cross-attention. One (C, C)
    matrix holds the projections of all heads, so the number of heads does not change the number of
    parameters: ``4 * C^2``, and ``4 * C`` biases.

    Args:
        width: model width, C.
        num_heads: number of heads, H; it divides the width.
        bias: whether the four layers add a bias.
        position: ``Rotary(...)`` or ``Alibi()``, for self-attention; None adds no positions.

    Raises:
        ValueError: if the heads do not divide the width.

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
        num_heads, width = check_divides("num_heads", num_heads, "width", width)
        super().__init__()
        self.width, self.num_heads, self.position = width, num_heads, position
        self.query = nn.Linear(width, width, bias=bias)
        self.key = nn.Linear(width, width, bias=bias)
        self.value = nn.Linear(width, width, bias=bias)
        self.output = nn.Linear(width, width, bias=bias)

    @whole_step
    def forward(
        self,
        x: Float[Tensor, "B T C"],
        *,
        memory: Float[Tensor, "B S C"] | None = None,
        may_attend: Bool[Tensor, "... #T #keys"] | None = None,
        cache: KVCache | None = None,
    ) -> tuple[Float[Tensor, "B T C"], AttentionTrace]:
        """Let each token of x attend to tokens of x, or of the memory.

        With a cache, x holds only the newest tokens. Their keys and values are added to those in
        the cache, and they attend to all of them.

        Args:
            x: the tokens that attend.
            memory: the tokens attended to, in cross-attention.
            may_attend: True where a token may attend to a key, broadcastable to (B, H, T, S), where
                S includes the keys in the cache. None lets each attend to all.
            cache: keys and values of the tokens before x. It is changed.

        Returns:
            The new vectors, and what the heads did.

        Raises:
            ValueError: if the mask does not fit, or a memory comes with a cache or positions.
        """
        if memory is not None and (cache is not None or self.position is not None):
            raise ValueError("memory must come without cache and position: they count tokens of x")
        source = x if memory is None else memory
        q = split_heads(self.query(x), self.num_heads)  # (B, H, T, D)
        k = split_heads(self.key(source), self.num_heads)  # (B, H, S, D)
        v = split_heads(self.value(source), self.num_heads)
        before = 0 if cache is None else cache.length
        bias = None
        if self.position is not None:
            q = self.position.rotate(q, start=before)
            k = self.position.rotate(k, start=before)
            bias = self.position.bias(q, S=before + k.shape[2])
        if cache is not None:
            k, v = cache.append(k, v)
        out, weights = attend(q, k, v, may_attend=may_attend, bias=bias)
        return self.output(merge_heads(out)), AttentionTrace(weights, q, k)
