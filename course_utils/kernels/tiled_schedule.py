"""Which tiles the tiled attention visits, and how they are cut out of its tensors."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from course_utils.checks import check_int

__all__ = ["HeadBlock", "TileSchedule"]

# Queries and keys in a tile, by measurement at H 8, D 64 on two threads. Smaller tiles spend their
# time on starting operations; larger ones fall out of the cache, and on the diagonal are wasted.
_FORWARD, _BACKWARD = (256, 512), (256, 256)
_TILE = 2**20  # numbers in a tile, its heads together: 4 MiB in float32
# Where tiles of one head are multiplied faster, and the fewest scores in a tile that are worth it.
_ONE_HEAD, _FEWEST_SCORES = (512, 1024), 2**18
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
        one_head: whether large tiles of one head are multiplied faster than tiles of several;
            ignored where a block size is given.
        backward: whether for the backward pass, which holds two tiles.
        threads: how many share the blocks: each is to find some.

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
        one_head: bool = False,
        backward: bool = False,
        threads: int = 1,
    ) -> None:
        H, self.T, D = q.shape[1:]
        self.B, self.G, self.S = k.shape[:3]
        self.causal, self.group = causal, H // self.G
        self._mask: tuple[tuple, Tensor | None] = ((), None)
        rows, keys = _BACKWARD if backward else _FORWARD
        alone = one_head and block_m is None and block_n is None and self._worth_one_head()
        if alone:
            rows, keys = _ONE_HEAD
        if block_m is None:
            block_m = min(rows, max(_FEWEST_ROWS, _TILE // (keys * self.group)), self.T) or 1
        self.block_m = check_int("block_m", block_m)
        tall = self.group * self.block_m
        if block_n is None:
            block_n = min(max(keys, rows * keys // tall), _MOST_KEYS, self.S) or 1
        self.block_n = check_int("block_n", block_n)
        # Several threads find blocks of heads for each twice: who is held up takes fewer.
        most = max(1, self.B * self.G // (2 * threads)) if threads > 1 else self.B * self.G
        fill = max(1, _TILE // (max(tall, D) * self.block_n))
        self.heads_at_once = 1 if alone else min(fill, most)

    @property
    def first_row(self) -> int:
        """The first query that may attend to a key."""
        if self.S == 0:
            return self.T
        return max(0, self.T - self.S) if self.causal else 0

    def blocks_of_queries(self) -> Iterator[tuple[HeadBlock, range]]:
        """Yield heads and rows: all queries that may attend to a key, block by block."""
        for heads in self.blocks_of_heads():
            for rows in self.blocks_of_rows():
                yield heads, rows

    def blocks_of_heads(self) -> Iterator[HeadBlock]:
        """Yield all heads, as many at a time as fill a tile."""
        batches, heads = max(1, self.heads_at_once // self.G), min(self.heads_at_once, self.G)
        for batch in _blocks(0, self.B, batches):
            for kv in _blocks(0, self.G, heads):
                yield HeadBlock(batch, range(kv.start * self.group, kv.stop * self.group), kv)

    def blocks_of_rows(self) -> Iterator[range]:
        """Yield all queries that may attend to a key, block by block."""
        return _blocks(self.first_row, self.T, self.block_m)

    def blocks_of_keys(self, rows: range) -> Iterator[range]:
        """Yield the blocks of keys that one of these queries may attend to, in ascending order."""
        return _blocks(0, rows.stop + self.S - self.T if self.causal else self.S, self.block_n)

    def hide_later(
        self, scores: Tensor, rows: range, keys: range, *, keys_first: bool = False
    ) -> None:
        """Set to -inf the scores of keys that are later than the query.

        Only tiles on the diagonal have any. Their scores are zeroed, since NaN plus -inf is NaN,
        and -inf is added: a fifth of the time of ``masked_fill_``. In a single matrix only those
        keys are touched that some query may not attend to; in several, torch would copy that part.

        Args:
            scores: a tile, (heads, group * rows, keys).
            rows: its queries.
            keys: its keys.
            keys_first: whether the tile is transposed: (heads, keys, group * rows).
        """
        diagonal = self._zero_later(scores, rows, keys, keys_first)
        if diagonal is not None:
            tile, last = diagonal
            tile.add_(self._later(tile, last, keys_first))

    def drop_later(self, weights: Tensor, rows: range, keys: range) -> None:
        """Set to 0 the weights of keys that are later than the query. None may be NaN."""
        self._zero_later(weights, rows, keys, keys_first=False)

    def _zero_later(
        self, tile: Tensor, rows: range, keys: range, keys_first: bool
    ) -> tuple[Tensor, int] | None:
        """Zero what no query may attend to; return that part, and the last key of its first query.

        None is returned where every query may attend to every key.
        """
        last = (
            rows.start + self.S - self.T - keys.start
        )  # the last key of the first query, as a column
        if not self.causal or last >= len(keys) - 1:
            return None
        tile = tile.unflatten(2 if keys_first else 1, (self.group, len(rows)))
        tile = tile.transpose(1, 2) if keys_first else tile
        if tile.shape[:2] == (1, 1):
            first = max(0, last + 1)
            tile, last = tile[0, 0], last - first
            tile = tile[first:] if keys_first else tile[:, first:]
        return (tile.triu_(-last) if keys_first else tile.tril_(last)), last

    def _later(self, tile: Tensor, last: int, keys_first: bool) -> Tensor:
        """Return a matrix with -inf for keys after the query, else 0.

        It is kept for the next tile on the diagonal, which wants the same one where block sizes
        divide one another. Only one is kept: there could be one for each block of queries.
        """
        name, (kept, matrix) = (*tile.shape[-2:], last, keys_first), self._mask
        if matrix is None or kept != name:
            matrix = tile.new_full(tile.shape[-2:], -torch.inf)
            matrix = matrix.tril_(-last - 1) if keys_first else matrix.triu_(last + 1)
            self._mask = name, matrix
        return matrix

    def _worth_one_head(self) -> bool:
        rows, keys = _ONE_HEAD
        return self.group * min(self.T, rows) * min(self.S, keys) >= _FEWEST_SCORES


def _blocks(start: int, stop: int, step: int) -> Iterator[range]:
    for at in range(start, stop, step):
        yield range(at, min(at + step, stop))


def _cut(part: range) -> slice:
    return slice(part.start, part.stop)
