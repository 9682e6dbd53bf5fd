"""The blocks that transformers are stacks of: an encoder's, and a decoder's.

Each sublayer's output is added to its input. Where the norm stands is the difference between two
families. Post-LN, as in the first transformer and BERT, normalises the sum:
``x = norm(x + sublayer(x))``. Pre-LN, as in GPT-2, normalises what the sublayer reads, and leaves
the sum alone: ``x = x + sublayer(norm(x))``. A stack of those needs one more norm at its end.
"""

from torch import Tensor, nn

from course_utils.checks import check_flag, check_instance, check_may_attend
from course_utils.layers.attention import MultiHeadAttention
from course_utils.layers.cache import DecoderCache, KVCache
from course_utils.layers.checks import check_cache, check_memory, check_tokens
from course_utils.layers.feedforward import FeedForward
from course_utils.layers.heads import AttentionTrace
from course_utils.layers.norm import LayerNorm
from course_utils.layers.position_schemes import PositionScheme
from course_utils.masks import causal_mask
from course_utils.shapes import Bool, Float

__all__ = ["DecoderBlock", "EncoderBlock"]


class EncoderBlock(nn.Module):
    """Self-attention, then a feed-forward network. Under a causal mask it is GPT's block.

    Args:
        width: model width, C.
        num_heads: number of heads, H; it divides the width.
        hidden: width inside the feed-forward network.
        activation: of the feed-forward network, ``"gelu"``, ``"gelu_tanh"`` or ``"relu"``.
        norm_first: True for pre-LN, False for post-LN.
        eps: of the norms.
        position: what the attention does with positions, as in ``MultiHeadAttention``.

    Raises:
        TypeError, ValueError: for what one of the sublayers does not take, or if norm_first is no
            flag.

    Source: Vaswani et al., "Attention is all you need", 2017, section 3.1; Xiong et al., "On layer
    normalization in the transformer architecture", 2020, on where the norm stands.

    >>> import torch
    >>> block = EncoderBlock(width=12, num_heads=3, hidden=48)
    >>> x, heads = block(torch.randn(2, 5, 12))
    >>> tuple(x.shape), tuple(heads.weights.shape)
    ((2, 5, 12), (2, 3, 5, 5))
    """

    def __init__(
        self,
        width: int,
        num_heads: int,
        hidden: int,
        *,
        activation: str = "gelu",
        norm_first: bool = False,
        eps: float = 1e-5,
        position: PositionScheme | None = None,
    ) -> None:
        check_flag("norm_first", norm_first)
        super().__init__()
        self.norm_first = norm_first
        self.attention = MultiHeadAttention(width, num_heads, position=position)
        self.attention_norm = LayerNorm(width, eps)
        self.feedforward = FeedForward(width, hidden, activation)
        self.feedforward_norm = LayerNorm(width, eps)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        may_attend: Bool[Tensor, "... #T #S"] | None = None,
        cache: KVCache | None = None,
    ) -> tuple[Float[Tensor, "B T C"], AttentionTrace]:
        """Return the block's output, and what its heads did.

        Args:
            x: the tokens, (B, T, C); with a cache the newest alone.
            may_attend: True where a token may attend to another, broadcastable to (B, H, T, S).
            cache: what earlier calls for the same sequences have left. It is changed.

        Raises:
            TypeError, ValueError: as ``MultiHeadAttention`` does.
        """
        if self.norm_first:
            mixed, heads = self.attention(
                self.attention_norm(x), may_attend=may_attend, cache=cache
            )
            x = x + mixed
            return x + self.feedforward(self.feedforward_norm(x)), heads
        mixed, heads = self.attention(x, may_attend=may_attend, cache=cache)
        x = self.attention_norm(x + mixed)
        return self.feedforward_norm(x + self.feedforward(x)), heads


