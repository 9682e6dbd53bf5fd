"""Exercise 3: tell a mixture of experts from a dense network by the bytes that a step reads.

Weights are read once for all texts, a cache once for each. So the bytes of a dense model grow by
the same amount with every text. Those of a mixture grow faster at first, while new texts still
choose experts that nobody has read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from course_utils.teaching.exercise import Exercise

BANDWIDTH, RATE = 1e11, 1e13  # bytes, multiplications a second


@dataclass(frozen=True)
class Model:
    """A model from outside: what a step of so many texts reads, and how long it takes.

    Attributes:
        number: its place in the check.
        experts: feed-forward networks in a layer, 1 for a dense model.
        k: of which a token visits so many.
        expert: bytes of one of them.
        cache: bytes that each text has of its own.
        rest: bytes of everything else.
        same: how many texts choose the same experts before the first that does not.
    """

    number: int
    experts: int
    k: int
    expert: int
    cache: int
    rest: int
    same: int = 1

    def __call__(self, texts: int) -> tuple[int, float]:
        """Bytes and seconds of one step in which so many texts grow by a token."""
        read = {
            (7 * max(0, text + 1 - self.same) + 3 * choice) % self.experts
            for text in range(texts)
            for choice in range(self.k)
        }
        size = self.rest + len(read) * self.expert + texts * self.cache
        products = texts * (self.rest + self.k * self.expert) / 2
        return size, max(size / BANDWIDTH, products / RATE)

    def __repr__(self) -> str:
        return f"model {self.number}"


MODELS = (
    Model(1, experts=1, k=1, expert=40_000_000, cache=0, rest=20_000_000),
    Model(2, experts=8, k=2, expert=20_000_000, cache=0, rest=20_000_000),
    Model(3, experts=1, k=1, expert=160_000_000, cache=500_000, rest=20_000_000),
    Model(4, experts=64, k=4, expert=5_000_000, cache=2_000_000, rest=20_000_000),
    Model(5, experts=8, k=1, expert=30_000_000, cache=0, rest=20_000_000, same=5),
    Model(6, experts=1, k=1, expert=10_000_000, cache=4_000_000, rest=20_000_000),
)


def _kind_of(measure):
    one, many, more = (measure(texts)[0] for texts in (1, 501, 1001))
    return "mixture" if many - one > more - many else "dense"


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    model = inputs["measure"]
    size, seconds = {}, {}
    for texts in (1, 2, 256):
        size[texts], seconds[texts] = model(texts)
    return {
        "who": f"Model {model.number}",
        "one": f"{size[1] / 1e6:.1f}",
        "two": f"{size[2] / 1e6:.1f}",
        "many": f"{size[256] / 1e6:.1f}",
        "clock": f"{1e3 * seconds[1]:.2f}",
        "is_one": "is a mixture" if model.experts > 1 else "is dense",
        "cache": f"{model.cache / 1e6:.1f}",
    }


MIXTURE = Exercise(
    title="Which of these is a mixture?",
    difficulty=2,
    minutes=12,
    function="kind_of",
    reference=_kind_of,
    probes=tuple({"measure": model} for model in MODELS),
    facts=_facts,
    praise="A dense model reads its weights once, and each text adds its own cache: the bytes grow "
    "along a straight line. A mixture's line is steeper at first, until all experts are read.",
)


@MIXTURE.mistake()
def more_bytes_for_more_texts(measure):
    """{who} {is_one}. It reads {one} MB for one text and {many} MB for 256. But bytes grow for a
    dense model, too, if it has a cache: each text brings its own, {cache} MB here. Ask whether they
    grow by the *same* amount all the way."""
    return "mixture" if measure(256)[0] > measure(1)[0] else "dense"


@MIXTURE.mistake()
def more_bytes_for_two_texts(measure):
    """{who} {is_one}. It reads {one} MB for one text and {two} MB for two. Two texts may choose
    the same experts by chance, and a cache grows with each text. Ask for hundreds, and compare how
    the bytes grow at first with how they grow later."""
    return "mixture" if measure(2)[0] > measure(1)[0] else "dense"


@MIXTURE.mistake()
def fewer_bytes_for_each(measure):
    """{who} {is_one}. Fewer bytes for each text: that is so in every model, since weights are
    read once for all texts. Compare how the bytes of the whole step grow."""
    return "mixture" if measure(256)[0] / 256 < measure(1)[0] else "dense"


@MIXTURE.mistake()
def more_seconds_for_more_texts(measure):
    """{who} {is_one}. With 256 texts a step takes longer in every model that has more to
    multiply or to read. The seconds mix the two; the bytes say what is read."""
    return "mixture" if measure(256)[1] > 2 * measure(1)[1] else "dense"


@MIXTURE.mistake()
def quick_for_one_text(measure):
    """{who} {is_one}. One text takes {clock} ms: it waits for the bytes that are read, and a small
    dense model reads as little as two experts do. One text does not show which it is."""
    return "mixture" if measure(1)[1] < 1e-3 else "dense"


@MIXTURE.mistake()
def bytes_that_level_off(measure):
    """{who} {is_one}. You ask whether the bytes stop growing. With a cache they never do, in a
    mixture neither. Ask whether they grow *more slowly* than at first."""
    return "mixture" if measure(1001)[0] == measure(501)[0] > measure(1)[0] else "dense"


@MIXTURE.mistake()
def the_first_three_texts(measure):
    """{who} {is_one}. The first three texts are too few: they may choose the same experts, or all
    different ones. Go to hundreds, where all experts have been read."""
    one, two, three = (measure(texts)[0] for texts in (1, 2, 3))
    return "mixture" if two - one > three - two else "dense"
