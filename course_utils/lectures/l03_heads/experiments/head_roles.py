"""What the heads of a real encoder do, measured over many sentences: who reads whom, how much.

One sentence is an anecdote. Each list below has 6 to 12, most with a second noun that would be
the wrong answer, so that a head which reads nouns of any kind does not pass for more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from course_utils.checks import check_int, check_sequence, check_text
from course_utils.models.minilm import Reading
from course_utils.models.minilm_or_random import MAX_POSITIONS, read_text
from course_utils.shapes import Float

__all__ = [
    "DESCRIBED",
    "GENDERED",
    "GENDERED_AGAIN",
    "REFERENTS",
    "SUBJECTS",
    "Pair",
    "RelationWeights",
    "offset_weights",
    "relation_weights",
]


class Pair(NamedTuple):
    """A word that should read another one, and a third that it might read instead.

    Attributes:
        text: the sentence.
        reader: the word that reads; where it stands twice, the last one is meant.
        read: the word it should read.
        other: a word that it should not read, of the same kind.
    """

    text: str
    reader: str
    read: str
    other: str


class RelationWeights(NamedTuple):
    """The weight of each head, for each pair, on the word it should read and on the other one."""

    read: Float[Tensor, "pairs layers H"]
    other: Float[Tensor, "pairs layers H"]


def _flipped(
    text: str, first: tuple[str, str], second: tuple[str, str], reader: str = ""
) -> tuple[Pair, Pair]:
    """One text with two fillings, each of which gives the pronoun the other noun.

    The filling is the pronoun itself where no reader is named.
    """
    (filling, noun), (other_filling, other) = first, second
    return (
        Pair(text.format(filling), reader or filling, noun, other),
        Pair(text.format(other_filling), reader or other_filling, other, noun),
    )


# Pronoun → referent where the last words alone say which noun is meant: Levesque, Davis,
# Morgenstern, "The Winograd schema challenge", 2012.
REFERENTS = (
    *_flipped(
        "The animal didn't cross the street because it was too {}.",
        ("tired", "animal"),
        ("wide", "street"),
        reader="it",
    ),
    *_flipped(
        "She poured water from the jug into the cup until it was {}.",
        ("full", "cup"),
        ("empty", "jug"),
        reader="it",
    ),
    *_flipped(
        "The trophy didn't fit in the suitcase because it was too {}.",
        ("big", "trophy"),
        ("small", "suitcase"),
        reader="it",
    ),
    *_flipped(
        "The ball crashed through the table because it was made of {}.",
        ("steel", "ball"),
        ("glass", "table"),
        reader="it",
    ),
    *_flipped(
        "The truck passed the bus because it was going {}.",
        ("fast", "truck"),
        ("slowly", "bus"),
        reader="it",
    ),
)
# Pronoun → referent where its gender says it; a head chosen on the first list is judged on the
# second one.
GENDERED = (
    *_flipped("The girl told the boy that {} was late.", ("she", "girl"), ("he", "boy")),
    *_flipped("The king thanked the queen because {} was kind.", ("he", "king"), ("she", "queen")),
    *_flipped("The man helped the woman when {} was sick.", ("he", "man"), ("she", "woman")),
)
GENDERED_AGAIN = (
    *_flipped("The uncle called the aunt because {} was ill.", ("he", "uncle"), ("she", "aunt")),
    *_flipped("The mother praised the son after {} had won.", ("she", "mother"), ("he", "son")),
    *_flipped("The boy lost to the girl although {} played well.", ("he", "boy"), ("she", "girl")),
    *_flipped("The woman met the man before {} went home.", ("she", "woman"), ("he", "man")),
    *_flipped(
        "The prince danced with the princess until {} was tired.",
        ("he", "prince"),
        ("she", "princess"),
    ),
    *_flipped(
        "The sister visited the brother while {} was away.",
        ("she", "sister"),
        ("he", "brother"),
    ),
)
# Verb → subject, with another noun before or after the verb. Unlike in the lists above the right
# noun stands first in every sentence, so that a head which reads the first noun looks good here.
SUBJECTS = (
    Pair(REFERENTS[0].text, "cross", "animal", "street"),
    Pair("The keys to the old cabinet are on the table.", "are", "keys", "cabinet"),
    Pair("The dogs behind the gate bark at night.", "bark", "dogs", "gate"),
    Pair("The teacher with the red hat reads a book.", "reads", "teacher", "hat"),
    Pair("The ships in the harbor sail at dawn.", "sail", "ships", "harbor"),
    Pair("The bird in the tall tree sings every morning.", "sings", "bird", "tree"),
    Pair("The engine of the train stopped near the bridge.", "stopped", "engine", "train"),
    Pair("The woman from the shop sold her car.", "sold", "woman", "shop"),
    Pair("The driver of the bus drank his coffee.", "drank", "driver", "bus"),
    Pair("The horse beside the wall pulled the cart.", "pulled", "horse", "wall"),
)
# Adjective → the noun it describes, as the predicate. In all but one the right noun stands first.
DESCRIBED = (
    Pair(REFERENTS[0].text, "tired", "animal", "street"),
    Pair(REFERENTS[1].text, "wide", "street", "animal"),
    Pair("The soup on the stove is hot.", "hot", "soup", "stove"),
    Pair("The house near the lake looked old.", "old", "house", "lake"),
    Pair("The dress from the shop was red.", "red", "dress", "shop"),
    Pair("The bridge over the river seems long.", "long", "bridge", "river"),
    Pair("The cake on the plate tasted sweet.", "sweet", "cake", "plate"),
    Pair("The knife in the drawer was sharp.", "sharp", "knife", "drawer"),
    Pair("The student after the exam felt happy.", "happy", "student", "exam"),
    Pair("The box on the shelf is heavy.", "heavy", "box", "shelf"),
    Pair("The lamp on the desk was bright.", "bright", "lamp", "desk"),
)


def relation_weights(pairs: Sequence[Pair]) -> RelationWeights:
    """How much each head lets the reader read the word it should, and the other one.

    Raises:
        TypeError: when `pairs` is no sequence of ``Pair``, or a part of one is no text.
        ValueError: when there is no pair, or a word is not a token of its sentence.

    >>> read, other = relation_weights(REFERENTS[:2])
    >>> read.shape
    torch.Size([2, 6, 12])
    """
    read, other = [], []
    for index, pair in enumerate(check_sequence("pairs", pairs)):
        reading = _read_pair(f"pairs[{index}]", pair)
        places = reading.tokens
        row = len(places) - 1 - places[::-1].index(pair.reader)
        weights = torch.stack(reading.attentions)[:, :, row]  # (layers, H, T)
        read.append(weights[..., places.index(pair.read)])
        other.append(weights[..., places.index(pair.other)])
    return RelationWeights(torch.stack(read), torch.stack(other))


def _read_pair(name: str, pair: object) -> Reading:
    __tracebackhide__ = True
    if not isinstance(pair, Pair):
        raise TypeError(f"{name} must be a Pair, got {pair!r} ({type(pair).__name__})")
    for part, text in pair._asdict().items():
        check_text(f"{name}.{part}", text)
    reading = read_text(pair.text)
    for part in ("reader", "read", "other"):
        word = getattr(pair, part)
        if word not in reading.tokens:
            raise ValueError(
                f"{name}.{part} must be a token of its sentence; {word!r} is not in {pair.text!r}"
            )
    return reading


def offset_weights(texts: Sequence[str], offset: int) -> Float[Tensor, "texts layers H"]:
    """How much each head reads the token so many places on: -1 the previous one, 1 the next.

    The mean over those tokens of a text that have such a neighbour; 0 gives the token itself.

    Raises:
        TypeError: when `texts` is one text or no sequence of texts, or the offset no integer.
        ValueError: when there is no text, or one has no two tokens so far apart.

    >>> offset_weights(["The cat sat."], -1)[0, 0, 2].round(decimals=1)
    tensor(1.)
    """
    offset = check_int("offset", offset, minimum=-MAX_POSITIONS)
    found = []
    for index, text in enumerate(check_sequence("texts", texts)):
        weights = torch.stack(read_text(check_text(f"texts[{index}]", text)).attentions)
        if abs(offset) >= weights.shape[-1]:
            raise ValueError(
                f"offset must be smaller than the number of tokens ({weights.shape[-1]}), "
                f"got {offset}"
            )
        found.append(weights.diagonal(offset, dim1=-2, dim2=-1).mean(dim=-1))
    return torch.stack(found)
