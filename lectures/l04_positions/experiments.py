"""A task that needs order: recall the value that a key had the last time.

A sequence is a list of notes, each a key and a value: ``b = 3, f = 0, b = 7, c = 3, b = 1``. At
each note the question is which value its key had **last**: at the third note 3, at the fifth 7.
The content says which notes belong to the key; only the order says which of them is the latest. So
one attention layer without positions can do no better than mix the earlier values of the key.

Keys are drawn from a quarter as many kinds as there are notes. In a longer sequence the last note
of a key is therefore further back. With ``num_keys`` it stays near, and a key has more and more
earlier notes. With ``fresh_every`` too it stays near, and a key has no more notes than before.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from course_utils.layers import Alibi, FeedForward, LayerNorm, MultiHeadAttention, Rotary
from course_utils.layers.position_schemes import PositionScheme
from course_utils.masks import causal_mask
from course_utils.positions import sinusoidal_positions
from course_utils.shapes import Float, Int
from course_utils.training import TEST_SEED

KEYS, VALUES = 64, 8
TRAINED_LENGTH = 32  # notes
SCHEMES = ("none", "learned", "sinusoidal", "rope", "alibi")

Notes = tuple[Int[Tensor, "B T"], Int[Tensor, "B T"], Int[Tensor, "B T"], Int[Tensor, "B T"]]


def recall_notes(
    batch: int,
    length: int,
    generator: torch.Generator,
    *,
    num_keys: int | None = None,  # kinds in a sequence, at most 64; T / 4 if None
    fresh_every: int | None = None,  # notes, after which come num_keys other kinds; 64 kinds in all
) -> Notes:
    """Draw sequences of notes, and what each note should recall.

    Each sequence picks its own kinds of keys out of the 64, and draws a key and a value for each
    note, all equally likely.

    Gives keys, values, the value that the key had last, and how many earlier notes have that key.
    Where there are none, the value to recall means nothing.
    """
    B, T = batch, length
    kinds = max(1, T // 4) if num_keys is None else num_keys
    palette = torch.rand(B, KEYS, generator=generator).argsort(dim=-1)
    chosen = torch.randint(kinds, (B, T), generator=generator)
    if fresh_every:
        chosen = chosen + kinds * (torch.arange(T) // fresh_every)
    keys = palette.gather(1, chosen)
    values = torch.randint(VALUES, (B, T), generator=generator)
    same = (keys[:, :, None] == keys[:, None, :]) & _earlier(T)  # (B, T, T)
    latest = (same * torch.arange(1, T + 1)).amax(dim=-1) - 1  # -1 where there is none
    return keys, values, values.gather(1, latest.clamp_min(0)), same.sum(dim=-1)


def _earlier(T: int) -> Tensor:
    """Causal without the diagonal: a note must not read its own value, which is another one."""
    return causal_mask(T) & ~torch.eye(T, dtype=torch.bool)


class NoteReader(nn.Module):
    """One pre-LN attention layer and a feed-forward network, with a choice of positions."""

    def __init__(
        self,
        positions: str,  # one of SCHEMES
        *,
        width: int = 64,
        num_heads: int = 4,
        max_positions: int = 256,  # "learned" keeps the random vectors that training never saw
    ) -> None:
        super().__init__()
        shape = (max_positions, width)
        self.letters, self.values = nn.Embedding(KEYS, width), nn.Embedding(VALUES, width)
        self.positions: Tensor | None = None
        if positions == "learned":
            self.positions = nn.Parameter(torch.randn(shape))
        elif positions == "sinusoidal":
            del self.positions
            self.register_buffer("positions", sinusoidal_positions(*shape), persistent=False)
        scheme = {"rope": Rotary(), "alibi": Alibi()}.get(positions)
        self.attention_norm, self.feedforward_norm = LayerNorm(width), LayerNorm(width)
        self.attention = MultiHeadAttention(width, num_heads, position=scheme)
        self.feedforward = FeedForward(width, 2 * width)
        self.output = nn.Linear(width, VALUES)

    def forward(
        self, letters: Int[Tensor, "B T"], values: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T V"]:
        """Return for each note the scores of the values that its letter may have had last."""
        T = letters.shape[1]
        x = self.letters(letters) + self.values(values)  # (B, T, C)
        if self.positions is not None:
            x = x + self.positions[:T]
        x = x + self.attention(self.attention_norm(x), may_attend=_earlier(T))[0]
        return self.output(x + self.feedforward(self.feedforward_norm(x)))


@dataclass(frozen=True)
class RotatedBy:
    """RoPE by somebody's own function, ``rotate_by(x, positions)``."""

    rotate_by: Callable[[Tensor, Tensor], Tensor]

    def rotate(self, x: Float[Tensor, "B H T D"], start: int) -> Float[Tensor, "B H T D"]:
        """Return x rotated by the positions start, start + 1, ..."""
        return self.rotate_by(x, torch.arange(start, start + x.shape[-2]))

    def bias(self, q: Float[Tensor, "B H T D"], S: int) -> None:
        """Nothing is added to the scores."""


