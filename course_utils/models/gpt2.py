"""GPT-2, from the formulas to a model that generates text.

With token ids u, the embeddings ``W_e`` (V, C), the positions' vectors ``W_p``, and L blocks:

- ``h_0 = W_e[u] + W_p[0 .. T - 1]``
- ``h_l = block(h_(l - 1))``, which is ``x = h + attention(LN(h))``, then
  ``h = x + W_2 gelu(W_1 LN(x) + b_1) + b_2``
- ``logits = LN(h_L) W_e^T``: the embeddings again, so the output layer costs no parameters.

GPT-2 was trained with dropout of 0.1. Ours has none.

Source: Radford et al., "Improving language understanding by generative pre-training", 2018,
equation 2, for the letters; Radford et al., "Language models are unsupervised multitask learners",
2019, section 2.3, for the norms.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor, nn

from course_utils.checks import check_divides, check_finite, make_ints
from course_utils.layers import AttentionTrace, FeedForward, KVCache, LayerNorm, MultiHeadAttention
from course_utils.layers.cache import whole_step
from course_utils.layers.gqa import GroupedQueryAttention
from course_utils.masks import causal_mask
from course_utils.models.positions_of import positions_of
from course_utils.shapes import Float, Int

__all__ = ["GPT2", "GPT2Block", "GPT2Config", "GPT2Trace"]

# The standard deviation of the weights before training; initializer_range in transformers.
INITIAL_STD = 0.02


@dataclass(frozen=True)
class GPT2Config:
    """The sizes of a GPT-2. The defaults are those of the smallest published model.

    Attributes:
        vocab_size: number of token ids, V.
        max_positions: the longest sequence.
        width: model width, C.
        num_layers: number of blocks, L.
        num_heads: attention heads in each block, H; they divide the width.
        feedforward_width: hidden width of the feed-forward sublayers, F; 4 * C if None.
        eps: of the norms.
        num_kv_heads: heads of keys and values, G, that the query heads share; they divide H. None
            gives each query head its own, as in GPT-2.

    Raises:
        TypeError, ValueError: if a size is not a positive integer, the heads do not divide the
            width, or G does not divide H.

    >>> GPT2Config().block_parameters, GPT2Config().parameters
    (7087872, 124439808)
    """

    vocab_size: int = 50257
    max_positions: int = 1024
    width: int = 768
    num_layers: int = 12
    num_heads: int = 12
    feedforward_width: int | None = None
    eps: float = 1e-5
    num_kv_heads: int | None = None

    def __post_init__(self) -> None:
        make_ints(
            self, "vocab_size", "max_positions", "width", "num_layers", "num_heads",
            "feedforward_width", "num_kv_heads",
        )  # fmt: skip
        object.__setattr__(self, "eps", check_finite("eps", self.eps))
        check_divides("num_heads", self.num_heads, "width", self.width)
        if self.num_kv_heads is not None:
            check_divides("num_kv_heads", self.num_kv_heads, "num_heads", self.num_heads)

    @property
    def hidden(self) -> int:
        """The hidden width of the feed-forward sublayers, F."""
        return self.feedforward_width or 4 * self.width

    @property
    def head_width(self) -> int:
        """The width of one head, D."""
        return self.width // self.num_heads

    @property
    def block_parameters(self) -> int:
        """Parameters of one block: attention, two layers of the feed-forward, two norms."""
        C, F = self.width, self.hidden
        shared = (self.num_kv_heads or self.num_heads) * self.head_width  # G * D
        attention = 2 * (C * C + C) + 2 * (C * shared + shared)
        return attention + (C * F + F) + (F * C + C) + 2 * (2 * C)

    @property
    def parameters(self) -> int:
        """All parameters: ``V * C + max_positions * C + L * block + 2 * C``."""
        embeddings = (self.vocab_size + self.max_positions) * self.width
        return embeddings + self.num_layers * self.block_parameters + 2 * self.width


class GPT2Block(nn.Module):
    """Causal self-attention, then a feed-forward network for each token.

    ``x = x + attention(LN(x))``, then ``x = x + feedforward(LN(x))``. The sums are never
    normalised: each sublayer adds to one residual stream, from the embeddings to the last norm.

    Args:
        config: the sizes.

    >>> import torch
    >>> block = GPT2Block(GPT2Config(width=12, num_heads=3))
    >>> x, heads = block(torch.randn(2, 5, 12))
    >>> tuple(x.shape), tuple(heads.weights.shape)
    ((2, 5, 12), (2, 3, 5, 5))
    """

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.config = config
        self.attention_norm = LayerNorm(config.width, config.eps)
        H, G = config.num_heads, config.num_kv_heads
        self.attention = (
            GroupedQueryAttention(config.width, H, G) if G else MultiHeadAttention(config.width, H)
        )
        self.feedforward_norm = LayerNorm(config.width, config.eps)
        self.feedforward = FeedForward(config.width, config.hidden, "gelu_tanh")

    @whole_step
    def forward(
        self, x: Float[Tensor, "B T C"], cache: KVCache | None = None
    ) -> tuple[Float[Tensor, "B T C"], AttentionTrace]:
        """Return the block's output, and what its heads did.

        Args:
            x: the tokens; with a cache only the newest.
            cache: keys and values of the tokens before x. It is changed.
        """
        T = x.shape[1]
        may_attend = causal_mask(T, T + (cache.length if cache else 0), device=x.device)
        mixed, heads = self.attention(self.attention_norm(x), may_attend=may_attend, cache=cache)
        x = x + mixed
        return x + self.feedforward(self.feedforward_norm(x)), heads


class GPT2Trace(NamedTuple):
    """The hidden states and heads of one forward pass.

    Attributes:
        hidden_states: h_0 to h_L: the embeddings, then each block's output.
        heads: what each block's heads did.
    """

    hidden_states: tuple[Float[Tensor, "B T C"], ...]
    heads: tuple[AttentionTrace, ...]


class GPT2(nn.Module):
    """The whole model, with random weights of the size that GPT-2's had before training.

    Args:
        config: the sizes.

    >>> import torch
    >>> model = GPT2(GPT2Config(vocab_size=101, max_positions=32, width=12, num_heads=3))
    >>> token_ids = torch.tensor([[5, 7, 11, 13, 17]])
    >>> logits = model(token_ids)
    >>> tuple(logits.shape)
    (1, 5, 101)

    The first two tokens, then the rest with the cached keys and values of the first two:

    >>> caches = model.new_caches()
    >>> parts = [model(part, caches=caches) for part in token_ids.split((2, 3), dim=1)]
    >>> torch.allclose(torch.cat(parts, dim=1), logits, atol=1e-5)
    True
    """

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.width)  # W_e
        self.positions = nn.Embedding(config.max_positions, config.width)  # W_p
        self.blocks = nn.ModuleList(GPT2Block(config) for _ in range(config.num_layers))
        self.norm = LayerNorm(config.width, config.eps)
        self._draw_weights()

    @whole_step
    def forward(
        self,
        token_ids: Int[Tensor, "B T"],
        *,
        caches: Sequence[KVCache] | None = None,
        last_only: bool = False,
    ) -> Float[Tensor, "B scored V"]:
        """Return the scores of the token that follows each position.

        Args:
            token_ids: one sequence per row, each id in 0 to V - 1; with caches only the newest.
            caches: from ``new_caches``, with the tokens so far. They are changed.
            last_only: whether to score only the last position, as generation needs.

        Raises:
            TypeError, ValueError: if an id is out of range, the sequence is too long, or the caches
                differ in length.
        """
        h = self._embed(token_ids, caches)
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks), strict=True):
            h, _ = block(h, cache)
        return self.logits(h[:, -1:] if last_only else h)

    def logits(self, h: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch V"]:
        """Return the scores ``LN(h) W_e^T``. For an earlier block's h it is the "logit lens"."""
        return self.norm(h) @ self.tokens.weight.T

    def trace(self, token_ids: Int[Tensor, "B T"]) -> GPT2Trace:
        """Return every hidden state and what every head did.

        >>> import torch
        >>> model = GPT2(GPT2Config(101, 32, 12, 2, 3))
        >>> states, heads = model.trace(torch.tensor([[5, 7, 11]]))
        >>> len(states), [tuple(of_block.weights.shape) for of_block in heads]
        (3, [(1, 3, 3, 3), (1, 3, 3, 3)])
        """
        states, all_heads = [self._embed(token_ids, None)], []
        for block in self.blocks:
            h, heads = block(states[-1])
            states.append(h)
            all_heads.append(heads)
        return GPT2Trace(tuple(states), tuple(all_heads))

    def new_caches(self) -> list[KVCache]:
        """Return one empty cache for each block."""
        return [KVCache() for _ in self.blocks]

    def _embed(self, token_ids: Tensor, caches: Sequence[KVCache] | None) -> Tensor:
        __tracebackhide__ = True
        sizes = self.config
        positions = positions_of(
            token_ids, caches, vocab_size=sizes.vocab_size, max_positions=sizes.max_positions
        )
        return self.tokens(token_ids) + self.positions.weight[positions.start : positions.stop]

    def _draw_weights(self) -> None:
        """Draw from N(0, 0.02^2); smaller in the 2 L layers that add to the residual stream."""
        adds_up = INITIAL_STD / (2 * self.config.num_layers) ** 0.5
        for name, parameter in self.named_parameters():
            if name.endswith(("attention.output.weight", "feedforward.contract.weight")):
                nn.init.normal_(parameter, std=adds_up)
            elif parameter.dim() == 2:
                nn.init.normal_(parameter, std=INITIAL_STD)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)
