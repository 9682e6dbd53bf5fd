"""The blocks of a transformer: an encoder's, and a decoder's.

Each sublayer's output is added to its input. Two families differ in the place of the norm.
Post-LN, as in the first transformer and BERT, normalises the sum: ``x = norm(x + sublayer(x))``.
Pre-LN, as in GPT-2, normalises the sublayer's input: ``x = x + sublayer(norm(x))``. A pre-LN stack
needs one more norm at its end.
"""

from torch import Tensor, nn

from course_utils.layers.attention import MultiHeadAttention
from course_utils.layers.cache import KVCache, whole_step
from course_utils.layers.feedforward import FeedForward
from course_utils.layers.heads import AttentionTrace
from course_utils.layers.norm import LayerNorm
from course_utils.layers.position_schemes import PositionScheme
from course_utils.masks import causal_mask
from course_utils.shapes import Bool, Float

__all__ = ["DecoderBlock", "EncoderBlock"]


class EncoderBlock(nn.Module):
    """Self-attention, then a feed-forward network. With a causal mask it is GPT's block.

    Args:
        width: model width, C.
        num_heads: number of heads, H; it divides the width.
        hidden: width inside the feed-forward network.
        activation: of the feed-forward network, ``"gelu"``, ``"gelu_tanh"`` or ``"relu"``.
        norm_first: True for pre-LN, False for post-LN.
        eps: of the norms.
        position: what the attention does with positions, as in ``MultiHeadAttention``.

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
        super().__init__()
        self.norm_first = norm_first
        self.attention = MultiHeadAttention(width, num_heads, position=position)
        self.attention_norm = LayerNorm(width, eps)
        self.feedforward = FeedForward(width, hidden, activation)
        self.feedforward_norm = LayerNorm(width, eps)

    @whole_step
    def forward(
        self,
        x: Float[Tensor, "B T C"],
        may_attend: Bool[Tensor, "... #T #S"] | None = None,
        cache: KVCache | None = None,
    ) -> tuple[Float[Tensor, "B T C"], AttentionTrace]:
        """Return the block's output, and what its heads did.

        Args:
            x: the tokens, (B, T, C); with a cache only the newest.
            may_attend: True where a token may attend to another, broadcastable to (B, H, T, S).
            cache: keys and values of the tokens before x. It is changed.
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
    """Causal self-attention, cross-attention to a memory, then a feed-forward network; post-LN.

    Args:
        width: model width, C, of x and of the memory.
        num_heads: number of heads, H; it divides the width.
        hidden: width inside the feed-forward network.

    Source: Vaswani et al., "Attention is all you need", 2017, section 3.1 and figure 1.

    >>> import torch
    >>> block = DecoderBlock(width=12, num_heads=3, hidden=48)
    >>> x, (own, cross) = block(torch.randn(2, 5, 12), torch.randn(2, 7, 12))
    >>> tuple(x.shape), tuple(own.weights.shape), tuple(cross.weights.shape)
    ((2, 5, 12), (2, 3, 5, 5), (2, 3, 5, 7))
    """

    def __init__(self, width: int, num_heads: int, hidden: int) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(width, num_heads)
        self.self_attention_norm = LayerNorm(width)
        self.cross_attention = MultiHeadAttention(width, num_heads)
        self.cross_attention_norm = LayerNorm(width)
        self.feedforward = FeedForward(width, hidden)
        self.feedforward_norm = LayerNorm(width)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        memory: Float[Tensor, "B S C"],
        *,
        memory_may_attend: Bool[Tensor, "... #T #S"] | None = None,
    ) -> tuple[Float[Tensor, "B T C"], tuple[AttentionTrace, AttentionTrace]]:
        """Return the block's output, and what the heads did in self- and in cross-attention.

        Args:
            x: the tokens.
            memory: the tokens to attend to in cross-attention, for example an encoder's output.
            memory_may_attend: True where a token of x may attend to one of the memory; None is all.
        """
        may_attend = causal_mask(x.shape[1], device=x.device)
        mixed, own = self.self_attention(x, may_attend=may_attend)
        x = self.self_attention_norm(x + mixed)
        mixed, cross = self.cross_attention(x, memory=memory, may_attend=memory_may_attend)
        x = self.cross_attention_norm(x + mixed)
        return self.feedforward_norm(x + self.feedforward(x)), (own, cross)
