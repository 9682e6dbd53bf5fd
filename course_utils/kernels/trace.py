"""The tiled attention slowed down: what it holds and what it has moved after every tile.

The numbers are those of the real loop, ``forward_tiles``, which hands them out after each tile;
nothing is computed a second time here.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from course_utils.checks import check_finite, check_int, check_like, check_values
from course_utils.kernels.tiled import Tile, forward_tiles
from course_utils.shapes import Float

__all__ = ["TileStep", "trace_tiles"]


@dataclass(frozen=True)
class TileStep:
    """Where the loop stands after one tile.

    Attributes:
        rows: the queries of this tile.
        keys: its keys.
        m: (T,) running maximum of each query's scores; -inf where none was computed yet.
        l: (T,) running sum of exp(score - m); 0 where none was computed yet.
        acc: (T, D) running sum of exp(score - m) * value.
        alpha: (T,) factor by which l and acc of this tile's queries were rescaled before its keys
            were added: exp(old m - new m), hence 0 at the first tile and 1, but for rounding, where
            m did not rise. 1 for the other queries.
        bytes_read: from the main memory so far: a block of q once, k and v of each tile.
        bytes_written: to it so far: out and the log-sum-exp, when a block of queries is done.
        skipped: dead tiles that were left out so far: their keys come after all their queries.
        ends_block: whether this was the last tile of these queries.
    """

    rows: range
    keys: range
    m: Tensor
    l: Tensor
    acc: Tensor
    alpha: Tensor
    bytes_read: int
    bytes_written: int
    skipped: int
    ends_block: bool

    @property
    def bytes_moved(self) -> int:
        """Bytes read and written so far."""
        return self.bytes_read + self.bytes_written


def trace_tiles(
    q: Float[Tensor, "T D"],
    k: Float[Tensor, "S D"],
    v: Float[Tensor, "S D"],
    *,
    causal: bool = False,
    scale: float | None = None,
    block_m: int,
    block_n: int,
) -> tuple[TileStep, ...]:
    """Run the tiled attention of one head; return a step for each tile that it visits, in order.

    After each step, for the queries of its tile and all keys seen so far: ``m = max(scores)``,
    ``l = sum(exp(scores - m))``, ``acc = exp(scores - m) @ v``. In the last one ``acc / l`` is the
    attention's output for every query that may attend to a key.

    Args:
        q: queries.
        k: keys.
        v: values.
        causal: whether a query is kept from later keys; the last query sees the last key.
        scale: factor on the dot products; 1 / sqrt(D) if None.
        block_m: queries in a tile.
        block_n: keys in a tile.

    Raises:
        TypeError, ValueError: if the tensors are not finite matrices of one width, dtype and
            device, k and v not of one shape, or another argument is not what it should be.

    Source: Dao, "FlashAttention-2", 2023, algorithm 1.

    >>> steps = trace_tiles(*torch.ones(3, 4, 2), causal=True, block_m=2, block_n=2)
    >>> [(list(step.rows), list(step.keys)) for step in steps]
    [([0, 1], [0, 1]), ([2, 3], [0, 1]), ([2, 3], [2, 3])]
    >>> (steps[-1].acc / steps[-1].l[:, None])[0], steps[-1].skipped
    (tensor([1., 1.]), 1)
    """
    _check_head(q, k, v)
    factor = q.shape[1] ** -0.5 if scale is None else check_finite("scale", scale)
    block_m, block_n = check_int("block_m", block_m), check_int("block_n", block_n)
    tiles: list[Tile] = []
    forward_tiles(
        *(x[None, None] for x in (q, k, v)),
        causal=causal,
        scale=factor,
        block_m=block_m,
        block_n=block_n,
        watch=tiles.append,
    )
    return tuple(_steps(tiles, q, k, block_n))


def _steps(tiles: list[Tile], q: Tensor, k: Tensor, block_n: int) -> Iterator[TileStep]:
    """Join what each tile handed out with the final numbers of the queries before it."""
    T, D = q.shape
    first = tiles[0]
    m, l = first.m.new_full((T,), -torch.inf), first.l.new_zeros(T)
    acc = first.acc.new_zeros(T, D)
    in_row = -(-len(k) // block_n)
    read = visited = skipped = 0
    # Queries that may attend to no key come first: zeros and -inf are written for them.
    written = _bytes_written(range(first.rows.start), q, first)
    for tile, after in zip(tiles, [*tiles[1:], None], strict=True):
        starts, ends = visited == 0, after is None or after.rows != tile.rows
        at = slice(tile.rows.start, tile.rows.stop)
        m, l, acc, alpha = m.clone(), l.clone(), acc.clone(), torch.ones_like(l)
        m[at], l[at] = tile.m[0, 0], tile.l[0, 0]
        acc[at], alpha[at] = tile.acc[0, 0], tile.alpha[0, 0]
        fetched = 2 * len(tile.keys) + (len(tile.rows) if starts else 0)
        read += fetched * D * q.element_size()
        visited = 0 if ends else visited + 1
        if ends:
            written += _bytes_written(tile.rows, q, tile)
            skipped += in_row - -(-tile.keys.stop // block_n)
        yield TileStep(tile.rows, tile.keys, m, l, acc, alpha, read, written, skipped, ends)


def _bytes_written(rows: range, q: Tensor, tile: Tile) -> int:
    """Return what a row of out and its log-sum-exp take; the latter is as wide as m."""
    return len(rows) * (q.shape[1] * q.element_size() + tile.m.element_size())


def _check_head(q: Tensor, k: Tensor, v: Tensor) -> None:
    __tracebackhide__ = True
    for name, tensor, axes in (("q", q, "T D"), ("k", k, "S D"), ("v", v, "S D")):
        check_values(name, tensor, axes)
        check_like(name, tensor, "q", q)
    if k.shape[1] != q.shape[1]:
        raise ValueError(f"k must have the width of q ({q.shape[1]}), got {tuple(k.shape)}")
    if v.shape != k.shape:
        raise ValueError(f"v must have the shape of k {tuple(k.shape)}, got {tuple(v.shape)}")
