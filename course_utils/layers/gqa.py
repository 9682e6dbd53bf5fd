"""Grouped-query attention: several query heads share the keys and values of one head.

A cache holds keys and values, and no queries. With H query heads in G groups it shrinks by H / G,
and so does what each decoding step has to load. G = H is multi-head attention, where each query
head has its own keys and values. G = 1 is multi-query attention, where all share one pair.
"""

from torch import Tensor, nn

from course_utils.attention import attend
from course_utils.checks import check_divides, check_may_attend
from course_utils.layers.attention import MultiHeadAttention
from course_utils.layers.cache import KVCache, whole_step
from course_utils.layers.heads import AttentionTrace, merge_heads, split_heads
from course_utils.shapes import Bool, Float

__all__ = ["GroupedQueryAttention"]


class GroupedQueryAttention(nn.Module):
    """H query heads that share G heads of keys and values: head h uses pair ``h // (H / G)``.

    ``head_h = attend(x Wq_h, x Wk_g, x Wv_g)`` with ``g = h // (H / G)``, and
    ``out = concat(heads) Wo``. The matrices of queries and output are (C, C), those of keys and
    values (G * D, C) with D = C / H. That is ``2 * C^2 + 2 * C * G * D`` parameters, and biases.
    No key or value is copied for a second query head: see ``forward``.

    Args:
        width: model width, C.
        num_heads: query heads, H; they divide the width.
        num_kv_heads: heads of keys and values, G; they divide H.
        bias: whether the four layers add a bias.

    Raises:
        ValueError: if H does not divide C, or G does not divide H.

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
        num_heads, width = check_divides("num_heads", num_heads, "width", width)
        num_kv_heads, _ = check_divides("num_kv_heads", num_kv_heads, "num_heads", num_heads)
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
        """Return a layer whose shared heads are the means of the heads of ``layer``.

        Queries and output are copied. Of the keys, the H / G heads of each group are averaged into
        one, and so are those of the values. With G = H the layer is the same.

        Args:
            layer: a trained multi-head attention without positions.
            num_kv_heads: heads of keys and values, G; they divide the layer's heads.

        Raises:
            ValueError: if G does not divide H, or the layer has positions.

        Source: Ainslie et al., 2023, section 2.1 and figure 1.

        >>> import torch
        >>> layer = MultiHeadAttention(width=12, num_heads=6)
        >>> grouped = GroupedQueryAttention.from_multi_head(layer, num_kv_heads=3)
        >>> of_two = layer.key.weight.view(3, 2, 2, 12).mean(dim=1).view(6, 12)
        >>> torch.equal(grouped.key.weight, of_two)
        True
        """
        if layer.position is not None:  # it would be lost
            raise ValueError(f"layer must have no positions, got position={layer.position}")
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

    @whole_step
    def forward(
        self,
        x: Float[Tensor, "B T C"],
        *,
        may_attend: Bool[Tensor, "... #T #keys"] | None = None,
        cache: KVCache | None = None,
    ) -> tuple[Float[Tensor, "B T C"], AttentionTrace]:
        """Let each token of x attend to tokens of x, and return the weights too.

        The queries of a group are stacked as rows, (B, G, H / G * T, D), so that each of the G
        heads of keys sees more queries. Broadcasting the keys with ``k.unsqueeze(2)`` instead would
        make the matrix product copy them H / G times.

        Args:
            x: the tokens; with a cache only the newest.
            may_attend: True where a token may attend to a key, broadcastable to (B, H, T, S). None
                lets each attend to all.
            cache: keys and values of the tokens before x, G heads. It is changed.

        Returns:
            The new vectors, and what the heads did: weights (B, H, T, S), queries (B, H, T, D) and
            the shared keys (B, G, S, D).

        Raises:
            TypeError, ValueError: if the mask is not boolean, or does not fit.
        """
        B, T, _ = x.shape
        q = split_heads(self.query(x), self.num_heads)  # (B, H, T, D)
        k = split_heads(self.key(x), self.num_kv_heads)  # (B, G, T, D)
        v = split_heads(self.value(x), self.num_kv_heads)
        if cache is not None:
            k, v = cache.append(k, v)  # (B, G, S, D)
        if may_attend is not None:
            scores_shape = (B, self.num_heads, T, k.shape[2])
            check_may_attend(may_attend, scores_shape)
            may_attend = self._as_rows(may_attend.expand(scores_shape))
        out, weights = attend(self._as_rows(q), k, v, may_attend=may_attend)
        out, weights = self._as_heads(out, T), self._as_heads(weights, T)
        return self.output(merge_heads(out)), AttentionTrace(weights, q, k)

    def _as_rows(self, x: Tensor) -> Tensor:
        """(B, H, T, n) to (B, G, H / G * T, n)."""
        return x.unflatten(1, (self.num_kv_heads, -1)).flatten(2, 3)

    def _as_heads(self, x: Tensor, T: int) -> Tensor:
        """(B, G, H / G * T, n) to (B, H, T, n)."""
        return x.unflatten(2, (-1, T)).flatten(1, 2)


def _mean_of_groups(tensor: Tensor, num_heads: int, num_kv_heads: int) -> Tensor:
    """Average the rows of each group's heads: (H * D, ...) to (G * D, ...)."""
    heads = tensor.unflatten(0, (num_kv_heads, num_heads // num_kv_heads, -1))  # (G, H / G, D, ..)
    return heads.mean(dim=1).flatten(0, 1)
