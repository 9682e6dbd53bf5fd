"""The KV-cache: keys and values of the tokens so far, kept so that no step computes them again."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from course_utils.checks import (
    check_floating,
    check_instance,
    check_int,
    check_like,
    check_not_empty,
    check_rank,
)
from course_utils.shapes import Float

__all__ = ["DecoderCache", "KVCache"]


class KVCache:
    """The keys and values that one attention layer has computed for one batch of sequences.

    An empty cache takes the sizes, dtype and device of what is put in first. New rows go into
    room kept in reserve, which doubles when it is used up: each row is copied about once more in
    all, where joining old and new rows at every step would copy all of them every time. While
    gradients are recorded they are joined after all, since a later write into the room would
    change what the backward pass needs: generate text under ``torch.no_grad()``.

    Args:
        max_positions: the most positions that may be kept; no limit if None.

    Attributes:
        length: the number of positions so far, S.
        source: in cross-attention, the memory that the keys and values were computed from.

    Raises:
        TypeError, ValueError: if max_positions is neither None nor a positive integer.

    Source: Shazeer, "Fast transformer decoding", 2019, section 2.4, the incremental form.

    >>> cache = KVCache()
    >>> keys, values = cache.append(torch.zeros(2, 3, 5, 4), torch.zeros(2, 3, 5, 4))
    >>> keys, values = cache.append(torch.ones(2, 3, 1, 4), torch.ones(2, 3, 1, 4))
    >>> tuple(keys.shape), cache.length, cache.bytes == 2 * (2 * 3 * 6 * 4) * 4
    ((2, 3, 6, 4), 6, True)
    """

    def __init__(self, max_positions: int | None = None) -> None:
        if max_positions is not None:
            max_positions = check_int("max_positions", max_positions)
        self.max_positions = max_positions
        self.length = 0
        self.source: Tensor | None = None
        self._rooms: tuple[Tensor, ...] = ()

    @property
    def keys(self) -> Float[Tensor, "B H S D"]:
        """The keys so far. An empty cache has none: a ValueError."""
        return self._rows(0)

    @property
    def values(self) -> Float[Tensor, "B H S E"]:
        """The values so far. An empty cache has none: a ValueError."""
        return self._rows(1)

    def _rows(self, which: int) -> Tensor:
        if not self._rooms:
            raise ValueError("the cache must hold at least one position, got none")
        return self._rooms[which][:, :, : self.length]

    @property
    def bytes(self) -> int:
        """Bytes of the keys and values so far. Room in reserve is not counted."""
        return sum(room[:, :, : self.length].nbytes for room in self._rooms)

    @property
    def allocated_bytes(self) -> int:
        """Bytes of the keys and values with the room in reserve: at most twice ``bytes``."""
        return sum(room.nbytes for room in self._rooms)

    def append(
        self, k: Float[Tensor, "B H new D"], v: Float[Tensor, "B H new E"]
    ) -> tuple[Float[Tensor, "B H S D"], Float[Tensor, "B H S E"]]:
        """Put new keys and values behind the others, and return all of them.

        Args:
            k: keys of one or more new positions.
            v: their values.

        Raises:
            TypeError: if they are not floating-point tensors of the cache's dtype.
            ValueError: if their axes do not fit each other or the cache, there is no new
                position, or more than ``max_positions`` would be kept.
        """
        self._check(k, v)
        rooms = self._rooms or (k[:, :, :0], v[:, :, :0])
        pairs = zip(rooms, (k, v), strict=True)
        self._rooms = tuple(self._with_rows(room, rows) for room, rows in pairs)
        self.length += k.shape[2]
        return self.keys, self.values

    def _with_rows(self, room: Tensor, rows: Tensor) -> Tensor:
        start, end = self.length, self.length + rows.shape[2]
        if torch.is_grad_enabled():
            return torch.cat((room[:, :, :start], rows), dim=2)
        size = room.shape[2]
        if end > size:
            size = max(end, 2 * size)
            size = min(size, self.max_positions or size)
        # What torch.inference_mode has made may not be written to outside it.
        sealed = room.is_inference() and not torch.is_inference_mode_enabled()
        if size > room.shape[2] or sealed:
            wider = rows.new_empty(*rows.shape[:2], size, rows.shape[3])
            wider[:, :, :start] = room[:, :, :start]
            room = wider
        room[:, :, start:end] = rows
        return room

    def check_room(self, name: str, new: int) -> None:
        """Check that ``new`` more positions, those of the argument ``name``, may be kept.

        Raises:
            TypeError: if new is not an integer.
            ValueError: if new is negative, or makes more than ``max_positions``.
        """
        __tracebackhide__ = True
        new = check_int("new", new, minimum=0)
        if self.max_positions is not None and self.length + new > self.max_positions:
            raise ValueError(
                f"{name} must bring the cache to at most max_positions ({self.max_positions}), "
                f"got {self.length + new}"
            )

    def _check(self, k: Tensor, v: Tensor) -> None:
        __tracebackhide__ = True
        for which, (name, rows, axes) in enumerate((("k", k, "B H S D"), ("v", v, "B H S E"))):
            check_rank(name, rows, axes)
            check_floating(name, rows)
            check_not_empty(name, rows, axes=2)
            if self.length:
                _check_continues(name, rows, self._rows(which))
        check_like("v", v, "k", k)
        if v.shape[:3] != k.shape[:3]:
            raise ValueError(
                f"v must have a row for each of k, (B, H, S) = {tuple(k.shape[:3])}, "
                f"got shape {tuple(v.shape)}"
            )
        self.check_room("k", k.shape[2])


def _check_continues(name: str, rows: Tensor, kept: Tensor) -> None:
    __tracebackhide__ = True
    check_like(name, rows, "the cache", kept)
    B, H, _, width = kept.shape
    if rows.shape != (B, H, rows.shape[2], width):
        raise ValueError(
            f"{name} must have the cache's batch, heads and width {(B, H, width)}, "
            f"got shape {tuple(rows.shape)}"
        )


@dataclass(frozen=True)
class DecoderCache:
    """The two caches of one decoder block.

    Attributes:
        self_attention: grows by the new tokens at each step.
        cross_attention: filled from the memory at the first step, and only read from then on.

    Raises:
        TypeError: if one is not a KVCache.
        ValueError: if both are the same one.

    >>> DecoderCache(KVCache(max_positions=11)).bytes
    0
    """

    self_attention: KVCache = field(default_factory=KVCache)
    cross_attention: KVCache = field(default_factory=KVCache)

    def __post_init__(self) -> None:
        for name, cache in vars(self).items():
            check_instance(name, cache, KVCache, "a KVCache")

        if self.cross_attention is self.self_attention:
            raise ValueError(
                "cross_attention must be another cache than self_attention, got the same"
            )

    @property
    def bytes(self) -> int:
        """Bytes of the keys and values in both."""
        return self.self_attention.bytes + self.cross_attention.bytes
