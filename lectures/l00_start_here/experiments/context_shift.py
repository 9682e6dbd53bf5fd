"""One word in two meanings: how its vector moves apart, layer by layer, in a real encoder.

In every sentence the word stands at the same place, so the vectors that enter the first layer
are equal, and whatever differs later came from the other words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from course_utils.attention import unit_vectors
from course_utils.models.minilm_or_random import read_text
from course_utils.shapes import Float

BAT_ANIMAL = (
    "The bat slept upside down in the dark cave.",
    "The bat flew out of the cave at night.",
    "The bat ate insects near the old barn.",
    "The bat hung from the roof of the cave.",
    "The bat squeaked and flapped its wings.",
)
BAT_CLUB = (
    "The bat hit the ball over the fence.",
    "The bat cracked when he hit the ball.",
    "The bat belonged to the baseball player.",
    "The bat swung hard and missed the ball.",
    "The bat broke during the ninth inning.",
)
# The animal again, in other words and other places: a control.
BAT_ELSEWHERE = (
    "The bat frightened the children at the zoo.",
    "The bat drank nectar from a white flower.",
    "The bat carried her young on her belly.",
    "The bat lived under an old wooden bridge.",
    "The bat was caught by a hungry owl.",
)


@dataclass(frozen=True)
class ContextShift:
    """Angles in degrees between vectors of one word, by layer (embeddings first)."""

    same_meaning: Float[torch.Tensor, "P layers"]
    other_meaning: Float[torch.Tensor, "Q layers"]


def measure_context_shift(first: Sequence[str], second: Sequence[str], word: str) -> ContextShift:
    """Angles within each of two groups of sentences, and between the two groups."""
    a, b = word_vectors(first, word), word_vectors(second, word)
    within = torch.cat([_each_pair_once(angles(group, group)) for group in (a, b)])
    return ContextShift(within, angles(a, b).flatten(0, 1))


def word_vectors(sentences: Sequence[str], word: str) -> Float[torch.Tensor, "N layers C"]:
    """The word's vector in each sentence after each layer."""
    vectors = []
    for sentence in sentences:
        reading = read_text(sentence)
        position = reading.tokens.index(word)
        vectors.append(torch.stack([hidden[position] for hidden in reading.hidden_states]))
    return torch.stack(vectors)


def angles(
    a: Float[torch.Tensor, "N layers C"], b: Float[torch.Tensor, "M layers C"]
) -> Float[torch.Tensor, "N M layers"]:
    """Angle in degrees between every vector of a and every vector of b, layer by layer.

    Computed as 2 atan2(|u - v|, |u + v|) of the unit vectors, which keeps its precision for
    small angles where the arc cosine has none (Kahan, "How futile are mindless assessments of
    roundoff", 2006, section 12).
    """
    u, v = unit_vectors(a)[:, None], unit_vectors(b)[None]
    return torch.rad2deg(2 * torch.atan2((u - v).norm(dim=-1), (u + v).norm(dim=-1)))


def _each_pair_once(table: Float[torch.Tensor, "N N layers"]) -> Float[torch.Tensor, "P layers"]:
    rows, columns = torch.triu_indices(len(table), len(table), offset=1)
    return table[rows, columns]
