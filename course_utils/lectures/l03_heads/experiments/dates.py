"""Translation of dates, "12 March 1999" to "1999-03-12": what cross-attention reads for each word.

Day, month and year change places, so a translator has to look around in its source, and the right
place to look at is known for nearly every token that it writes. The source is a token for each
digit and one for the month, without the spaces; a day of one digit makes all later tokens stand
one place further left. The target is a token for each character.
"""

import datetime
import re
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from course_utils.checks import (
    check_generator,
    check_ids,
    check_int,
    check_not_empty,
    check_rank,
    check_sequence,
    check_text,
)
from course_utils.layers import DecoderBlock, EncoderBlock
from course_utils.positions import sinusoidal_positions
from course_utils.shapes import Float, Int

__all__ = [
    "SOURCE_TOKENS",
    "TARGET_TOKENS",
    "DateTranslator",
    "date_loss",
    "date_pairs",
    "places_to_read",
    "read_dates",
    "to_tokens",
]

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
# A token's id is its place. The last of each table is no word: what fills up a short source,
# and what stands before the first token of the target.
SOURCE_TOKENS = (*"0123456789", *MONTHS, "<pad>")
TARGET_TOKENS = (*"0123456789", "-", "<start>")
PAD, START = len(SOURCE_TOKENS) - 1, len(TARGET_TOKENS) - 1
S, T = 7, 10  # tokens of "12 March 1999" and of "1999-03-12"
FIRST, LAST = datetime.date(1000, 1, 1), datetime.date(2999, 12, 31)

# The digits of a year differ in nothing but their places, so positions must not drown in the
# tokens, whose vectors start larger. At a quarter, training is faster and cross-attention sharper.
TOKEN_SCALE = 0.25


def read_dates(*text: str) -> Int[Tensor, "B S"]:
    """Turn dates such as "7 May 2024" into ids of ``SOURCE_TOKENS``, (B, 7).

    A date is a day from 1 to 31, the English name of a month, and a year from 1000 to 2999. The
    calendar is not asked: 31 February is read as well.

    Args:
        text: the dates. Those with one digit for the day end with a "<pad>".

    Raises:
        TypeError: if one is not a string.
        ValueError: if there is none, or one is empty or no such date; the message says why.

    >>> read_dates("7 May 2024", "12 March 1999").tolist()
    [[7, 14, 2, 0, 2, 4, 22], [1, 2, 12, 1, 9, 9, 9]]
    """
    check_sequence("text", text)
    rows = [_tokens_of(each) for each in text]
    return torch.tensor([[*map(SOURCE_TOKENS.index, row), *[PAD] * (S - len(row))] for row in rows])


def to_tokens(ids: Int[Tensor, " N"], table: Sequence[str]) -> list[str]:
    """Return the tokens of one source or target; those in angle brackets are left out.

    Raises:
        TypeError, ValueError: if ids is not one row of places in the table.

    >>> to_tokens(read_dates("7 May 2024")[0], SOURCE_TOKENS)
    ['7', 'May', '2', '0', '2', '4']
    >>> "".join(to_tokens(torch.tensor([2, 0, 2, 4, 10, 0, 5, 10, 0, 7]), TARGET_TOKENS))
    '2024-05-07'
    """
    table = [check_text("table", token) for token in check_sequence("table", table)]
    _check_tokens("ids", ids, "N", len(table))
    tokens = [table[index] for index in ids.tolist()]
    return [token for token in tokens if not token.startswith("<")]


def places_to_read(source: Int[Tensor, "B S"]) -> Int[Tensor, "B T"]:
    """Return for each token of the target the place in the source that tells it, or -1.

    No place tells the two "-" and the "0" before a day of one digit; the latter is told by how
    many tokens there are. Both digits of the month are told by its name.

    Raises:
        TypeError, ValueError: if source is not (B, 7) ids of ``SOURCE_TOKENS``. Whether they make
            a date is not looked at: a row that ends with "<pad>" has a day of one digit, any other
            a day of two.

    >>> places_to_read(read_dates("7 May 2024", "12 March 1999")).tolist()
    [[2, 3, 4, 5, -1, 1, 1, -1, -1, 0], [3, 4, 5, 6, -1, 2, 2, -1, 0, 1]]
    """
    _check_tokens("source", source, "B S", len(SOURCE_TOKENS))
    if source.shape[1] != S:
        raise ValueError(f"source must have {S} tokens a row, got {source.shape[1]}")
    one, two = [2, 3, 4, 5, -1, 1, 1, -1, -1, 0], [3, 4, 5, 6, -1, 2, 2, -1, 0, 1]
    return torch.tensor([one if row[-1] == PAD else two for row in source.tolist()])


