"""A small causal language model, in which the way to tell positions apart can be chosen.

Tokens become vectors, pass through pre-LN blocks under a causal mask, and become one row of logits
each: the scores of the next token. Five ways to bring in order differ in where they do it:

- ``"none"``: nowhere. Only the mask tells the past from the future.
- ``"learned"``, ``"sinusoidal"``: a vector for each position is added to the token's vector.
- ``"rope"``, ``"alibi"``: inside each attention layer (``Rotary``, ``Alibi``).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_utils.checks import check_choice, check_divides, check_instance, check_int
from course_utils.layers import (
    Alibi,
    EncoderBlock,
    KVCache,
    LayerNorm,
    Rotary,
)
from course_utils.masks import causal_mask
from course_utils.models.checks import check_caches_take, check_next_tokens
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
        max_positions: the longest sequence, whatever the positions are.
        positions: how the model tells positions apart, one of ``POSITIONS``.
        feedforward_width: hidden width of the feed-forward sublayers; 4 * C if None.

    Raises:
        TypeError, ValueError: if a size is not a positive integer, the heads do not divide the
            width, the positions are unknown, or the width does not suit them: ``"sinusoidal"``
            needs an even width, ``"rope"`` an even head width.

    >>> CausalLMConfig(101, 30, 2, 6, 64, positions="rope")
    Traceback (most recent call last):
    ValueError: width / num_heads must be even with rope, which turns pairs, got 30 / 6 = 5
    """

    vocab_size: int
    width: int
    num_layers: int
    num_heads: int
    max_positions: int
    positions: str = "learned"
    feedforward_width: int | None = None

    def __post_init__(self) -> None:
        for name in ("vocab_size", "width", "num_layers", "num_heads", "max_positions"):
            check_int(name, getattr(self, name))
        if self.feedforward_width is not None:
            check_int("feedforward_width", self.feedforward_width)
        check_divides("num_heads", self.num_heads, "width", self.width)
        check_choice("positions", self.positions, POSITIONS)
        D = self.width // self.num_heads
        if self.positions == "sinusoidal" and self.width % 2:
            raise ValueError(
                f"width must be even with sinusoidal positions, which pair sine and cosine, "
                f"got {self.width}"
            )
        if self.positions == "rope" and D % 2:
            raise ValueError(
                f"width / num_heads must be even with rope, which turns pairs, "
                f"got {self.width} / {self.num_heads} = {D}"
            )


class CausalLM(nn.Module):
    """A stack of pre-LN blocks that predicts each next token from those before it.

    Args:
        config: the sizes, and how positions are told apart.

    Raises:
        TypeError: if config is not a CausalLMConfig.

    Source: Radford et al., "Language models are unsupervised multitask learners", 2019, for the
    order of the parts; lecture 06 builds GPT-2 itself.

    >>> model = CausalLM(CausalLMConfig(101, 12, 2, 3, max_positions=32, positions="rope"))
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

    def __init__(self, config: CausalLMConfig) -> None:
        check_instance("config", config, CausalLMConfig, "a CausalLMConfig")
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
        if kind == "learned":  # as large as the tokens' vectors, which they are added to
            self.positions = nn.Parameter(torch.randn(shape))
        elif kind == "sinusoidal":
            del self.positions
            self.register_buffer("positions", sinusoidal_positions(*shape), persistent=False)

    def forward(
        self,
        token_ids: Int[Tensor, "B T"],
        *,
        caches: Sequence[KVCache] | None = None,
        may_attend: Bool[Tensor, "... #T #S"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Return the scores of the token that follows each position.

        Args:
            token_ids: one sequence per row, each id in 0 to V - 1; with caches the newest alone.
            caches: from ``new_caches``; they hold the tokens so far, and take in the new ones.
            may_attend: True where a token may attend to another. It takes the place of the
                causal mask, which None stands for; combine it with ``causal_mask`` to keep the
                model causal.

        Raises:
            TypeError: if the ids are not int64, the caches no caches, or the mask not boolean.
            ValueError: if the ids have a wrong rank, length or range, there are more tokens than
                ``max_positions`` (those in the caches included), the caches are not one for each
                block or hold other sequences, or the mask does not fit. The caches are left as
                they were.
        """
        start = check_next_tokens(token_ids, caches, self.config)
        T = token_ids.shape[1]
        x = self.tokens(token_ids)  # (B, T, C)
        if self.positions is not None:
            x = x + self.positions[start : start + T]
        if may_attend is None:
            may_attend = causal_mask(T, start + T, device=x.device)
        check_caches_take(caches, x, self.config.num_heads)
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks), strict=True):
            x, _ = block(x, may_attend, cache)
        return self.logits(self.norm(x))

    def new_caches(self) -> list[KVCache]:
        """Return one empty cache for each block, with room for ``max_positions``."""
        return [KVCache(self.config.max_positions) for _ in self.blocks]
