"""From text to token ids and back: whole words, and byte pairs, which know every text.

Byte-pair encoding: a text is a sequence of UTF-8 bytes, and the first 256 ids are the bytes.
Training finds the most frequent pair of adjacent tokens, makes it one new token, and repeats.
Frequent words become one token, rare ones stay several, and every sequence of bytes can be encoded.

A text is first cut into pieces: runs of letters, of digits or of signs, each with the space before
it, and runs of spaces. No token crosses their borders. Otherwise "dog." and "dog!" would become
tokens of their own.

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

from course_utils.checks import check_int

__all__ = ["BYTES", "PIECES", "BytePairs", "WordTokens", "train_bpe"]

BYTES = 256
# GPT-2's pattern, for bytes: every byte beyond ASCII counts as a letter. The last of several spaces
# belongs to the word behind it.
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
    """A vocabulary: the 256 bytes, and one token for each merged pair.

    Attributes:
        merges: the pairs of ids in the order in which they were merged. The first becomes token
            256. A pair consists of bytes and of earlier merges.

    >>> pairs = BytePairs(merges=((ord("a"), ord("t")), (ord("c"), 256)))
    >>> pairs.vocab_size, pairs.tokens[256:]
    (258, (b'at', b'cat'))
    >>> pairs.encode("at a cat"), pairs.decode([257, 256])
    ([256, 32, 97, 32, 257], 'catat')
    """

    merges: tuple[Pair, ...]

    @property
    def vocab_size(self) -> int:
        """The number of ids, V: ``256 + len(merges)``."""
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
        """Return the ids of a text. In each piece, the earliest merges are made first.

        Args:
            text: a string, or any bytes.
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

        Bytes that are not UTF-8 become U+FFFD, the replacement character.

        Args:
            ids: integers, or a tensor or array with one axis.

        Raises:
            TypeError, ValueError: if an id is not an integer from 0 to V - 1.
        """
        numbers = _checked(ids, self.vocab_size)
        return b"".join(self.tokens[number] for number in numbers).decode("utf-8", "replace")


@dataclass(frozen=True)
class WordTokens:
    r"""A vocabulary of whole words, signs and the end of a line; it knows no other word.

    Attributes:
        words: the words; a word's id is its place.

    >>> tokens = WordTokens(("\n", ".", "Ann", "sang"))
    >>> tokens.encode("Ann sang.\nAnn"), tokens.decode([2, 3, 1, 0, 2])
    ([2, 3, 1, 0, 2], 'Ann sang.\nAnn')
    """

    words: tuple[str, ...]

    @property
    def vocab_size(self) -> int:
        """The number of ids, V."""
        return len(self.words)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text.

        Raises:
            ValueError: if a word is not in the vocabulary.
        """
        pieces = re.findall(r"\n|\w+|[^\w\s]", text)
        unknown = [piece for piece in pieces if piece not in self._ids]
        if unknown:
            raise ValueError(f"text must have only known words, got {unknown[0]!r}")
        return [self._ids[piece] for piece in pieces]

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        """Return the text of some ids, with spaces between words.

        Args:
            ids: integers, or a tensor or array with one axis.

        Raises:
            TypeError, ValueError: if an id is not an integer from 0 to V - 1.
        """
        words = " ".join(self.words[number] for number in _checked(ids, self.vocab_size))
        return re.sub(r" (?=[.,?\n])|(?<=\n) ", "", words)


def train_bpe(text: str | bytes, vocab_size: int) -> BytePairs:
    """Learn which pairs to merge: the most frequent one, again and again.

    Of equally frequent pairs, the one with the smallest ids is merged. Training ends early, with
    fewer than ``vocab_size`` tokens, when every piece has become a single token.

    Args:
        text: the training text.
        vocab_size: the number of tokens, V, with the 256 bytes.

    >>> train_bpe("low lower lowest", 259).tokens[256:]
    (b'lo', b'low', b' low')
    """
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


def _checked(ids: Iterable[SupportsIndex], vocab_size: int) -> list[int]:
    numbers: list[int] = ids.tolist() if hasattr(ids, "tolist") else list(ids)  # type: ignore
    for index, number in enumerate(numbers):  # an id of -1 would be the last token
        check_int(f"ids[{index}]", number, minimum=0, maximum=vocab_size - 1)
    return numbers


def _as_bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8") if isinstance(text, str) else text