def date_pairs(
    count: int, generator: torch.Generator
) -> tuple[Int[Tensor, "B S"], Int[Tensor, "B T"]]:
    """Draw dates, and return each as a source and as its translation.

    Every day of the calendar from 1 January 1000 to 31 December 2999 is equally likely; there are
    730,485.

    Args:
        count: how many, B.
        generator: where the random numbers come from.

    Raises:
        TypeError: if generator is no torch.Generator, or count not an integer.
        ValueError: if count is below 1.

    >>> source, target = date_pairs(1, torch.Generator().manual_seed(0))
    >>> to_tokens(source[0], SOURCE_TOKENS), "".join(to_tokens(target[0], TARGET_TOKENS))
    (['1', '8', 'April', '2', '6', '1', '9'], '2619-04-18')
    """
    count = check_int("count", count)
    check_generator("generator", generator)
    ends = FIRST.toordinal(), LAST.toordinal() + 1
    drawn = torch.randint(*ends, (count,), generator=generator).tolist()
    dates = [datetime.date.fromordinal(each) for each in drawn]
    source = read_dates(*(f"{date.day} {MONTHS[date.month - 1]} {date.year}" for date in dates))
    target = [[TARGET_TOKENS.index(token) for token in date.isoformat()] for date in dates]
    return source, torch.tensor(target)


