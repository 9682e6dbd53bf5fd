"""A small causal language model with a choice of position schemes.

Tokens become vectors, pass through pre-LN blocks with a causal mask, and give one row of logits
each: the scores of the next token. The five schemes differ in where positions enter:

- ``"none"``: nowhere. Only the mask distinguishes the past from the future.
- ``"learned"``, ``"sinusoidal"``: a vector for each position is added to the token's vector.
- ``"rope"``, ``"alibi"``: inside each attention layer (``Rotary``, ``Alibi``).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_utils.checks import check_choice, check_divides, make_ints
from course_utils.layers import (
    Alibi,
    EncoderBlock,
    KVCache,
    LayerNorm,
    Rotary,
)
from course_utils.layers.cache import whole_step
from course_utils.masks import causal_mask
from course_utils.models.positions_of import positions_of
from course_utils.positions import sinusoidal_positions
from course_utils.shapes import Bool, Float, Int

__all__ = ["POSITIONS", "CausalLM", "CausalLMConfig"]

POSITIONS = ("none", "learned", "sinusoidal", "rope", "alibi")


@dataclass(frozen=True)
class CausalLMConfig:
    """The sizes of a causal language model.

    Attributes:
        vocab_size: number of token ids, V.
        width: model width, C.
        num_layers: number of blocks.
        num_heads: attention heads in each block, H; they divide the width.
        max_positions: the longest sequence, with every scheme.
        positions: the position scheme, one of ``POSITIONS``.
        feedforward_width: hidden width of the feed-forward sublayers; 4 * C if None.

    Raises:
        TypeError, ValueError: if a size is not a positive integer, the heads do not divide the
            width, or the position scheme is unknown.
    """

    vocab_size: int
    width: int
    num_layers: int
    num_heads: int
    max_positions: int
    positions: str = "learned"
    feedforward_width: int | None = None

    def __post_init__(self) -> None:
        make_ints(
            self, "vocab_size", "width", "num_layers", "num_heads", "max_positions",
            "feedforward_width",
        )  # fmt: skip
        check_divides("num_heads", self.num_heads, "width", self.width)
        check_choice("positions", self.positions, POSITIONS)


class CausalLM(nn.Module):
    """A stack of pre-LN blocks that predicts each next token from those before it.

    Args:
        config: the sizes, and the position scheme.

    Source: Radford et al., "Language models are unsupervised multitask learners", 2019, for the
    order of the parts; lecture 06 builds GPT-2 itself.

    >>> model = CausalLM(CausalLMConfig(101, 12, 2, 3, max_positions=32, positions="rope"))
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

    def __init__(self, config: CausalLMConfig) -> None:
        super().__init__()
        self.config = config
        width, hidden = config.width, config.feedforward_width or 4 * config.width
        scheme = {"rope": Rotary(), "alibi": Alibi()}.get(config.positions)
        self.tokens = nn.Embedding(config.vocab_size, width)
        self._add_position_table()
        self.blocks = nn.ModuleList(
            EncoderBlock(width, config.num_heads, hidden, norm_first=True, position=scheme)
            for _ in range(config.num_layers)
        )
        self.norm = LayerNorm(width)
        self.logits = nn.Linear(width, config.vocab_size, bias=False)

    def _add_position_table(self) -> None:
        shape, kind = (self.config.max_positions, self.config.width), self.config.positions
        self.positions: Tensor | None = None
        if kind == "learned":  # the same scale as the token vectors
            self.positions = nn.Parameter(torch.randn(shape))
        elif kind == "sinusoidal":
            del self.positions
            self.register_buffer("positions", sinusoidal_positions(*shape), persistent=False)

    @whole_step
    def forward(
        self,
        token_ids: Int[Tensor, "B T"],
        *,
        caches: Sequence[KVCache] | None = None,
        may_attend: Bool[Tensor, "... #T #S"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Return the scores of the token that follows each position.

        Args:
            token_ids: one sequence per row, each id in 0 to V - 1; with caches only the newest.
            caches: from ``new_caches``, with the tokens so far. They are changed.
            may_attend: True where a token may attend to another. It replaces the causal mask;
                combine it with ``causal_mask`` to keep the model causal.

        Raises:
            TypeError, ValueError: if an id is out of range, the sequence is too long, or the caches
                differ in length.
        """
        sizes = self.config
        positions = positions_of(
            token_ids, caches, vocab_size=sizes.vocab_size, max_positions=sizes.max_positions
        )
        start, end = positions.start, positions.stop
        x = self.tokens(token_ids)  # (B, T, C)
        if self.positions is not None:
            x = x + self.positions[start:end]
        if may_attend is None:
            may_attend = causal_mask(end - start, end, device=x.device)
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks), strict=True):
            x, _ = block(x, may_attend, cache)
        return self.logits(self.norm(x))

    def new_caches(self) -> list[KVCache]:
        """Return one empty cache for each block."""
        return [KVCache() for _ in self.blocks]