def stretch_rotary(model: NoteReader, rotary: Rotary | RotatedBy) -> None:
    """Let a trained reader with "rope" rotate queries and keys in another way."""
    model.attention.position = cast(PositionScheme, rotary)  # it has the same two methods


def note_loss(
    model: Callable[..., Tensor],
    keys: Int[Tensor, "B T"],
    values: Int[Tensor, "B T"],
    last: Int[Tensor, "B T"],
    earlier: Int[Tensor, "B T"],
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy over the notes whose key was seen before, in nats.

    Without such a note it is 0, and so is its gradient.
    """
    scores = model(keys, values)
    losses = nn.functional.cross_entropy(scores.flatten(0, 1), last.flatten(), reduction="none")
    asked = (earlier > 0).flatten().to(losses.dtype)
    return (losses * asked).sum() / asked.sum().clamp_min(1)


@torch.no_grad()
def recall_accuracy(
    model: nn.Module,
    lengths: Sequence[int],
    *,
    num_keys: int | None = None,  # as in recall_notes; so is fresh_every
    fresh_every: int | None = None,
    seed: int = TEST_SEED,  # far from those of trainings: no reader was trained with these notes
) -> Float[Tensor, " lengths"]:
    """Return the share of right answers at each length, where order matters.

    Only notes whose key was seen at least twice before are asked, those where a key comes at least
    three times: with a single earlier note, order says nothing. About 2,000 notes are drawn for
    each length.
    """
    shares = []
    for length in lengths:
        generator = torch.Generator().manual_seed(seed)
        rows = max(4, 2048 // length)
        notes = recall_notes(rows, length, generator, num_keys=num_keys, fresh_every=fresh_every)
        keys, values, last, earlier = notes
        right = model(keys, values).argmax(dim=-1) == last
        shares.append(right[earlier > 1].double().mean())
    return torch.stack(shares)


def compare_schemes(
    readers: Mapping[str, NoteReader],  # one for each of SCHEMES
    lengths: Sequence[int],  # in notes; the readers were trained on TRAINED_LENGTH
    **notes: int,  # num_keys and fresh_every, as in recall_notes
) -> dict[str, list[float]]:
    """Return the shares of right answers at each length, of RoPE also with its two repairs."""
    tests = {
        "none": ("none", None),
        "learned": ("learned", None),
        "sinusoidal": ("sinusoidal", None),
        "RoPE": ("rope", lambda longer: Rotary()),
        "ALiBi": ("alibi", None),
        "interpolated": ("rope", lambda longer: Rotary(interpolation=longer)),
        "NTK": ("rope", lambda longer: Rotary(ntk=longer)),
    }
    found = {}
    for name, (scheme, rotary_of) in tests.items():
        shares = []
        for length in lengths:
            if rotary_of:
                stretch_rotary(readers[scheme], rotary_of(length / TRAINED_LENGTH))
            shares.append(recall_accuracy(readers[scheme], [length], **notes).item())
        found[name] = shares
    return found
