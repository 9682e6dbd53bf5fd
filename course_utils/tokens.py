"""Byte pairs: from text to token ids and back, with nothing that could be unknown.

A text is its UTF-8 bytes, and the first 256 ids are the bytes themselves. Training looks for the
two neighbours that stand side by side most often, makes them one new token, and does so again.
What is frequent becomes one token, what is rare stays several, and any bytes at all have ids.

Tokens do not cross the borders of pieces: a run of letters, of digits or of signs, each with the
one blank before it, or a run of blanks. Otherwise "dog." and "dog!" would be tokens of their own.

Source: Sennrich et al., "Neural machine translation of rare words with subword units", 2016,
algorithm 1; Radford et al., "Language models are unsupervised multitask learners", 2019,
section 2.2, for bytes and pieces.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import SupportsIndex

from course_utils.checks import check_int, check_sequence

__all__ = ["BYTES", "PIECES", "BytePairs", "train_bpe"]

BYTES = 256
# GPT-2's pattern, said of bytes: a byte of a letter beyond ASCII counts as a letter. Of several
# blanks the last goes with the word behind it, unless it is a line's end.
PIECES = re.compile(
    rb" ?[A-Za-z\x80-\xff]+"
    rb"| ?[0-9]+"
    rb"| ?[^\sA-Za-z0-9\x80-\xff]+"
    rb"|\s+(?!\S)"
    rb"|\s+"
)

Pair = tuple[int, int]


@dataclass(frozen=True)
class BytePairs:
    """A vocabulary: 256 bytes, and one token more for each pair that was merged.

    Attributes:
        merges: the pairs of ids in the order in which they were merged. The first makes token 256,
            and a pair may hold bytes and what earlier pairs made.

    Raises:
        TypeError: if merges is not a tuple of pairs of integers.
        ValueError: if a pair holds an id that it could not know, or stands there twice.

    >>> pairs = BytePairs(merges=((ord("a"), ord("t")), (ord("c"), 256)))
    >>> pairs.vocab_size, pairs.tokens[256:]
    (258, (b'at', b'cat'))
    >>> pairs.encode("at a cat"), pairs.decode([257, 256])
    ([256, 32, 97, 32, 257], 'catat')
    """

    merges: tuple[Pair, ...]

    def __post_init__(self) -> None:
        _check_merges(self.merges)

    @property
    def vocab_size(self) -> int:
        """How many ids there are, V: ``256 + len(merges)``."""
        return BYTES + len(self.merges)

    @cached_property
    def tokens(self) -> tuple[bytes, ...]:
        """The bytes that each id stands for."""
        tokens = [bytes([byte]) for byte in range(BYTES)]
        for left, right in self.merges:
            tokens.append(tokens[left] + tokens[right])
        return tuple(tokens)

    @cached_property
    def _made(self) -> dict[Pair, int]:
        """The id that each pair makes. The smaller, the earlier it was merged."""
        return {pair: BYTES + place for place, pair in enumerate(self.merges)}

    def encode(self, text: str | bytes) -> list[int]:
        """Return the ids of a text: in each piece the earliest merges come first.

        Args:
            text: a string, or any bytes, be they UTF-8 or not. An empty one has no ids.

        Raises:
            TypeError: if text is neither.
            ValueError: if it is a string with half of a surrogate pair, which has no bytes.
        """
        ids, known = [], {}
        for piece in PIECES.findall(_as_bytes(text)):
            if piece not in known:
                known[piece] = self._encode_piece(piece)
            ids += known[piece]
        return ids

    def _encode_piece(self, piece: bytes) -> list[int]:
        ids, made = list(piece), self._made
        while found := [made[pair] for pair in pairwise(ids) if pair in made]:
            ids = _merge(ids, self.merges[min(found) - BYTES], min(found))
        return ids

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        """Return the text of some ids. ``decode(encode(text))`` is the text.

        Ids may be cut inside a letter, and a model may write bytes that are no UTF-8: what cannot
        be read becomes U+FFFD, the replacement character.

        Args:
            ids: integers, or a tensor or array of one axis. None at all are an empty text.

        Raises:
            TypeError: if ids is not a sequence of integers.
            ValueError: if an id is not in 0 to V - 1.
        """
        if hasattr(ids, "tolist"):  # a tensor or an array
            if (shape := tuple(ids.shape)) and len(shape) > 1:  # type: ignore
                raise ValueError(f"ids must have 1 axis, got shape {shape}")
            ids = ids.tolist()  # type: ignore
        known = check_sequence("ids", ids, may_be_empty=True)
        for place, number in enumerate(known):
            check_int(f"ids[{place}]", number, minimum=0, maximum=self.vocab_size - 1)
        return b"".join(self.tokens[number] for number in known).decode("utf-8", "replace")


def train_bpe(text: str | bytes, vocab_size: int) -> BytePairs:
    """Learn which pairs to merge: again and again the most frequent one.

    Of pairs that are equally frequent the one with the smallest first id is merged, then the one
    with the smallest second. When no two tokens are left side by side in any piece, there are no
    more merges, and ``vocab_size`` of the result is smaller than asked for.

    Args:
        text: what to count in.
        vocab_size: how many tokens to make, V, the 256 bytes included.

    Raises:
        TypeError: if text is neither of the two, or vocab_size not an integer.
        ValueError: if vocab_size is less than 256, or text holds half of a surrogate pair.

    >>> train_bpe("low lower lowest", 259).tokens[256:]
    (b'lo', b'low', b' low')
    """
    check_int("vocab_size", vocab_size, minimum=BYTES)
    counted = Counter(PIECES.findall(_as_bytes(text)))
    pieces = {tuple(piece): times for piece, times in counted.items()}
    counts: Counter[Pair] = Counter()
    for ids, times in pieces.items():
        _count(counts, ids, times)
    merges: list[Pair] = []
    for new in range(BYTES, vocab_size):
        most = max(counts.values(), default=0)
        if most == 0:
            break
        pair = min(pair for pair, count in counts.items() if count == most)
        merges.append(pair)
        for ids in [ids for ids in pieces if pair[0] in ids and pair[1] in ids]:
            times, merged = pieces.pop(ids), tuple(_merge(ids, pair, new))
            pieces[merged] = times
            _count(counts, ids, -times)
            _count(counts, merged, times)
    return BytePairs(tuple(merges))


def _count(counts: Counter[Pair], ids: Sequence[int], times: int) -> None:
    for pair in pairwise(ids):
        counts[pair] += times


def _merge(ids: Sequence[int], pair: Pair, new: int) -> list[int]:
    """Put the new id wherever the pair stands, from left to right."""
    merged: list[int] = []
    for token in ids:
        if merged and (merged[-1], token) == pair:
            merged[-1] = new
        else:
            merged.append(token)
    return merged


def _as_bytes(text: str | bytes) -> bytes:
    __tracebackhide__ = True
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise TypeError(f"text must be a string or bytes, got {text!r} ({type(text).__name__})")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("text must be valid Unicode, got half of a surrogate pair") from None


def _check_merges(merges: object) -> None:
    __tracebackhide__ = True
    if not isinstance(merges, tuple):  # a list could change, and the vocabulary with it
        raise TypeError(
            f"merges must be a tuple of pairs, got {merges!r} ({type(merges).__name__})"
        )
    known: set[Pair] = set()
    for place, pair in enumerate(merges):
        name = f"merges[{place}]"
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"{name} must be a pair of ids, got {pair!r} ({type(pair).__name__})")
        for number in pair:
            check_int(name, number, minimum=0, maximum=BYTES + place - 1)
        if pair in known:
            raise ValueError(f"{name} must be a new pair, got {pair!r} again")
        known.add(pair)
