"""Exercise 3: tell a mixture of experts from a dense network by the bytes that a step reads.

Weights are read once for all texts, a cache once for each. So the bytes of a dense model grow by
the same amount with every text. Those of a mixture grow faster at first, while new texts still
choose experts that nobody has read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    Model(6, experts=1, k=1, expert=10_000_000, cache=20_000_000, rest=20_000_000),
    Model(7, experts=11, k=3, expert=60_000_000, cache=100_000, rest=20_000_000),
)


def _closed(answer: Callable[..., Any]) -> Callable[..., Any]:
    """The answer, given a function instead of the model, which has its number of experts inside."""

    def given_a_function(model: Model) -> Any:
        def measure(texts: int) -> tuple[int, float]:
            return model(texts)

        return answer(measure)

    return given_a_function


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
        "models": len(MODELS),
        "same": model.same,
        "one": f"{size[1] / 1e6:.4g}",
        "two": f"{size[2] / 1e6:.4g}",
        "many": f"{size[256] / 1e6:.4g}",
        "clock": f"{1e3 * seconds[1]:.2f}",
        "is_one": "is a mixture" if model.experts > 1 else "is dense",
        "cache": f"{model.cache / 1e6:.4g}",
    }


MIXTURE = Exercise(
    title="Which of these is a mixture?",
    difficulty=2,
    minutes=12,
    function="kind_of",
    reference=_kind_of,
    watch=_closed,
    probes=tuple({"measure": model} for model in MODELS),
    parts=("kind",),
    facts=_facts,
    praise="A dense model reads its weights once, and each text adds its own cache: the bytes grow "
    "along a straight line. A mixture's line is steeper at first, until all experts are read.",
)


# Few answers are possible, so the same may come from several ideas: what is said is true of all.


@MIXTURE.mistake()
def all_are_mixtures(measure):
    """You call all {models} models mixtures, but {who} is dense. For 256 texts every model reads
    fewer bytes per text than for one, and takes longer, so neither shows which it is. Compare how
    the bytes of the whole step grow from one text on with how they grow later."""
    return "mixture"


@MIXTURE.mistake()
def all_are_dense(measure):
    """You call all {models} models dense, but {who} is a mixture. Compare how its bytes grow at
    first, while new texts still find experts that nobody has read, with how they grow later."""
    return "dense"


@MIXTURE.mistake()
def the_other_way_round(measure):
    """All {models} answers are the other way round: {who} {is_one}. The bytes of a mixture grow
    faster at first than later."""
    return "dense" if _kind_of(measure) == "mixture" else "mixture"


@MIXTURE.mistake()
def more_bytes_for_more_texts(measure):
    """{who} {is_one}. It reads {one} MB for one text and {many} MB for 256: it has a cache, and
    each text brings its own {cache} MB. Ask whether the bytes grow by the same amount at first and
    later, for *equally many* further texts."""
    return "mixture" if measure(256)[0] > measure(1)[0] else "dense"


@MIXTURE.mistake()
def more_bytes_for_two_texts(measure):
    """{who} {is_one}. It reads {one} MB for one text and {two} MB for two. Two texts may choose
    the same experts by chance, and a cache grows with each text. Ask for hundreds, and compare how
    the bytes grow at first with how they grow later."""
    return "mixture" if measure(2)[0] > measure(1)[0] else "dense"


@MIXTURE.mistake()
def several_times_the_bytes(measure):
    """{who} {is_one}. It reads {one} MB for one text and {many} MB for 256, and takes longer too,
    all for its cache: {cache} MB for each text. How *much* it grows does not show a mixture. Ask
    whether it grows faster at first than later."""
    return "mixture" if measure(256)[0] > 2 * measure(1)[0] else "dense"


@MIXTURE.mistake()
def quick_for_one_text(measure):
    """{who} {is_one}. One text takes {clock} ms: it waits for the bytes that are read, and a small
    dense model reads as little as two experts do. One text does not show which it is."""
    return "mixture" if measure(1)[1] < 1e-3 else "dense"


@MIXTURE.mistake()
def bytes_that_level_off(measure):
    """{who} {is_one}, and its bytes never stop growing, for it has a cache. Ask whether they grow
    *more slowly* than at first."""
    return "mixture" if measure(1001)[0] == measure(501)[0] > measure(1)[0] else "dense"


@MIXTURE.mistake()
def steps_of_unequal_length(measure):
    """{who} {is_one}. Each text brings its own cache of {cache} MB, so many texts add a lot, in
    whatever model. Compare steps of *equally many* texts, at first and later."""
    one, many, more = (measure(texts)[0] for texts in (1, 100, 1000))
    return "mixture" if many - one > more - many else "dense"


@MIXTURE.mistake()
def the_first_three_texts(measure):
    """{who} {is_one}. The first few texts are too few: they may choose the same experts, or all
    different ones. Go to hundreds, where all experts have been read."""
    one, two, three = (measure(texts)[0] for texts in (1, 2, 3))
    return "mixture" if two - one > three - two else "dense"


@MIXTURE.mistake()
def the_second_text_alone(measure):
    """{who} {is_one}, but its first {same} texts choose the same experts: the second adds no more
    than any later one. Let your first step go from one text to hundreds."""
    at_first, later = (measure(texts + 1)[0] - measure(texts)[0] for texts in (1, 500))
    return "mixture" if at_first > later else "dense"
