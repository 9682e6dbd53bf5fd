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
from course_utils.models.encoder import Encoder
from course_utils.models.minilm_or_random import read_text, reading_encoder
from course_utils.shapes import Float


@dataclass(frozen=True)
class PruningMap:
    """How far each head's silence moves the last layer's vector of each token, as 1 - cosine."""

    tokens: tuple[str, ...]
    per_token: Float[Tensor, "layers H T"]


def measure_pruning(text: str) -> PruningMap:
    """Silence each head in turn while the encoder reads a text; measure how far its end moves.

    Source: Michel, Levy, Neubig, "Are sixteen heads really better than one?", 2019, section 3.2,
    who take out one head at a time from trained models, with a task's score as the measure.
    """
    reading = read_text(text)
    without = last_states_without_each_head(reading_encoder(), reading.hidden_states[0])
    return PruningMap(reading.tokens, _one_minus_cosine(without, reading.hidden_states[-1]))


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
    """
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
