"""What attention computes and moves: FLOPs and bytes, with the whole matrix and tile by tile.

Both are counted per pass: a pass is one kernel, which reads its inputs from the main memory of the
device (HBM) and writes its results back. Nothing is assumed to stay in a cache from one pass to the
next, nor from one block of queries to another, unless ``cached`` says so: the L2 cache of a GPU
holds k and v of many heads, but not their matrices.

All functions take T queries, S keys and the head width D, of one head; ``heads``, batch times
query heads, multiplies. ``element_size`` is the bytes of a number, ``block_m`` the queries and
``block_n`` the keys in a tile; ``causal`` is aligned at the bottom right: the last query attends to
the last key. FLOPs: a multiply-add is two, an exponential, a maximum, a division one. Three kinds
are kept apart, as a GPU has units of different speed for them: products of matrices (tensor cores),
exponentials and logarithms (special function units), and the rest (vector units).

Sources: Williams, Waterman, Patterson, "Roofline", 2009; Dao et al., "FlashAttention", 2022,
section 3.2; Dao, "FlashAttention-2", 2023, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

STATISTIC = 4  # bytes of a float32: m, l, lse, delta and the sums are never kept in 16 bits

# Vector FLOPs for each score, in the order in which they happen; its exp is counted apart.
_NAIVE_SOFTMAX = 5  # scale, maximum, subtract, sum, divide
_TILED_SOFTMAX = 4  # the same without the division, which comes once, at the end of the row
_NAIVE_GRADIENT = 5  # dP * P, its sum, dP - delta, times P, times scale
_TILED_GRADIENT = 5  # scale, subtract lse: the weights again; dP - delta, times P, times scale
# For each row of each tile, beside the D products that rescale the accumulator and the exp that
# makes alpha: the new maximum, old minus new, l times alpha, plus the tile's sum.
_RESCALE = 4
_FINISH = 1  # for each row, beside the D divisions and log l: plus m


@dataclass(frozen=True)
class Cost:
    """What a computation takes: FLOPs in products, other FLOPs, exp and log, bytes moved."""

    matmul_flops: int
    vector_flops: int
    special_results: int
    bytes_read: int
    bytes_written: int

    @property
    def flops(self) -> int:
        """All floating-point operations."""
        return self.matmul_flops + self.vector_flops + self.special_results

    @property
    def bytes(self) -> int:
        """All bytes moved between the main memory and the chip."""
        return self.bytes_read + self.bytes_written

    @property
    def intensity(self) -> float:
        """FLOPs in products for each byte moved; 0 where nothing moves."""
        return self.matmul_flops / self.bytes if self.bytes else 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.matmul_flops + other.matmul_flops,
            self.vector_flops + other.vector_flops,
            self.special_results + other.special_results,
            self.bytes_read + other.bytes_read,
            self.bytes_written + other.bytes_written,
        )

    def __rmul__(self, times: int) -> Cost:
        return Cost(
            self.matmul_flops * times,
            self.vector_flops * times,
            self.special_results * times,
            self.bytes_read * times,
            self.bytes_written * times,
        )


def naive_forward(T: int, S: int, D: int, *, element_size: int = 2, heads: int = 1) -> Cost:
    """Return the cost of attention with the whole (T, S) matrix, in three passes.

    1. ``scores = scale * q @ k.T``: reads q and k, writes the scores.
    2. ``weights = softmax(scores)``: reads the scores, writes the weights.
    3. ``out = weights @ v``: reads the weights and v, writes out.

    So ``element_size * (2 T D + 2 S D + 4 T S)`` bytes and ``4 T S D`` FLOPs in products, whatever
    is masked: this form computes every score, and hides some of them afterwards. (A mask that is a
    pass of its own would cost ``2 T S`` more; none is counted.)
    """
    return heads * Cost(
        matmul_flops=4 * T * S * D,
        vector_flops=_NAIVE_SOFTMAX * T * S,
        special_results=T * S,
        bytes_read=element_size * (T * D + 2 * S * D + 2 * T * S),
        bytes_written=element_size * (T * D + 2 * T * S),
    )


def tiled_forward(
    T: int,
    S: int,
    D: int,
    *,
    block_m: int,
    block_n: int,
    causal: bool = False,
    cached: bool = False,
    element_size: int = 2,
    heads: int = 1,
) -> Cost:
    """Return the cost of tiled attention: one pass, the (T, S) matrix never leaves the chip.

    q is read once, and out and the log-sum-exp written once. k and v are read again for each block
    of ``block_m`` queries: ``2 D element_size`` bytes for each key that the block visits, hence
    ``ceil(T / block_m) * S`` keys, about half of it if causal. So a larger block of queries moves
    less; how many keys a tile holds changes no byte, only how often the sums are rescaled.

    Tiles of keys that come after the block's last query are dead: never read, never computed. The
    tile on the diagonal is cut off after the last key that a query of the block may attend to (a
    GPU kernel reads it whole). Queries that may attend to no key are not read either.

    The products are those of the naive form, over the tiles visited. On top of the softmax each
    tile costs ``D + 5`` FLOPs a row to rescale what is there; the division by l is saved for each
    score and done once a row.

    ``cached``: k and v come from the main memory once, and stay in the L2 cache for the other
    blocks of queries: the least that can be moved.
    """
    blocks = _query_blocks(T, S, block_m, block_n, causal)
    keys = blocks.once if cached else blocks.visited
    # Queries that may attend to no key are written all the same: zeros, and -inf.
    return heads * Cost(
        matmul_flops=4 * blocks.pairs * D,
        vector_flops=_TILED_SOFTMAX * blocks.pairs
        + blocks.tile_rows * (D + _RESCALE)
        + blocks.own * (D + _FINISH),
        special_results=blocks.pairs + blocks.tile_rows + blocks.own,
        bytes_read=element_size * D * (blocks.own + 2 * keys),
        bytes_written=T * (element_size * D + STATISTIC),
    )


def naive_backward(T: int, S: int, D: int, *, element_size: int = 2, heads: int = 1) -> Cost:
    """Return the cost of the gradients with the whole matrix, in five passes.

    1. ``dv = weights.T @ dout``; 2. ``dweights = dout @ v.T``;
    3. ``dscores = scale * weights * (dweights - rowsum(weights * dweights))``;
    4. ``dq = dscores @ k``; 5. ``dk = dscores.T @ q``.

    Four products, ``8 T S D`` FLOPs. The matrix is moved seven times: the weights are read twice,
    dweights written and read, dscores written and read twice.
    """
    return heads * Cost(
        matmul_flops=8 * T * S * D,
        vector_flops=_NAIVE_GRADIENT * T * S,
        special_results=0,
        bytes_read=element_size * (3 * T * D + 2 * S * D + 5 * T * S),
        bytes_written=element_size * (T * D + 2 * S * D + 2 * T * S),
    )


def tiled_backward(
    T: int,
    S: int,
    D: int,
    *,
    block_m: int,
    block_n: int,
    causal: bool = False,
    element_size: int = 2,
    heads: int = 1,
) -> Cost:
    """Return the cost of the gradients by recomputation, in three passes without a matrix.

    1. ``delta = rowsum(dout * out)``.
    2. dq, by blocks of queries: k and v are read again for each. Three products a tile: the scores
       again, dweights, dq.
    3. dk and dv, by blocks of keys: q, dout, lse and delta are read again for each. Four products
       a tile: the scores and dweights once more, dv, dk.

    Seven products of ``2 T S D`` against the naive form's four: this is where tiled attention
    computes more.
    """
    row = element_size * 2 * D + 2 * STATISTIC  # a row of q and dout, its lse and delta
    key = element_size * 2 * D  # a row of k and v
    queries = _query_blocks(T, S, block_m, block_n, causal)
    keys = _key_blocks(T, S, block_m, block_n, causal)
    delta = Cost(0, 2 * T * D, 0, element_size * 2 * T * D, STATISTIC * T)
    dq = Cost(
        matmul_flops=6 * queries.pairs * D,
        vector_flops=_TILED_GRADIENT * queries.pairs,
        special_results=queries.pairs,
        bytes_read=queries.own * row + queries.visited * key,
        bytes_written=queries.own * element_size * D,
    )
    dk_and_dv = Cost(
        matmul_flops=8 * keys.pairs * D,
        vector_flops=_TILED_GRADIENT * keys.pairs,
        special_results=keys.pairs,
        bytes_read=keys.own * key + keys.visited * row,
        bytes_written=keys.own * element_size * 2 * D,
    )
    return heads * (delta + dq + dk_and_dv)


@dataclass(frozen=True)
class _Blocks:
    """All blocks of queries, or of keys, together: what the costs of tiles are made of."""

    own: int  # rows of their own side, each in one block
    visited: int  # rows of the other side that they visit, one block after the other
    once: int  # the same, each counted once
    pairs: int  # scores in the tiles
    tile_rows: int  # rows of their own side, once for each tile

    @staticmethod
    def sum_of(own: np.ndarray, visited: np.ndarray, block: int) -> _Blocks:
        """Add up blocks of `own` rows that visit so many rows each, in tiles of `block` of them."""
        return _Blocks(
            own=int(own.sum()),
            visited=int(visited.sum()),
            once=int(visited.max()),
            pairs=int((own * visited).sum()),
            tile_rows=int((own * -(-visited // block)).sum()),
        )


def _query_blocks(T: int, S: int, block_m: int, block_n: int, causal: bool) -> _Blocks:
    """Cut the queries that may attend to a key into blocks; each visits keys up to its last."""
    first = max(0, T - S) if causal else 0  # query t attends to keys up to t + S - T
    starts = np.arange(first, T, block_m)
    stops = np.minimum(starts + block_m, T)
    keys = stops + S - T if causal else np.full_like(stops, S)
    return _Blocks.sum_of(stops - starts, keys, block_n)


def _key_blocks(T: int, S: int, block_m: int, block_n: int, causal: bool) -> _Blocks:
    """Cut the keys into blocks; each visits the blocks of queries in which one reads of it."""
    first = max(0, T - S) if causal else 0
    starts = np.arange(0, S, block_n)
    # The first query that attends to a key of the block, and the first of the block that it is in.
    reader = np.maximum(starts - (S - T), first) if causal else np.zeros_like(starts)
    queries = T - (first + (reader - first) // block_m * block_m)
    return _Blocks.sum_of(np.minimum(block_n, S - starts), queries, block_m)
