"""Grouped-query attention: several query heads read the keys and values of one head.

A cache holds keys and values, and no queries. With H query heads in G groups it shrinks by H / G,
and so does what each step of writing has to read. G = H is multi-head attention, each query head
with keys and values of its own; G = 1 is multi-query attention, one pair for all.
"""

from torch import Tensor, nn

from course_utils.attention import attend
from course_utils.checks import check_divides, check_flag, check_instance, check_may_attend
from course_utils.kernels import flash_attend
from course_utils.layers.attention import MultiHeadAttention
from course_utils.layers.cache import KVCache
from course_utils.layers.checks import check_cache, check_tokens
from course_utils.layers.heads import AttentionTrace, merge_heads, split_heads
from course_utils.shapes import Bool, Float

__all__ = ["GroupedQueryAttention", "flash_self_attention"]


class GroupedQueryAttention(nn.Module):
    """H query heads that share G heads of keys and values: head h uses pair ``h // (H / G)``.

    ``head_h = attend(x Wq_h, x Wk_g, x Wv_g)`` with ``g = h // (H / G)``, and
    ``out = concat(heads) Wo``. The matrices of queries and output are (C, C), those of keys and
    values (G * D, C) with D = C / H: ``2 * C^2 + 2 * C * G * D`` parameters, and as many rows of
    biases. No key or value is copied for a second query head: see ``forward``.

    Args:
        width: model width, C.
        num_heads: query heads, H; they divide the width.
        num_kv_heads: heads of keys and values, G; they divide H.
        bias: whether the four layers add a bias.

    Raises:
        TypeError: if a size is not an integer, or bias not a bool.
        ValueError: if a size is not positive, H does not divide C, or G does not divide H.

    Source: Ainslie et al., "GQA: training generalized multi-query transformer models from
    multi-head checkpoints", 2023, section 2.2; Shazeer, "Fast transformer decoding: one write-head
    is all you need", 2019, for G = 1.

    >>> import torch
    >>> layer = GroupedQueryAttention(width=12, num_heads=6, num_kv_heads=2)
    >>> out, heads = layer(torch.randn(2, 5, 12))
    >>> tuple(out.shape), tuple(heads.weights.shape), tuple(heads.keys.shape)
    ((2, 5, 12), (2, 6, 5, 5), (2, 2, 5, 2))
    """

    def __init__(self, width: int, num_heads: int, num_kv_heads: int, *, bias: bool = True) -> None:
        check_divides("num_heads", num_heads, "width", width)
        check_divides("num_kv_heads", num_kv_heads, "num_heads", num_heads)
        check_flag("bias", bias)
        super().__init__()
        self.width, self.num_heads, self.num_kv_heads = width, num_heads, num_kv_heads
        shared = num_kv_heads * (width // num_heads)  # G * D
        self.query = nn.Linear(width, width, bias=bias)
        self.key = nn.Linear(width, shared, bias=bias)
        self.value = nn.Linear(width, shared, bias=bias)
        self.output = nn.Linear(width, width, bias=bias)

    @classmethod
    def from_multi_head(
        cls, layer: MultiHeadAttention, num_kv_heads: int
    ) -> "GroupedQueryAttention":
        """Return a layer whose shared heads are the means of those that ``layer`` had.

        Queries and output are copied. The H / G heads of keys of a group, matrices and biases, are
        averaged into one, and those of values likewise. With G = H the layer is the same.

        Args:
            layer: a trained multi-head attention without positions of its own.
            num_kv_heads: heads of keys and values, G; they divide the layer's heads.

        Raises:
            TypeError: if layer is not a MultiHeadAttention, or G not an integer.
            ValueError: if G is not positive or does not divide H, or the layer has positions.

        Source: Ainslie et al., 2023, section 2.1 and figure 1.

        >>> import torch
        >>> layer = MultiHeadAttention(width=12, num_heads=6)
        >>> grouped = GroupedQueryAttention.from_multi_head(layer, num_kv_heads=3)
        >>> of_two = layer.key.weight.view(3, 2, 2, 12).mean(dim=1).view(6, 12)
        >>> torch.equal(grouped.key.weight, of_two)
        True
        """
        _check_multi_head(layer)
        has_bias = layer.query.bias is not None
        grouped = cls(layer.width, layer.num_heads, num_kv_heads, bias=has_bias)
        grouped = grouped.to(layer.query.weight)
        weights = {
            name: _mean_of_groups(tensor, layer.num_heads, num_kv_heads)
            if name.startswith(("key", "value"))
            else tensor
            for name, tensor in layer.state_dict().items()
        }
        grouped.load_state_dict(weights)
        return grouped

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        *,
        may_attend: Bool[Tensor, "... #T #keys"] | None = None,
        cache: KVCache | None = None,
    ) -> tuple[Float[Tensor, "B T C"], AttentionTrace]:
        """Let each token of x read tokens of x, and keep the weights to look at.

        The queries of a group are put one below the other, (B, G, H / G * T, D): for the G heads
        of keys they are so many more rows. Keys and values stay as they are, where a broadcast
        ``k.unsqueeze(2)`` would be copied H / G times by the matrix product within.

        Args:
            x: the tokens; with a cache the newest alone.
            may_attend: True where a token may attend to a key, broadcastable to (B, H, T, S). None
                lets each attend to all.
            cache: what earlier calls for the same sequences have left, G heads. It is changed.

        Returns:
            The new vectors, and what the heads did: weights (B, H, T, S), queries (B, H, T, D) and
            the shared keys (B, G, S, D).

        Raises:
            TypeError, ValueError: as ``MultiHeadAttention.forward`` does.
        """
        _check_input(self, x, cache)
        B, T, _ = x.shape
        S = T + (0 if cache is None else cache.length)
        check_may_attend(may_attend, (B, self.num_heads, T, S), x.device)
        q, k, v = _queries_keys_values(self, x, cache)
        if may_attend is not None:
            may_attend = self._below_each_other(may_attend.expand(B, self.num_heads, T, S))
        out, weights = attend(self._below_each_other(q), k, v, may_attend=may_attend)
        out, weights = self._side_by_side(out, T), self._side_by_side(weights, T)
        return self.output(merge_heads(out)), AttentionTrace(weights, q, k)

    def flash(
        self, x: Float[Tensor, "B T C"], *, causal: bool = False, cache: KVCache | None = None
    ) -> Float[Tensor, "B T C"]:
        """Return the same new vectors by ``flash_attend``, which forms no (T, S) matrix.

        Args:
            x: the tokens; with a cache the newest alone.
            causal: whether a token is kept from later ones.
            cache: what earlier calls for the same sequences have left, G heads. It is changed.

        Raises:
            TypeError, ValueError: as ``forward`` does, or if causal is not a bool.
        """
        return flash_self_attention(self, x, causal=causal, cache=cache)

    def _below_each_other(self, x: Tensor) -> Tensor:
        """(B, H, T, n) to (B, G, H / G * T, n)."""
        return x.unflatten(1, (self.num_kv_heads, -1)).flatten(2, 3)

    def _side_by_side(self, x: Tensor, T: int) -> Tensor:
        """(B, G, H / G * T, n) to (B, H, T, n)."""
        return x.unflatten(2, (-1, T)).flatten(1, 2)


