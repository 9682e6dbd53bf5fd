"""GPT-2, from the formulas to a model that writes.

With token ids u, the embeddings ``W_e`` (V, C), the positions' vectors ``W_p``, and L blocks:

- ``h_0 = W_e[u] + W_p[0 .. T - 1]``
- ``h_l = block(h_(l - 1))``, which is ``x = h + attention(LN(h))``, then
  ``h = x + W_2 gelu(W_1 LN(x) + b_1) + b_2``
- ``logits = LN(h_L) W_e^T``: the embeddings again, so the output layer costs no parameters.

GPT-2 was trained with dropout of 0.1. Ours has none: it is the model as it is read.

Source: Radford et al., "Improving language understanding by generative pre-training", 2018,
equation 2, whose letters these are; Radford et al., "Language models are unsupervised multitask
learners", 2019, section 2.3, for the norms' places.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from course_utils.checks import (
    check_choice,
    check_divides,
    check_flag,
    check_instance,
    check_int,
    check_positive,
)
from course_utils.layers import AttentionTrace, FeedForward, KVCache, LayerNorm, MultiHeadAttention
from course_utils.layers.checks import check_tokens, check_vectors
from course_utils.layers.gqa import GroupedQueryAttention, flash_self_attention
from course_utils.masks import causal_mask
from course_utils.models.checks import check_caches_take, check_next_tokens
from course_utils.shapes import Float, Int

__all__ = ["ATTENTIONS", "GPT2", "GPT2Block", "GPT2Config", "GPT2Trace"]

ATTENTIONS = ("attend", "flash")
# The size of the weights before training; transformers names it initializer_range.
INITIAL_STD = 0.02


@dataclass(frozen=True)
class GPT2Config:
    """The sizes of a GPT-2. As they stand they are the smallest published model's.

    Attributes:
        vocab_size: number of token ids, V.
        max_positions: the longest sequence.
        width: model width, C.
        num_layers: number of blocks, L.
        num_heads: attention heads in each block, H; they divide the width.
        feedforward_width: hidden width of the feed-forward sublayers, F; 4 * C if None.
        eps: of the norms.
        attention: ``"attend"`` keeps the weights to look at, and ``training.train`` can train it;
            ``"flash"`` never forms them. The output is the same up to rounding.
        num_kv_heads: heads of keys and values, G, that the query heads share; they divide H. None
            gives each query head its own, as in GPT-2.

    Raises:
        TypeError, ValueError: if a size is not a positive integer, the heads do not divide the
            width, or G not H, eps is not finite and positive, or the attention is unknown.

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
    attention: str = "attend"
    num_kv_heads: int | None = None

    def __post_init__(self) -> None:
        for name in ("vocab_size", "max_positions", "width", "num_layers", "num_heads"):
            check_int(name, getattr(self, name))
        check_divides("num_heads", self.num_heads, "width", self.width)
        if self.feedforward_width is not None:
            check_int("feedforward_width", self.feedforward_width)
        if self.num_kv_heads is not None:
            check_divides("num_kv_heads", self.num_kv_heads, "num_heads", self.num_heads)
        check_positive("eps", self.eps)
        check_choice("attention", self.attention, ATTENTIONS)

    @property
    def hidden(self) -> int:
        """The hidden width of the feed-forward sublayers, F."""
        return self.feedforward_width or 4 * self.width

    @property
    def cached_heads(self) -> int:
        """How many heads' keys and values a block has, and a cache holds: G, or H."""
        return self.num_kv_heads or self.num_heads

    @property
    def head_width(self) -> int:
        """The width of one head, D."""
        return self.width // self.num_heads

    @property
    def block_parameters(self) -> int:
        """Numbers learned in one block: attention, two layers of the feed-forward, two norms."""
        C, F, shared = self.width, self.hidden, self.cached_heads * self.head_width
        attention = 2 * (C * C + C) + 2 * (C * shared + shared)
        return attention + (C * F + F) + (F * C + C) + 2 * (2 * C)

    @property
    def parameters(self) -> int:
        """Numbers learned in all: ``V * C + max_positions * C + L * block + 2 * C``."""
        embeddings = (self.vocab_size + self.max_positions) * self.width
        return embeddings + self.num_layers * self.block_parameters + 2 * self.width


class GPT2Block(nn.Module):
    """Attention from each token to itself and those before it, then a step for each token alone.

    ``x = x + attention(LN(x))``, then ``x = x + feedforward(LN(x))``. The sums are never
    normalised: from the embeddings to the last norm runs one stream that each sublayer adds to.

    Args:
        config: the sizes, and how attention is computed.

    Raises:
        TypeError: if config is not a GPT2Config.

    >>> block = GPT2Block(GPT2Config(width=12, num_heads=3))
    >>> x, heads = block(torch.randn(2, 5, 12))
    >>> tuple(x.shape), tuple(heads.weights.shape)
    ((2, 5, 12), (2, 3, 5, 5))
    """

    def __init__(self, config: GPT2Config) -> None:
        check_instance("config", config, GPT2Config, "a GPT2Config")
        super().__init__()
        self.config = config
        self.attention_norm = LayerNorm(config.width, config.eps)
        H, G = config.num_heads, config.num_kv_heads
        self.attention = (
            GroupedQueryAttention(config.width, H, G) if G else MultiHeadAttention(config.width, H)
        )
        self.feedforward_norm = LayerNorm(config.width, config.eps)
        self.feedforward = FeedForward(config.width, config.hidden, "gelu_tanh")

    def forward(
        self, x: Float[Tensor, "B T C"], cache: KVCache | None = None
    ) -> tuple[Float[Tensor, "B T C"], AttentionTrace | None]:
        """Return the block's output, and what its heads did; None with ``"flash"``.

        Args:
            x: the tokens; with a cache the newest alone.
            cache: what earlier calls for the same sequences have left. It is changed.

        Raises:
            TypeError: for a dtype other than the weights', or a cache of another kind.
            ValueError: for a wrong rank, width or device, no token, a cache that was filled from
                other sequences, or one that is full.
        """
        check_tokens("x", x, self.attention.query.weight, self.config.width)
        read, heads = self.attention_norm(x), None
        if self.config.attention == "flash":
            mixed = flash_self_attention(self.attention, read, causal=True, cache=cache)
        else:
            T, S = x.shape[1], x.shape[1] + (cache.length if isinstance(cache, KVCache) else 0)
            may_attend = causal_mask(T, S, device=x.device)
            mixed, heads = self.attention(read, may_attend=may_attend, cache=cache)
        x = x + mixed
        return x + self.feedforward(self.feedforward_norm(x)), heads


