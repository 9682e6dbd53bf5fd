"""MiniLM, or an encoder of the same shape with random weights if MiniLM's files are missing.

The pictures then show how an untrained encoder attends. Every caption says so.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from functools import lru_cache

import torch

from course_utils.checks import check_int
from course_utils.data.minilm_files import MiniLMNotFoundError
from course_utils.models.encoder import Encoder, EncoderConfig
from course_utils.models.minilm import MiniLM, Reading, load_minilm
from course_utils.seeds import own_random_numbers

SEED = 0
MAX_POSITIONS = 512
# The sentences of the lectures.
TIRED = "The animal didn't cross the street because it was too tired."
WIDE = "The animal didn't cross the street because it was too wide."
SENTENCES = (
    TIRED,
    WIDE,
    "The bat slept in a cave. He swung the bat at the ball.",
    "The keys to the old cabinet are on the table.",
    "She poured water from the jug into the cup until it was full.",
    "I love Transformers",
)


def minilm_is_here() -> bool:
    """Whether the real weights can be read. A damaged file is an error, not an absence.

    >>> minilm_is_here()
    True
    """
    return _minilm() is not None


@lru_cache(maxsize=1)
def _minilm() -> MiniLM | None:
    try:
        return load_minilm()
    except MiniLMNotFoundError:
        return None


def describe_encoder() -> str:
    """One sentence for the reader of a lecture: whether MiniLM or random weights are used.

    >>> print(describe_encoder().partition(":")[0])
    Sentences are read by MiniLM
    """
    if minilm_is_here():
        return "Sentences are read by MiniLM: 6 layers of 12 heads, with its trained weights."
    return (
        "MiniLM's files are missing, so sentences are read by random weights of the same shape: "
        "what the text says of trained heads will not be seen. Run `make setup`, then restart."
    )


def read_text(text: str, max_tokens: int = 64) -> Reading:
    """Read with MiniLM if its files are here, else with random weights of the same shape.

    `minilm_is_here()` tells which.

    >>> read_text("The cat sat.").tokens
    ('[CLS]', 'the', 'cat', 'sat', '.', '[SEP]')
    """
    if real := _minilm():
        return real.read(text, max_tokens)
    return read_with_random_weights(text, max_tokens)


def read_with_random_weights(text: str, max_tokens: int = 64) -> Reading:
    """The reading of an untrained encoder, in which a checksum gives each word its id.

    Words are cut after 12 letters, and control characters left out.

    >>> read_with_random_weights("Attention!", max_tokens=5).tokens
    ('[CLS]', 'attention', '!', '[SEP]')
    """
    text.encode()  # refuses half of a surrogate pair
    max_tokens = check_int("max_tokens", max_tokens, minimum=3, maximum=MAX_POSITIONS)
    words = _words(text)
    if not words:
        raise ValueError(f"text must contain at least one word or sign, got {text[:20]!r}")
    truncated = len(words) > max_tokens - 2
    tokens = ("[CLS]", *words[: max_tokens - 2], "[SEP]")
    encoder = _random()
    ids = [zlib.crc32(token.encode()) % encoder.config.vocab_size for token in tokens]
    with torch.no_grad():
        output = encoder(torch.tensor([ids]))
    return Reading(tokens, *(tuple(x[0] for x in part) for part in output), truncated=truncated)


def _words(text: str) -> list[str]:
    kept = (c for c in text.lower() if c.isspace() or not unicodedata.category(c).startswith("C"))
    return re.findall(r"\w{1,12}|[^\w\s]", "".join(kept))


@lru_cache(maxsize=1)
def _random() -> Encoder:
    return random_encoder()


def random_encoder() -> Encoder:
    """A new untrained encoder of MiniLM's shape, with fewer tokens: the same weights each time.

    >>> len(random_encoder().layers), random_encoder().config.num_heads
    (6, 12)
    """
    config = EncoderConfig(
        vocab_size=4096,
        width=384,
        num_layers=6,
        num_heads=12,
        feedforward_width=1536,
        max_positions=MAX_POSITIONS,
    )
    with own_random_numbers(SEED):
        return Encoder(config).eval().requires_grad_(False)


def reading_encoder() -> Encoder:
    """The encoder of ``read_text``: MiniLM's, or the random one if its files are missing.

    Always the same one, so that ``read_text`` sees what is changed in it. ``load_minilm`` and
    ``random_encoder`` return new ones.

    >>> len(reading_encoder().layers)
    6
    """
    return real.encoder if (real := _minilm()) else _random()
