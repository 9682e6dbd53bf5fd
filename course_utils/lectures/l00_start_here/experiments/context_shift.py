"""One word in two meanings: how its vector moves apart, layer by layer, in a real encoder.

In every sentence the word stands at the same place, so the vectors that enter the first layer
are equal, and whatever differs later came from the other words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from course_utils.attention import unit_vectors
from course_utils.checks import check_like, check_sequence, check_text, check_values
from course_utils.models.minilm_or_random import read_text
from course_utils.shapes import Float

SHORTEST = 1e-12  # of a vector with a direction; `unit_vectors` divides shorter ones by this
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


@dataclass(frozen=True)
class Drift:
    """Angles in degrees between vectors of one word, by layer (embeddings first)."""

    same_meaning: Float[torch.Tensor, "P layers"]
    other_meaning: Float[torch.Tensor, "Q layers"]


def word_vectors(sentences: Sequence[str], word: str) -> Float[torch.Tensor, "N layers C"]:
    """The word's vector in each sentence after each layer.

    Raises:
        TypeError: when `sentences` is one text or no sequence of texts, or the word no text.
        ValueError: when there is no sentence, or one does not contain the word as one token.

    >>> word_vectors(["The bat slept."], "bat").shape
    torch.Size([1, 7, 384])
    """
    check_text("word", word)
    vectors = []
    for index, sentence in enumerate(check_sequence("sentences", sentences)):
        check_text(f"sentences[{index}]", sentence)
        reading = read_text(sentence)
        if word not in reading.tokens:
            raise ValueError(
                f"word must be a token of each sentence; {word!r} is not in {sentence!r}"
            )
        place = reading.tokens.index(word)
        vectors.append(torch.stack([hidden[place] for hidden in reading.hidden_states]))
    return torch.stack(vectors)


def angles(
    a: Float[torch.Tensor, "N layers C"], b: Float[torch.Tensor, "M layers C"]
) -> Float[torch.Tensor, "N M layers"]:
    """Angle in degrees between every vector of a and every vector of b, layer by layer.

    Computed as 2 atan2(|u - v|, |u + v|) of the unit vectors, which keeps its precision for
    small angles where the arc cosine has none (Kahan, "How futile are mindless assessments of
    roundoff", 2006, section 12).

    Raises:
        TypeError: when one is not a floating-point tensor, or their dtypes differ.
        ValueError: when one has not three axes, is empty, not finite or holds a zero vector
            (it has no direction), or one too short or too long for its dtype; when layers or
            widths differ.

    >>> x = torch.tensor([[[1.0, 0.0]], [[1.0, 1.0]]])
    >>> angles(x, x)[..., 0].round().tolist()
    [[0.0, 45.0], [45.0, 0.0]]
    """
    _check_vectors("a", a, a)
    _check_vectors("b", b, a)
    u, v = unit_vectors(a)[:, None], unit_vectors(b)[None]
    return torch.rad2deg(2 * torch.atan2((u - v).norm(dim=-1), (u + v).norm(dim=-1)))


def _check_vectors(name: str, vectors: torch.Tensor, a: torch.Tensor) -> None:
    check_values(name, vectors, "N layers C")
    check_like(name, vectors, "a", a)
    if vectors.shape[1:] != a.shape[1:]:
        raise ValueError(
            f"{name} must have the layers and the width of a {tuple(a.shape[1:])}; "
            f"got shape {tuple(vectors.shape)}"
        )
    lengths = vectors.norm(dim=-1)
    # As in `unit_vectors`: float16 cannot write 1e-12.
    shortest = max(SHORTEST, torch.finfo(vectors.dtype).tiny)
    if not bool(((lengths > shortest) & lengths.isfinite()).all()):
        raise ValueError(
            f"{name} must hold vectors longer than {shortest:.3g}, of a finite length; "
            f"got lengths {lengths.min().item():.3g} to {lengths.max().item():.3g}"
        )


def measure_drift(first: Sequence[str], second: Sequence[str], word: str) -> Drift:
    """Angles within the two groups of sentences, and between them.

    Raises:
        TypeError, ValueError: as `word_vectors` does, or when a group has fewer than two sentences
            and so no pair of one meaning.

    >>> drift = measure_drift(BAT_ANIMAL, BAT_CLUB, "bat")
    >>> drift.same_meaning.shape, drift.other_meaning.shape
    (torch.Size([20, 7]), torch.Size([25, 7]))
    """
    groups = _check_group("first", first), _check_group("second", second)
    a, b = (word_vectors(group, word) for group in groups)
    within = [_each_pair_once(angles(group, group)) for group in (a, b)]
    return Drift(torch.cat(within), angles(a, b).flatten(0, 1))


def _each_pair_once(table: Float[torch.Tensor, "N N layers"]) -> Float[torch.Tensor, "P layers"]:
    rows, columns = torch.triu_indices(len(table), len(table), offset=1)
    return table[rows, columns]


def _check_group(name: str, group: Sequence[str]) -> tuple[str, ...]:
    sentences = check_sequence(name, group, may_be_empty=True)
    if len(sentences) < 2:
        raise ValueError(
            f"{name} must hold two sentences or more, to have a pair; got {len(sentences)}"
        )
    return sentences