class GPT2Trace(NamedTuple):
    """Everything that one pass leaves to look at.

    Attributes:
        hidden_states: h_0 to h_L: the embeddings, then each block's output.
        heads: what each block's heads did; None for each block with ``"flash"``.
    """

    hidden_states: tuple[Float[Tensor, "B T C"], ...]
    heads: tuple[AttentionTrace | None, ...]


class GPT2(nn.Module):
    """The whole model. Before training its weights are random, of the size GPT-2's were.

    Args:
        config: the sizes, and how attention is computed.

    Raises:
        TypeError: if config is not a GPT2Config.

    >>> model = GPT2(GPT2Config(vocab_size=101, max_positions=32, width=12, num_heads=3))
    >>> token_ids = torch.tensor([[5, 7, 11, 13, 17]])
    >>> logits = model(token_ids)
    >>> tuple(logits.shape)
    (1, 5, 101)

    Two tokens at once and then the rest, with the keys and values of the first two kept:

    >>> caches = model.new_caches()
    >>> parts = [model(part, caches=caches) for part in token_ids.split((2, 3), dim=1)]
    >>> torch.allclose(torch.cat(parts, dim=1), logits, atol=1e-5)
    True
    """

    def __init__(self, config: GPT2Config) -> None:
        check_instance("config", config, GPT2Config, "a GPT2Config")
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.width)  # W_e
        self.positions = nn.Embedding(config.max_positions, config.width)  # W_p
        self.blocks = nn.ModuleList(GPT2Block(config) for _ in range(config.num_layers))
        self.norm = LayerNorm(config.width, config.eps)
        self._draw_weights()

    def forward(
        self,
        token_ids: Int[Tensor, "B T"],
        *,
        caches: Sequence[KVCache] | None = None,
        last_only: bool = False,
    ) -> Float[Tensor, "B scored V"]:
        """Return the scores of the token that follows each position.

        Args:
            token_ids: one sequence per row, each id in 0 to V - 1; with caches the newest alone.
            caches: from ``new_caches``; they hold the tokens so far, and take in the new ones.
            last_only: whether to score the last position alone, which is all that writing needs.

        Raises:
            TypeError: if the ids are not int64, the caches no caches, or last_only not a bool.
            ValueError: if the ids have a wrong rank, length or range, there are more tokens than
                ``max_positions`` (those in the caches included), or the caches are not one for
                each block or hold other sequences. The caches are left as they were.
        """
        check_flag("last_only", last_only)
        h = self._embed(token_ids, caches)
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks), strict=True):
            h, _ = block(h, cache)
        return self.logits(h[:, -1:] if last_only else h)

    def logits(self, h: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch V"]:
        """Score every token by the stream: ``LN(h) W_e^T``. Of an earlier h, the "logit lens".

        Raises:
            TypeError: if h has another dtype than the weights.
            ValueError: if h has another width or device.
        """
        check_vectors("h", h, self.norm.weight, self.config.width)
        return self.norm(h) @ self.tokens.weight.T

    def trace(self, token_ids: Int[Tensor, "B T"]) -> GPT2Trace:
        """Return every hidden state and what every head did.

        Raises:
            TypeError, ValueError: as ``forward`` does.

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
        """Return one empty cache for each block, with room for ``max_positions``."""
        return [KVCache(self.config.max_positions) for _ in self.blocks]

    def _embed(self, token_ids: Tensor, caches: Sequence[KVCache] | None) -> Tensor:
        __tracebackhide__ = True
        config = self.config
        start = check_next_tokens(token_ids, caches, config)
        places = torch.arange(start, start + token_ids.shape[1], device=token_ids.device)
        h = self.tokens(token_ids) + self.positions(places)
        check_caches_take(caches, h, config.cached_heads, head_width=config.head_width)
        return h

    def _draw_weights(self) -> None:
        """Draw from N(0, 0.02^2); what is added to the stream smaller, as 2 L layers add to it."""
        adds_up = INITIAL_STD / (2 * self.config.num_layers) ** 0.5
        for name, parameter in self.named_parameters():
            if name.endswith(("attention.output.weight", "feedforward.contract.weight")):
                nn.init.normal_(parameter, std=adds_up)
            elif parameter.dim() == 2:
                nn.init.normal_(parameter, std=INITIAL_STD)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)
