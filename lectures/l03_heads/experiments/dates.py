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

from course_utils.layers import DecoderBlock, EncoderBlock
from course_utils.positions import sinusoidal_positions
from course_utils.shapes import Float, Int

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
DATE = re.compile(r"(?P<day>[1-9]|[12][0-9]|3[01])\s+(?P<month>\w+)\s+(?P<year>[12][0-9]{3})")
FIRST, LAST = datetime.date(1000, 1, 1), datetime.date(2999, 12, 31)

# The digits of a year differ in nothing but their places, so positions must not drown in the
# tokens, whose vectors start larger. At a quarter, training is faster and cross-attention sharper.
TOKEN_SCALE = 0.25


def read_dates(*text: str) -> Int[Tensor, "B S"]:
    """Turn dates such as "7 May 2024" into ids of ``SOURCE_TOKENS``, (B, 7).

    The calendar is not asked: 31 February is read as well. Dates with one digit for the day end
    with a "<pad>". A reader writes dates of their own here, so the message says what a date is.
    """
    rows = [_tokens_of(each) for each in text]
    return torch.tensor([[*map(SOURCE_TOKENS.index, row), *[PAD] * (S - len(row))] for row in rows])


def _tokens_of(text: str) -> list[str]:
    found = DATE.fullmatch(text.strip())
    if found is None or found["month"] not in MONTHS:
        raise ValueError(
            f"a date must be a day, an English month and a year from 1000 to 2999, such as "
            f"'7 May 2024', got {text!r}"
        )
    return [*found["day"], found["month"], *found["year"]]


def to_tokens(ids: Int[Tensor, " N"], table: Sequence[str]) -> list[str]:
    """Return the tokens of one source or target; those in angle brackets are left out."""
    tokens = [table[int(index)] for index in ids]
    return [token for token in tokens if not token.startswith("<")]


def places_to_read(source: Int[Tensor, "B S"]) -> Int[Tensor, "B T"]:
    """Return for each token of the target the place in the source that tells it, or -1.

    No place tells the two "-" and the "0" before a day of one digit; the latter is told by how
    many tokens there are. Both digits of the month are told by its name.
    """
    one, two = [2, 3, 4, 5, -1, 1, 1, -1, -1, 0], [3, 4, 5, 6, -1, 2, 2, -1, 0, 1]
    return torch.tensor([one if row[-1] == PAD else two for row in source.tolist()])


def date_pairs(
    count: int, generator: torch.Generator
) -> tuple[Int[Tensor, "B S"], Int[Tensor, "B T"]]:
    """Draw dates, and return each as a source and as its translation.

    Every day of the calendar from 1 January 1000 to 31 December 2999 is equally likely; there are
    730,485.
    """
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
    """

    positions: Tensor

    def __init__(
        self,
        width: int = 32,  # even
        num_heads: int = 1,
    ) -> None:
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
        """
        memory = self.encode(source)
        start = torch.full_like(target[:, :1], START)
        before = torch.cat([start, target[:, :-1]], dim=1)
        return self._decode(memory, source, before)

    def encode(self, source: Int[Tensor, "B S"]) -> Float[Tensor, "B S C"]:
        """Return the memory: one vector for each token of the source."""
        x = TOKEN_SCALE * self.source_vectors(source) + self.positions[: source.shape[1]]
        return self.encoder(x, _may_read(source))[0]

    @torch.no_grad()
    def translate(
        self,
        source: Int[Tensor, "B S"],
        *,
        # None is encode(source); zeros show what it can do without
        memory: Float[Tensor, "B S C"] | None = None,
    ) -> tuple[Int[Tensor, "B T"], Float[Tensor, "B H T S"]]:
        """Return the translations, and the weights of the cross-attention that wrote them.

        They are written token by token, each time the one with the largest logit.
        """
        memory = self.encode(source) if memory is None else memory
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
    """Return the mean cross-entropy of the target's tokens, in nats."""
    logits, _ = model(source, target)
    return cross_entropy(logits.flatten(0, 1), target.flatten())


def _may_read(source: Tensor) -> Tensor:
    return (source != PAD)[:, None, None, :]  # for every head and every query
