"""Which tiles the tiled attention visits, and how they are cut out of its tensors."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from course_utils.checks import check_int

__all__ = ["HeadBlock", "TileSchedule"]

# Queries and keys in a tile, by measurement at H 8, D 64 on two threads. Smaller tiles spend their
# time on starting operations; larger ones fall out of the cache, and on the diagonal are wasted.
_ROWS, _KEYS = 256, 512
_TILE = 2**20  # numbers in a tile, its heads together: 4 MiB in float32
# What a large group of query heads leaves of the queries, and few queries make of the keys.
_FEWEST_ROWS, _MOST_KEYS = 16, 4096


@dataclass(frozen=True)
class HeadBlock:
    """Some key/value heads, and the query heads that attend to them: the heads of one tile.

    The query heads of a group lie below one another in a tile, for they attend to the same keys: no
    head of k or v is copied. A tile reaches over several batch entries only if it holds all the
    heads of each.
    """

    batch: range
    query: range
    kv: range

    def rows_of(self, x: Tensor, rows: range) -> Tensor:
        """Return the rows of x (B, H, T, n) as a tile (heads, group * rows, n)."""
        x = x[_cut(self.batch), _cut(self.query), _cut(rows)]
        return x.reshape(len(self.batch) * len(self.kv), -1, x.shape[-1])

    def keys_of(self, x: Tensor, keys: range) -> Tensor:
        """Return the keys of x (B, G, S, n) as a tile (heads, keys, n): a view, if x allows it."""
        return x[_cut(self.batch), _cut(self.kv), _cut(keys)].flatten(0, 1)

    def write(self, x: Tensor, rows: range, tile: Tensor) -> None:
        """Put a tile (heads, group * rows, n) into the rows of x (B, H, T, n)."""
        target = x[_cut(self.batch), _cut(self.query), _cut(rows)]
        target.copy_(tile.view(target.shape))


class TileSchedule:
    """Which tiles are computed, in order: heads, then blocks of queries, then blocks of keys.

    Causal attention is aligned at the bottom right: query t attends to the keys up to
    t + S - T. A tile in which no query may attend to a key is left out.

    Args:
        q: queries, (B, H, T, D).
        k: keys, (B, G, S, D).
        causal: whether a query is kept from later keys.
        block_m: queries in a tile; if None, as suits the sizes.
        block_n: keys in a tile; if None, as suits the sizes.

    Raises:
        TypeError, ValueError: if a block size is not a positive integer.
    """

    def __init__(
        self,
        q: Tensor,
        k: Tensor,
        *,
        causal: bool,
        block_m: int | None = None,
        block_n: int | None = None,
    ) -> None:
        H, self.T, D = q.shape[1:]
        self.B, self.G, self.S = k.shape[:3]
        self.causal, self.group = causal, H // self.G
        if block_m is None:
            block_m = min(_ROWS, max(_FEWEST_ROWS, _TILE // (_KEYS * self.group)), self.T) or 1
        self.block_m = check_int("block_m", block_m)
        tall = self.group * self.block_m
        if block_n is None:
            block_n = min(max(_KEYS, _ROWS * _KEYS // tall), _MOST_KEYS, self.S) or 1
        self.block_n = check_int("block_n", block_n)
        self.heads_at_once = max(1, _TILE // (max(tall, D) * self.block_n))

    @property
    def first_row(self) -> int:
        """The first query that may attend to a key."""
        if self.S == 0:
            return self.T
        return max(0, self.T - self.S) if self.causal else 0

    def blocks_of_queries(self) -> Iterator[tuple[HeadBlock, range]]:
        """Yield heads and rows: all queries that may attend to a key, block by block."""
        for heads in self.blocks_of_heads():
            for rows in _blocks(self.first_row, self.T, self.block_m):
                yield heads, rows

    def blocks_of_heads(self) -> Iterator[HeadBlock]:
        """Yield all heads, as many at a time as fill a tile."""
        batches, heads = max(1, self.heads_at_once // self.G), min(self.heads_at_once, self.G)
        for batch in _blocks(0, self.B, batches):
            for kv in _blocks(0, self.G, heads):
                yield HeadBlock(batch, range(kv.start * self.group, kv.stop * self.group), kv)

    def blocks_of_keys(self, rows: range) -> Iterator[range]:
        """Yield the blocks of keys that one of these queries may attend to, in ascending order."""
        return _blocks(0, rows.stop + self.S - self.T if self.causal else self.S, self.block_n)

    def mask_future_(self, scores: Tensor, rows: range, keys: range) -> None:
        """Set to -inf the scores (heads, group * rows, keys) of keys later than the query.

        Only tiles on the diagonal have any.
        """
        shift = self.S - self.T
        if not self.causal or keys[-1] <= rows[0] + shift:
            return
        last_key = torch.arange(rows.start, rows.stop, device=scores.device)[:, None] + shift
        later = torch.arange(keys.start, keys.stop, device=scores.device) > last_key
        scores.view(-1, *later.shape).masked_fill_(later, -torch.inf)


def _blocks(start: int, stop: int, step: int) -> Iterator[range]:
    for at in range(start, stop, step):
        yield range(at, min(at + step, stop))


def _cut(part: range) -> slice:
    return slice(part.start, part.stop)