def flash_self_attention(
    layer: MultiHeadAttention | GroupedQueryAttention,
    x: Float[Tensor, "B T C"],
    *,
    causal: bool = False,
    cache: KVCache | None = None,
) -> Float[Tensor, "B T C"]:
    """Return what the layer's self-attention gives, tile by tile, by the layer's own weights.

    Neither the (T, S) weights nor a mask is formed, and keys and values are not repeated for the
    query heads that share them.

    Args:
        layer: multi-head attention without positions of its own, or grouped-query attention.
        x: the tokens; with a cache the newest alone.
        causal: whether a token is kept from later ones.
        cache: what earlier calls for the same sequences have left. It is changed.

    Raises:
        TypeError: if layer is none of the two, causal not a bool, or for a dtype other than the
            weights', or a cache of another kind.
        ValueError: for a layer with positions, a wrong rank, width or device, no token, or a cache
            that was filled from other sequences, or one that is full.

    >>> import torch
    >>> layer, x = MultiHeadAttention(width=12, num_heads=3), torch.randn(2, 5, 12)
    >>> torch.allclose(flash_self_attention(layer, x), layer(x)[0], atol=1e-6)
    True
    """
    if not isinstance(layer, GroupedQueryAttention):
        _check_multi_head(layer)
    check_flag("causal", causal)
    _check_input(layer, x, cache)
    q, k, v = _queries_keys_values(layer, x, cache)
    return layer.output(merge_heads(flash_attend(q, k, v, causal=causal)))  # type: ignore


def _num_kv_heads(layer: MultiHeadAttention | GroupedQueryAttention) -> int:
    return layer.num_kv_heads if isinstance(layer, GroupedQueryAttention) else layer.num_heads


def _queries_keys_values(
    layer: MultiHeadAttention | GroupedQueryAttention, x: Tensor, cache: KVCache | None
) -> tuple[Tensor, Tensor, Tensor]:
    G = _num_kv_heads(layer)
    q = split_heads(layer.query(x), layer.num_heads)  # (B, H, T, D)
    k, v = split_heads(layer.key(x), G), split_heads(layer.value(x), G)  # (B, G, T, D)
    return (q, k, v) if cache is None else (q, *cache.append(k, v))  # (B, G, S, D)


def _mean_of_groups(tensor: Tensor, num_heads: int, num_kv_heads: int) -> Tensor:
    """Average the rows of each group's heads: (H * D, ...) to (G * D, ...)."""
    heads = tensor.unflatten(0, (num_kv_heads, num_heads // num_kv_heads, -1))  # (G, H / G, D, ..)
    return heads.mean(dim=1).flatten(0, 1)


def _check_input(
    layer: MultiHeadAttention | GroupedQueryAttention, x: Tensor, cache: KVCache | None
) -> None:
    """Refuse all that is wrong before the cache grows."""
    __tracebackhide__ = True
    check_tokens("x", x, layer.query.weight, layer.width)
    if cache is not None:
        D = layer.width // layer.num_heads
        check_cache("cache", cache, x, _num_kv_heads(layer), memory=None, head_width=D)


def _check_multi_head(layer: MultiHeadAttention) -> None:
    __tracebackhide__ = True
    check_instance("layer", layer, MultiHeadAttention, "a MultiHeadAttention")
    if layer.position is not None:
        raise ValueError(
            f"layer must have no positions of its own, got one with position={layer.position}"
        )
