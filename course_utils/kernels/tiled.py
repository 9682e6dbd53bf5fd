"""Attention tile by tile, in torch, on any device: forward, and backward by recomputation.

The letters are those of the papers, here and in the Triton kernels:

    m      running maximum of a query's scores
    l      running sum of exp(score - m)
    acc    running sum of exp(score - m) * value: the output before it is divided by l
    alpha  exp(old m - new m): what a sum taken under the old m is worth under the new one

Scores are multiplied by log2(e), so that a weight is ``2 ** (score - m)``: where a score is -inf,
torch's exp takes many times as long as its exp2, and on some processors it does so everywhere. m,
and the log-sum-exp with it, is then in units of log(2).

m is there against overflow and underflow alone. Where a bound on the weights rules out both, none
is computed, and no sum is rescaled.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from course_utils.kernels.memory import out_of_memory_explained
from course_utils.kernels.once import TiledFunction, differentiable_once
from course_utils.kernels.share import own_threads, share, threads_worth_it
from course_utils.kernels.tiled_products import LOG2_E, TileProducts
from course_utils.kernels.tiled_schedule import HeadBlock, TileSchedule
from course_utils.shapes import Float

__all__ = ["Tile", "attend_tiled", "backward_tiles", "forward_tiles"]


@dataclass(frozen=True)
class Tile:
    """The running numbers of a block of queries after one tile, copied for the watcher.

    ``batch`` and ``heads`` say which batch entries and query heads (b and h of them) were computed
    together, ``rows`` which queries, ``keys`` which keys were read last. m, l and acc are as
    after that tile; alpha is the factor by which it multiplied the old l and acc, 0 at first.
    """

    batch: range
    heads: range
    rows: range
    keys: range
    m: Float[Tensor, "b h rows"]
    l: Float[Tensor, "b h rows"]
    acc: Float[Tensor, "b h rows D"]
    alpha: Float[Tensor, "b h rows"]


def attend_tiled(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B G S D"],
    v: Float[Tensor, "B G S D"],
    *,
    causal: bool,
    scale: float,
) -> tuple[Float[Tensor, "B H T D"], Float[Tensor, "B H T"]]:
    """Return the output and the log-sum-exp of the scores, both differentiable once.

    It keeps q, k, v, the output and the lse for the gradients, and no weights. Memory beyond those
    and the gradients is that of a few tiles, whatever T and S.

    Raises:
        torch.OutOfMemoryError: in the backward pass, with the sizes; ``flash_attend`` explains
            the forward pass.

    Source: Dao et al., "FlashAttention", 2022, algorithms 1 and 4; Dao, "FlashAttention-2", 2023.

    >>> q, v = torch.zeros(1, 1, 2, 4), torch.ones(1, 1, 2, 4)
    >>> out, lse = attend_tiled(q, q, v, causal=True, scale=1.0)
    >>> lse.exp().tolist()  # the first query attends to one key, the second to two
    [[[1.0, 2.0]]]
    """
    return _TiledAttention.apply(q, k, v, causal, scale)[:2]  # pyright: ignore


@torch.no_grad()
def forward_tiles(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B G S D"],
    v: Float[Tensor, "B G S D"],
    *,
    causal: bool,
    scale: float,
    block_m: int | None = None,
    block_n: int | None = None,
    watch: Callable[[Tile], None] | None = None,
) -> tuple[Float[Tensor, "B H T D"], Float[Tensor, "B H T"]]:
    """Return the output and the log-sum-exp of the scores over log(2): the forward pass alone.

    ``block_m`` queries meet ``block_n`` keys at a time. ``watch`` is called after every tile.

    >>> q, v = torch.zeros(1, 1, 2, 4), torch.ones(1, 1, 2, 4)
    >>> tiles = []
    >>> out, lse_log2 = forward_tiles(
    ...     q, q, v, causal=True, scale=1.0, block_m=1, block_n=1, watch=tiles.append
    ... )
    >>> [(tile.rows.start, tile.keys.start, tile.l.item()) for tile in tiles]
    [(0, 0, 1.0), (1, 0, 1.0), (1, 1, 2.0)]
    """
    threads = 1 if watch else threads_worth_it(q, k)
    products = TileProducts(q, scale * LOG2_E)
    blocks = {"block_m": block_m, "block_n": block_n, "one_head": products.one_head}
    schedule = TileSchedule(q, k, causal=causal, **blocks, threads=threads)
    out, lse_log2 = _results(q, schedule.first_row, products.accumulator_dtype)

    def attend(blocks: Iterable[tuple[HeadBlock, range]]) -> None:
        products = TileProducts(q, scale * LOG2_E)  # a thread's own: tiles lie in its memory
        for heads, rows in blocks:
            q_tile = products.gather(heads.rows_of(q, rows), "q").mul_(factor)
            if bounded:
                m, l, acc = 0.0, *add_weights(q_tile, k, v, schedule, products, heads, rows)
            else:
                m, l, acc = read_keys(q_tile, k, v, schedule, products, heads, rows, watch)
            heads.write(out, rows, acc / l)
            heads.write(lse_log2, rows, m + l.log2())

    with own_threads(threads):
        bounded = watch is None and products.weights_are_bounded(q, k, v)
        factor = products.before / products.log2_base if bounded else products.before
        share(attend, list(schedule.blocks_of_queries()), threads)
    return out, lse_log2.squeeze(-1)


def read_keys(
    q_tile: Float[Tensor, "heads queries D"],
    k: Float[Tensor, "B G S D"],
    v: Float[Tensor, "B G S D"],
    schedule: TileSchedule,
    products: TileProducts,
    heads: HeadBlock,
    rows: range,
    watch: Callable[[Tile], None] | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return m, l and acc of a block of queries, after all keys that any of them may attend to.

    q_tile is multiplied by ``products.before``.

    >>> q, k = torch.zeros(1, 2, 4), torch.zeros(1, 1, 3, 4)
    >>> schedule, products = TileSchedule(q[None], k, causal=True), TileProducts(q, 1.0)
    >>> for heads, rows in schedule.blocks_of_queries():
    ...     m, l, acc = read_keys(q, k, k + 5, schedule, products, heads, rows, None)
    >>> l.flatten().tolist(), acc[0, :, 0].tolist()  # the last two of three queries: 2 keys, 3 keys
    ([2.0, 3.0], [10.0, 15.0])
    """
    m, l, acc = _nothing_read(q_tile, products.accumulator_dtype)
    for keys in schedule.blocks_of_keys(rows):
        k_tile, v_tile = (products.load(heads.keys_of(x, keys)) for x in (k, v))
        scores = products.scores(q_tile, k_tile.mT)
        schedule.hide_later(scores, rows, keys)
        m_new = torch.maximum(m, scores.amax(dim=-1, keepdim=True))
        alpha = (m - m_new).exp2_()
        p = scores.sub_(m_new).exp2_()
        l = l * alpha + p.sum(dim=-1, keepdim=True)
        acc, m = products.add_product(acc.mul_(alpha), products.load(p), v_tile), m_new
        if watch is not None:
            watch(_tile(heads, rows, keys, m, l, acc, alpha))
        del scores, p  # the next tile takes their memory
    return m, l, acc