class DateTranslator(nn.Module):
    """An encoder block that reads a date, and a decoder block that writes it anew.

    Both are post-LN, with one head unless more are asked for, and sinusoidal positions. Only
    cross-attention connects them: what the decoder knows of the source, it has read there.

    Args:
        width: model width, C; even.
        num_heads: heads in each attention, H; they divide the width.

    Raises:
        TypeError, ValueError: if a size is no positive integer, the width is odd, or the heads do
            not divide it.
    """

    positions: Tensor

    def __init__(self, width: int = 32, num_heads: int = 1) -> None:
        if check_int("width", width) % 2:
            raise ValueError(f"width must be even, for sinusoidal positions, got {width}")
        super().__init__()
        self.source_vectors = nn.Embedding(len(SOURCE_TOKENS), width)
        self.target_vectors = nn.Embedding(len(TARGET_TOKENS), width)
        self.encoder = EncoderBlock(width, num_heads, 4 * width)
        self.decoder = DecoderBlock(width, num_heads, 4 * width)
        self.logits = nn.Linear(width, len(TARGET_TOKENS))
        self.register_buffer("positions", sinusoidal_positions(T, width), persistent=False)

    def forward(
        self, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "B H T S"]]:
        """Return logits of each target token, and the weights of cross-attention.

        Teacher forcing: the logits of a token come from the source and the right tokens before it.

        Raises:
            TypeError, ValueError: if the ids are not int64, more than 7 or 10 a row, or not all in
                their table, of which "<start>" is no target.
        """
        _check_pairs(source, target)
        memory = self.encode(source)
        start = torch.full_like(target[:, :1], START)
        before = torch.cat([start, target[:, :-1]], dim=1)
        return self._decode(memory, source, before)

    def encode(self, source: Int[Tensor, "B S"]) -> Float[Tensor, "B S C"]:
        """Return the memory: one vector for each token of the source.

        Raises:
            TypeError, ValueError: as ``forward`` does.
        """
        _check_source(source)
        x = TOKEN_SCALE * self.source_vectors(source) + self.positions[: source.shape[1]]
        return self.encoder(x, _may_read(source))[0]

    @torch.no_grad()
    def translate(
        self, source: Int[Tensor, "B S"], *, memory: Float[Tensor, "B S C"] | None = None
    ) -> tuple[Int[Tensor, "B T"], Float[Tensor, "B H T S"]]:
        """Return the translations, and the weights of the cross-attention that wrote them.

        They are written token by token, each time the one with the largest logit.

        Args:
            source: from ``read_dates``.
            memory: what the decoder reads; None is ``encode(source)``. Zeros show what it can do
                without.

        Raises:
            TypeError, ValueError: as ``forward`` does, or if the memory does not fit the source.

        >>> source = read_dates("7 May 2024", "12 March 1999")
        >>> written, weights = DateTranslator().translate(source)
        >>> tuple(written.shape), tuple(weights.shape)
        ((2, 10), (2, 1, 10, 7))
        """
        encoded = self.encode(source)
        memory = encoded if memory is None else memory
        check_rank("memory", memory, "B S C")
        if memory.shape != encoded.shape:
            raise ValueError(
                f"memory must have a vector for each token of source {tuple(encoded.shape)}, "
                f"got {tuple(memory.shape)}"
            )
        start = torch.full_like(source[:, :1], START)
        logits, weights = self._decode(memory, source, start)
        written = logits.argmax(dim=-1)
        while written.shape[1] < T:
            logits, weights = self._decode(memory, source, torch.cat([start, written], dim=1))
            written = torch.cat([written, logits[:, -1:].argmax(dim=-1)], dim=1)
        return written, weights

    def _decode(self, memory: Tensor, source: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        x = TOKEN_SCALE * self.target_vectors(before) + self.positions[: before.shape[1]]
        x, (_, cross) = self.decoder(x, memory, memory_may_attend=_may_read(source))
        return self.logits(x), cross.weights


def date_loss(
    model: Callable[..., tuple[Tensor, Tensor]],
    source: Int[Tensor, "B S"],
    target: Int[Tensor, "B T"],
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the target's tokens, in nats.

    Args:
        model: a ``DateTranslator``, or a function that stands in for one.
        source: as from ``date_pairs``.
        target: as from ``date_pairs``.

    Raises:
        TypeError, ValueError: if model is not callable, or as ``DateTranslator.forward`` does.

    >>> pairs = date_pairs(5, torch.Generator().manual_seed(0))
    >>> date_loss(DateTranslator(), *pairs).shape
    torch.Size([])
    """
    if not callable(model):
        raise TypeError(f"model must be callable, got {model!r} ({type(model).__name__})")
    _check_pairs(source, target)
    logits, _ = model(source, target)
    return cross_entropy(logits.flatten(0, 1), target.flatten())


def _tokens_of(text: str) -> list[str]:
    __tracebackhide__ = True
    if not check_text("text", text).strip():
        raise ValueError(f"text must hold a date, got an empty sentence: {text!r}")
    words = text.split()
    if len(words) != 3:
        raise ValueError(f"text must be three words, day, month and year, got {text!r}")
    day, month, year = words
    if not re.fullmatch(r"[1-9]|[12][0-9]|3[01]", day):
        raise ValueError(f"text must begin with a day, 1 to 31, got {day!r} in {text!r}")
    if month not in MONTHS:
        raise ValueError(f"text must name a month, {', '.join(MONTHS)}, got {month!r} in {text!r}")
    if not re.fullmatch(r"[12][0-9]{3}", year):
        raise ValueError(f"text must end with a year, 1000 to 2999, got {year!r} in {text!r}")
    return [*day, month, *year]


def _may_read(source: Tensor) -> Tensor:
    return (source != PAD)[:, None, None, :]  # for every head and every token that reads


def _check_pairs(source: Tensor, target: Tensor) -> None:
    __tracebackhide__ = True
    _check_source(source)
    _check_tokens("target", target, "B T", START, longest=T)
    if len(target) != len(source):
        raise ValueError(
            f"target must have a row for each of source ({len(source)}), got {len(target)}"
        )


def _check_source(source: Tensor) -> None:
    __tracebackhide__ = True
    _check_tokens("source", source, "B S", len(SOURCE_TOKENS), longest=S)


def _check_tokens(
    name: str, ids: Tensor, axes: str, size: int, *, longest: int | None = None
) -> None:
    __tracebackhide__ = True
    check_ids(name, ids, axes, size)
    check_not_empty(name, ids, axes=ids.ndim)
    if longest is not None and ids.shape[-1] > longest:
        raise ValueError(f"{name} must have at most {longest} tokens, got {ids.shape[-1]}")
