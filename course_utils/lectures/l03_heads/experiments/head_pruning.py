"""What a head is worth: silence one head of a real encoder at a time, and measure what moves.

To silence a head is to put zeros in the place of its output, before W_O mixes the heads. The rest
of the layer runs as it is: nothing is trained again, and no other head is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from course_utils.attention import unit_vectors
from course_utils.checks import check_like, check_text, check_values
from course_utils.models.encoder import Encoder
from course_utils.models.minilm_or_random import read_text, reading_encoder
from course_utils.shapes import Float

__all__ = ["PruningMap", "last_states_without_each_head", "measure_pruning"]


@dataclass(frozen=True)
class PruningMap:
    """How far each head's silence moves the last layer of one sentence, as 1 - cosine.

    Attributes:
        tokens: the T tokens of the sentence.
        sentence: of the sentence's vector, the mean of the tokens' vectors.
        per_token: of each token's own vector.
    """

    tokens: tuple[str, ...]
    sentence: Float[Tensor, "layers H"]
    per_token: Float[Tensor, "layers H T"]


def measure_pruning(text: str) -> PruningMap:
    """Silence each head in turn while the encoder reads a text; measure how far its end moves.

    Source: Michel, Levy, Neubig, "Are sixteen heads really better than one?", 2019, section 3.2,
    who take out one head at a time from trained models, with a task's score as the measure.

    Raises:
        TypeError, ValueError: as ``read_text`` does.

    >>> measured = measure_pruning("The cat sat.")
    >>> measured.tokens[2], measured.sentence.shape, measured.per_token.shape
    ('cat', torch.Size([6, 12]), torch.Size([6, 12, 6]))
    """
    check_text("text", text)
    reading = read_text(text)
    without = last_states_without_each_head(reading_encoder(), reading.hidden_states[0])
    intact = reading.hidden_states[-1]
    return PruningMap(
        tokens=reading.tokens,
        sentence=_one_minus_cosine(without.mean(dim=-2), intact.mean(dim=-2)),
        per_token=_one_minus_cosine(without, intact),
    )


def _one_minus_cosine(
    a: Float[Tensor, "*batch C"], b: Float[Tensor, "*#batch C"]
) -> Float[Tensor, "*batch"]:
    # |u - v|^2 / 2 is 1 - u·v for unit vectors, and keeps its digits where the cosine is nearly 1.
    return (unit_vectors(a) - unit_vectors(b)).square().sum(dim=-1) / 2


def last_states_without_each_head(
    encoder: Encoder, embedded: Float[Tensor, "T C"]
) -> Float[Tensor, "layers H T C"]:
    """The last hidden states when head h of layer l is silent, for every l and h.

    The layers before l do not notice, so they run once. The H versions of a layer run together:
    row h of a batch is the sentence as it is without head h.

    Args:
        encoder: of its layers, one head at a time is silenced.
        embedded: the tokens' vectors that enter the first layer.

    Raises:
        TypeError: if ``encoder`` is not an Encoder, or the vectors are of another dtype.
        ValueError: if the vectors do not have the encoder's width, are none, or are not finite.

    >>> from course_utils.models.minilm_or_random import reading_encoder
    >>> encoder = reading_encoder()
    >>> last_states_without_each_head(encoder, torch.randn(3, 384)).shape
    torch.Size([6, 12, 3, 384])
    """
    _check_inputs(encoder, embedded)
    x, found = embedded[None], []
    with torch.no_grad():
        for index, layer in enumerate(encoder.layers):
            with _each_head_silent_once(encoder, index):
                without, _ = layer(x.expand(encoder.config.num_heads, -1, -1))
            for later in encoder.layers[index + 1 :]:
                without, _ = later(without)
            found.append(without)
            x, _ = layer(x)
    return torch.stack(found)


@contextmanager
def _each_head_silent_once(encoder: Encoder, index: int) -> Iterator[None]:
    """In a batch of H sentences, row h loses what head h says, just before W_O."""
    H = encoder.config.num_heads
    keeps = ~torch.eye(H, dtype=torch.bool)[:, None, :, None]  # (row, 1, head, 1)

    def silence(_: torch.nn.Module, arguments: tuple[Tensor]) -> Tensor:
        heads = arguments[0].unflatten(-1, (H, -1))  # (H, T, H, D)
        return (heads * keeps).flatten(2)

    mixing = encoder.layers[index].get_submodule("attention.output")  # W_O
    handle = mixing.register_forward_pre_hook(silence)
    try:
        yield
    finally:
        handle.remove()


def _check_inputs(encoder: object, embedded: Tensor) -> None:
    __tracebackhide__ = True
    if not isinstance(encoder, Encoder):
        raise TypeError(f"encoder must be an Encoder, got {type(encoder).__name__}")
    check_values("embedded", embedded, "T C")
    check_like("embedded", embedded, "the encoder's weights", next(encoder.parameters()))
    width = encoder.config.width
    if embedded.shape[-1] != width:
        raise ValueError(
            f"embedded must have the model width, C ({width}), got shape {tuple(embedded.shape)}"
        )
