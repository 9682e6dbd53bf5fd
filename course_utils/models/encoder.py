"""A post-LN transformer encoder like BERT, a stack of ``layers.EncoderBlock``.

Every layer's hidden states and every head's weights, queries and keys are returned, so that the
lectures can look inside.
"""

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor, nn

from course_utils.checks import check_ids, make_ints
from course_utils.layers import EncoderBlock, LayerNorm
from course_utils.shapes import Bool, Float, Int

__all__ = ["Encoder", "EncoderConfig", "EncoderOutput"]


@dataclass(frozen=True)
class EncoderConfig:
    """The sizes of an encoder.

    Attributes:
        vocab_size: number of token ids, V.
        width: model width, C.
        num_layers: number of layers.
        num_heads: attention heads in each layer, H; they divide the width.
        feedforward_width: hidden width of the feed-forward sublayer.
        max_positions: the longest sequence.
        num_segments: number of segment ids (BERT marks two sentences with 0 and 1).
        norm_eps: added to the variance, inside the root of LayerNorm.

    Raises:
        TypeError, ValueError: if a size is not a positive integer.
    """

    vocab_size: int
    width: int
    num_layers: int
    num_heads: int
    feedforward_width: int
    max_positions: int
    num_segments: int = 2
    norm_eps: float = 1e-12

    def __post_init__(self) -> None:
        make_ints(
            self, "vocab_size", "width", "num_layers", "num_heads", "feedforward_width",
            "max_positions", "num_segments",
        )  # fmt: skip


class EncoderOutput(NamedTuple):
    """Everything that one pass through an encoder computed.

    Attributes:
        hidden_states: the embeddings, then each layer's output; one more than there are layers.
        attentions: each layer's attention weights.
        queries: each layer's queries, before the scale.
        keys: each layer's keys.
    """

    hidden_states: tuple[Float[Tensor, "B T C"], ...]
    attentions: tuple[Float[Tensor, "B H T T"], ...]
    queries: tuple[Float[Tensor, "B H T D"], ...]
    keys: tuple[Float[Tensor, "B H T D"], ...]


class Embeddings(nn.Module):
    """Token, position and segment vectors, added and normalised."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.tokens = nn.Embedding(config.vocab_size, config.width)
        self.positions = nn.Embedding(config.max_positions, config.width)
        self.segments = nn.Embedding(config.num_segments, config.width)
        self.norm = LayerNorm(config.width, config.norm_eps)

    def forward(self, token_ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T C"]:
        """Embed one sentence per row: every token belongs to segment 0."""
        check_ids("token_ids", token_ids, "B T", self.tokens.num_embeddings)
        T = token_ids.shape[1]
        vectors = self.tokens(token_ids) + self.positions.weight[:T] + self.segments.weight[0]
        return self.norm(vectors)


class Encoder(nn.Module):
    """A stack of post-LN layers on token embeddings.

    Args:
        config: the sizes.

    Source: Devlin et al., "BERT", 2019, section 3; post-LN as in Vaswani et al., 2017,
    section 3.1.

    >>> import torch
    >>> encoder = Encoder(EncoderConfig(101, 12, 2, 3, 24, 32))
    >>> output = encoder(torch.tensor([[5, 7, 11, 13, 17]]))
    >>> len(output.hidden_states), tuple(output.hidden_states[-1].shape)
    (3, (1, 5, 12))
    >>> len(output.attentions), tuple(output.attentions[0].shape)
    (2, (1, 3, 5, 5))
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.layers = nn.ModuleList(
            EncoderBlock(
                config.width, config.num_heads, config.feedforward_width, eps=config.norm_eps
            )
            for _ in range(config.num_layers)
        )

    def forward(
        self,
        token_ids: Int[Tensor, "B T"],
        may_attend: Bool[Tensor, "#B #H #T #T"] | None = None,
    ) -> EncoderOutput:
        """Return what every layer and head computed.

        Args:
            token_ids: one sequence per row, each id in 0 to V - 1.
            may_attend: True where a token may attend to another, for example ``padding_mask``.

        Raises:
            TypeError, ValueError: if an id is out of range, or the mask does not fit.
        """
        x = self.embeddings(token_ids)  # (B, T, C)
        hidden_states, all_heads = [x], []
        for layer in self.layers:
            x, heads = layer(x, may_attend)
            hidden_states.append(x)
            all_heads.append(heads)
        weights, queries, keys = zip(*all_heads, strict=True)
        return EncoderOutput(tuple(hidden_states), weights, queries, keys)