def add_weights(
    q_tile: Float[Tensor, "heads queries D"],
    k: Float[Tensor, "B G S D"],
    v: Float[Tensor, "B G S D"],
    schedule: TileSchedule,
    products: TileProducts,
    heads: HeadBlock,
    rows: range,
) -> tuple[Tensor, Tensor]:
    """Return l and acc as ``read_keys`` does, where the weights are bounded: m is 0, alpha 1.

    q_tile is multiplied by ``products.before / products.log2_base``. Weights of later keys are
    numbers like the others here, and then set to 0.

    >>> q, k = torch.zeros(1, 2, 4), torch.zeros(1, 1, 3, 4)
    >>> schedule, products = TileSchedule(q[None], k, causal=True), TileProducts(q, 1.0)
    >>> for heads, rows in schedule.blocks_of_queries():
    ...     l, acc = add_weights(q, k, k + 5, schedule, products, heads, rows)
    >>> l.flatten().tolist(), acc[0, :, 0].tolist()
    ([2.0, 3.0], [10.0, 15.0])
    """
    acc = torch.zeros_like(q_tile)
    l = torch.zeros_like(acc[..., :1])
    for keys in schedule.blocks_of_keys(rows):
        k_tile, v_tile = heads.keys_of(k, keys), heads.keys_of(v, keys)
        p = products.exponential(products.scores(q_tile, k_tile.mT))
        schedule.drop_later(p, rows, keys)
        l.add_(p.sum(dim=-1, keepdim=True))
        acc = products.add_product(acc, p, v_tile)
        del p  # the next tile takes its memory
    return l, acc