class DecoderBlock(nn.Module):
    """Causal self-attention, cross-attention to a memory, then a feed-forward network.

    Args:
        width: model width, C, which the memory has too.
        num_heads: number of heads, H; it divides the width.
        hidden: width inside the feed-forward network.
        activation: of the feed-forward network, ``"gelu"``, ``"gelu_tanh"`` or ``"relu"``.
        norm_first: True for pre-LN, False for post-LN.
        eps: of the norms.
        position: what the self-attention does with positions. The cross-attention does nothing:
            the places of x and of the memory lie in two sequences.

    Raises:
        TypeError, ValueError: for what one of the sublayers does not take, or if norm_first is no
            flag.

    Source: Vaswani et al., "Attention is all you need", 2017, section 3.1 and figure 1.

    >>> import torch
    >>> block = DecoderBlock(width=12, num_heads=3, hidden=48)
    >>> x, (own, cross) = block(torch.randn(2, 5, 12), torch.randn(2, 7, 12))
    >>> tuple(x.shape), tuple(own.weights.shape), tuple(cross.weights.shape)
    ((2, 5, 12), (2, 3, 5, 5), (2, 3, 5, 7))
    """

    def __init__(
        self,
        width: int,
        num_heads: int,
        hidden: int,
        *,
        activation: str = "gelu",
        norm_first: bool = False,
        eps: float = 1e-5,
        position: PositionScheme | None = None,
    ) -> None:
        check_flag("norm_first", norm_first)
        super().__init__()
        self.norm_first = norm_first
        self.self_attention = MultiHeadAttention(width, num_heads, position=position)
        self.self_attention_norm = LayerNorm(width, eps)
        self.cross_attention = MultiHeadAttention(width, num_heads)
        self.cross_attention_norm = LayerNorm(width, eps)
        self.feedforward = FeedForward(width, hidden, activation)
        self.feedforward_norm = LayerNorm(width, eps)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        memory: Float[Tensor, "B S C"],
        *,
        may_attend: Bool[Tensor, "... #T #own"] | None = None,
        memory_may_attend: Bool[Tensor, "... #T #S"] | None = None,
        cache: DecoderCache | None = None,
    ) -> tuple[Float[Tensor, "B T C"], tuple[AttentionTrace, AttentionTrace]]:
        """Return the block's output, and what the heads did: of self-attention, of cross-attention.

        Args:
            x: the tokens; with a cache the newest alone.
            memory: the tokens to attend to in cross-attention, for example an encoder's output.
            may_attend: True where a token of x may attend to another, also in the cache;
                None is the causal mask.
            memory_may_attend: True where a token of x may attend to one of the memory; None is all.
            cache: what earlier calls for the same sequences have left. It is changed.

        Raises:
            TypeError, ValueError: as ``MultiHeadAttention`` does, or if the cache is no
                DecoderCache.
        """
        self._check(x, memory, memory_may_attend, cache)
        own_cache = None if cache is None else cache.self_attention
        if may_attend is None:
            S = x.shape[1] + (0 if own_cache is None else own_cache.length)
            may_attend = causal_mask(x.shape[1], S, device=x.device)
        own_rules = {"may_attend": may_attend, "cache": own_cache}
        cross_rules = {
            "memory": memory,
            "may_attend": memory_may_attend,
            "cache": None if cache is None else cache.cross_attention,
        }
        if self.norm_first:
            mixed, own = self.self_attention(self.self_attention_norm(x), **own_rules)
            x = x + mixed
            mixed, cross = self.cross_attention(self.cross_attention_norm(x), **cross_rules)
            x = x + mixed
            x = x + self.feedforward(self.feedforward_norm(x))
        else:
            mixed, own = self.self_attention(x, **own_rules)
            x = self.self_attention_norm(x + mixed)
            mixed, cross = self.cross_attention(x, **cross_rules)
            x = self.cross_attention_norm(x + mixed)
            x = self.feedforward_norm(x + self.feedforward(x))
        return x, (own, cross)

    def _check(
        self,
        x: Tensor,
        memory: Tensor,
        memory_may_attend: Tensor | None,
        cache: DecoderCache | None,
    ) -> None:
        """Refuse all that is wrong before the first cache grows."""
        __tracebackhide__ = True
        reader = self.cross_attention
        check_tokens("x", x, reader.key.weight, reader.width)
        check_memory(memory, x, reader.key.weight, reader.width)
        scores = (x.shape[0], reader.num_heads, x.shape[1], memory.shape[1])
        check_may_attend(memory_may_attend, scores, x.device, name="memory_may_attend")
        if cache is not None:
            check_instance("cache", cache, DecoderCache, "a DecoderCache")
            check_cache("cache", cache.cross_attention, x, reader.num_heads, memory)
