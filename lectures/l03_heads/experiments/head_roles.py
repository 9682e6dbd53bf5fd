"""What the heads of a real encoder do, measured over many sentences: who attends to whom.

One sentence is an anecdote. Each list below has 6 to 12, most with a second noun that would be
the wrong answer, so that a head which reads nouns of any kind does not pass for more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from course_utils.models.minilm_or_random import read_text
from course_utils.shapes import Float


class Pair(NamedTuple):
    """A word that should attend to another one, and a third that it might attend to instead.

    Attributes:
        text: the sentence.
        reader: the word that attends; where it stands twice, the last one is meant.
        right: the word it should attend to.
        wrong: a word of the same kind that it should not attend to.
    """

    text: str
    reader: str
    right: str
    wrong: str


class RelationWeights(NamedTuple):
    """The weight of each head, for each pair, on the right word and on the wrong one."""

    right: Float[Tensor, "pairs layers H"]
    wrong: Float[Tensor, "pairs layers H"]


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


def relation_weights(pairs: Sequence[Pair]) -> RelationWeights:
    """The weight that the reader puts on the right word, and on the wrong one, in each head."""
    right, wrong = [], []
    for pair in pairs:
        reading = read_text(pair.text)
        tokens = reading.tokens
        row = len(tokens) - 1 - tokens[::-1].index(pair.reader)
        weights = torch.stack(reading.attentions)[:, :, row]  # (layers, H, T)
        right.append(weights[..., tokens.index(pair.right)])
        wrong.append(weights[..., tokens.index(pair.wrong)])
    return RelationWeights(torch.stack(right), torch.stack(wrong))


def offset_weights(texts: Sequence[str], offset: int) -> Float[Tensor, "texts layers H"]:
    """How much each head attends to the token at an offset: -1 the previous one, 1 the next.

    The mean over those tokens of a text that have such a neighbour; 0 gives the token itself.
    """
    attentions = (torch.stack(read_text(text).attentions) for text in texts)
    return torch.stack(
        [weights.diagonal(offset, dim1=-2, dim2=-1).mean(dim=-1) for weights in attentions]
    )