@torch.no_grad()
def backward_tiles(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B G S D"],
    v: Float[Tensor, "B G S D"],
    out: Float[Tensor, "B H T D"],
    lse_log2: Float[Tensor, "B H T"],
    dout: Float[Tensor, "B H T D"],
    dlse: Float[Tensor, "B H T"],
    *,
    causal: bool,
    scale: float,
    block_m: int | None = None,
    block_n: int | None = None,
) -> tuple[Float[Tensor, "B H T D"], Float[Tensor, "B G S D"], Float[Tensor, "B G S D"]]:
    """Return the gradients with respect to q, k and v, given those for the output and the lse.

    The weights of a tile are computed again, ``p = 2 ** (scores - lse_log2)``, and from them

        dv = p.T @ dout,  dp = dout @ v.T,  ds = p * (dp - delta),  dq = scale * ds @ k,
        dk = scale * ds.T @ q,  where  delta = rowsum(dout * out) - dlse.

    Here a tile has a row for each key, as dv and dk want it: of the five products only the one
    for dq then meets a transposed tile, which the processor multiplies more slowly.

    >>> q, v = torch.zeros(1, 1, 2, 4), torch.ones(1, 1, 2, 4)
    >>> saved = q, q, v, *forward_tiles(q, q, v, causal=True, scale=1.0)
    >>> dout, dlse = torch.ones(1, 1, 2, 4), torch.zeros(1, 1, 2)
    >>> dq, dk, dv = backward_tiles(*saved, dout, dlse, causal=True, scale=1.0)
    >>> dv[0, 0, :, 0].tolist()  # the first value is all of output 1 and half of output 2
    [1.5, 0.5]
    """
    threads = threads_worth_it(q, k)
    products = TileProducts(q, scale * LOG2_E)
    blocks = {"block_m": block_m, "block_n": block_n, "one_head": products.one_head}
    schedule = TileSchedule(q, k, causal=causal, **blocks, backward=True, threads=threads)
    dq, _ = _results(q, schedule.first_row, products.accumulator_dtype)
    dk, dv = (x.new_zeros(x.shape, dtype=products.accumulator_dtype) for x in (k, v))
    lse_log2, dlse = lse_log2.unsqueeze(-1), dlse.unsqueeze(-1)

    def add_gradients(parts: Iterable[HeadBlock]) -> None:
        products = TileProducts(q, scale * LOG2_E)  # a thread's own: tiles lie in its memory
        for heads in parts:
            for rows in schedule.blocks_of_rows():
                q_tile = products.gather(heads.rows_of(q, rows), "q").mul_(products.before)
                do_tile = products.gather(heads.rows_of(dout, rows), "dout")
                minus_lse = -heads.rows_of(lse_log2, rows).mT
                delta = (do_tile.to(products.accumulator_dtype) * heads.rows_of(out, rows)).sum(
                    dim=-1, keepdim=True
                )
                minus_delta = (heads.rows_of(dlse, rows) - delta).mT
                dq_tile = torch.zeros_like(q_tile, dtype=products.accumulator_dtype)
                for keys in schedule.blocks_of_keys(rows):
                    k_tile, v_tile = (products.load(heads.keys_of(x, keys)) for x in (k, v))
                    scores = products.scores(k_tile, q_tile.mT, minus_lse)
                    schedule.hide_later(scores, rows, keys, keys_first=True)
                    # No weight exceeds 1. This product is the forward pass's the other way round,
                    # and may differ in its last bit: of scores of 1e18, more than exp2 can take.
                    p = scores.clamp_(max=0).exp2_()
                    products.add_product(heads.keys_of(dv, keys), products.load(p), do_tile)
                    ds = products.load(
                        products.product(v_tile, do_tile.mT, "dp", minus_delta).mul_(p)
                    )
                    products.add_product(heads.keys_of(dk, keys), ds, q_tile)
                    products.add_product(dq_tile, ds.mT, k_tile)
                    del scores, p, ds  # the next tile takes their memory
                heads.write(dq, rows, dq_tile.mul_(scale))

    with own_threads(threads):
        # All queries of a head add to the same keys and values: one thread has them all.
        share(add_gradients, list(schedule.blocks_of_heads()), threads)
    dk.mul_(products.after / LOG2_E)  # what makes scale * q of q_tile
    return dq, dk.to(k.dtype), dv.to(v.dtype)


def _results(q: Tensor, first_row: int, accumulator_dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return output and lse_log2 (B, H, T, 1), filled for queries that may attend to no key."""
    out = torch.empty_like(q)
    lse_log2 = q.new_empty((*q.shape[:3], 1), dtype=accumulator_dtype)
    out[:, :, :first_row] = 0
    lse_log2[:, :, :first_row] = -torch.inf
    return out, lse_log2


def _nothing_read(q_tile: Tensor, accumulator_dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Return m, l and acc before the first tile.

    m is the least finite number: where all scores of the first tile are -inf, their difference to
    m must not be NaN.
    """
    acc = torch.zeros_like(q_tile, dtype=accumulator_dtype)
    l = torch.zeros_like(acc[..., :1])
    return torch.full_like(l, torch.finfo(accumulator_dtype).min), l, acc


def _tile(heads: HeadBlock, rows: range, keys: range, *running: Tensor) -> Tile:
    """Copy the running numbers: the next tile writes into the same memory."""
    shape = (len(heads.batch), len(heads.query), len(rows))
    m, l, acc, alpha = (x.reshape(*shape, -1).clone() for x in running)
    numbers = (m.squeeze(-1) / LOG2_E, l.squeeze(-1), acc, alpha.squeeze(-1))
    return Tile(heads.batch, heads.query, rows, keys, *numbers)


class _TiledAttention(TiledFunction):
    @staticmethod
    def forward(q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float) -> Any:
        out, lse_log2 = forward_tiles(q, k, v, causal=causal, scale=scale)
        return out, lse_log2 / LOG2_E, lse_log2

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        q, k, v, ctx.causal, ctx.scale = inputs
        out, _, lse_log2 = output
        ctx.mark_non_differentiable(lse_log2)
        ctx.save_for_backward(q, k, v, out, lse_log2)

    @staticmethod
    def backward(ctx: Any, dout: Tensor, dlse: Tensor, _: Tensor) -> tuple:
        q, k, *others = ctx.saved_tensors
        gradients = partial(backward_tiles, causal=ctx.causal, scale=ctx.scale)
        with out_of_memory_explained(q, k):
            return *differentiable_once(gradients, q, k, *others, dout, dlse), None, None
