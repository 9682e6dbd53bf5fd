"""Attention tile by tile, in torch, on any device: forward, and backward by recomputation.

The letters are those of the papers, here and in the Triton kernels:

    m      running maximum of a query's scores
    l      running sum of exp(score - m)
    acc    running sum of exp(score - m) * value: the output before it is divided by l
    alpha  exp(old m - new m): what a sum taken under the old m is worth under the new one

Scores are multiplied by log2(e), so that a weight is ``2 ** (score - m)``: where a score is -inf,
torch's exp takes many times as long as its exp2, and on some processors it does so everywhere. m,
and the log-sum-exp with it, is then in units of log(2).

All is computed in float32, or in float64 for float64 inputs. ``fast_cpu.py`` has the same for
processors, faster.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from course_utils.kernels.fast_cpu import can_attend_fast, fast_backward, fast_forward
from course_utils.kernels.tiled_function import LOG2_E, attend_once
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
    forward, backward = forward_tiles, backward_tiles
    if can_attend_fast(q, k, v, scale):
        forward, backward = fast_forward, fast_backward
    how = {"causal": causal, "scale": scale}
    return attend_once(partial(forward, **how), partial(backward, **how), q, k, v)


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
    schedule = TileSchedule(q, k, causal=causal, block_m=block_m, block_n=block_n)
    # A query that may attend to no key keeps these.
    out = torch.zeros_like(q)
    lse_log2 = q.new_full((*q.shape[:3], 1), -torch.inf, dtype=_dtype(q))
    for heads, rows in schedule.blocks_of_queries():
        q_tile = heads.rows_of(q, rows).to(_dtype(q)) * (scale * LOG2_E)
        m, l, acc = read_keys(q_tile, k, v, schedule, heads, rows, watch)
        heads.write(out, rows, acc / l)
        heads.write(lse_log2, rows, m + l.log2())
    return out, lse_log2.squeeze(-1)


def read_keys(
    q_tile: Float[Tensor, "heads queries D"],
    k: Float[Tensor, "B G S D"],
    v: Float[Tensor, "B G S D"],
    schedule: TileSchedule,
    heads: HeadBlock,
    rows: range,
    watch: Callable[[Tile], None] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return m, l and acc of a block of queries, after all keys that any of them may attend to.

    q_tile is multiplied by ``scale * log2(e)``.

    >>> q, k = torch.zeros(1, 2, 4), torch.zeros(1, 1, 3, 4)
    >>> schedule = TileSchedule(q[None], k, causal=True)
    >>> for heads, rows in schedule.blocks_of_queries():
    ...     m, l, acc = read_keys(q, k, k + 5, schedule, heads, rows)
    >>> l.flatten().tolist(), acc[0, :, 0].tolist()  # the last two of three queries: 2 keys, 3 keys
    ([2.0, 3.0], [10.0, 15.0])
    """
    acc = torch.zeros_like(q_tile)
    l = torch.zeros_like(acc[..., :1])
    # Finite: where all scores of the first tile are -inf, their difference to m must not be NaN.
    m = torch.full_like(l, torch.finfo(l.dtype).min)
    for keys in schedule.blocks_of_keys(rows):
        k_tile, v_tile = (heads.keys_of(x, keys).to(q_tile.dtype) for x in (k, v))
        scores = torch.bmm(q_tile, k_tile.mT)
        schedule.mask_future_(scores, rows, keys)
        m_new = torch.maximum(m, scores.amax(dim=-1, keepdim=True))
        alpha = (m - m_new).exp2_()
        p = scores.sub_(m_new).exp2_()
        l = l * alpha + p.sum(dim=-1, keepdim=True)
        acc = acc.mul_(alpha).baddbmm_(p, v_tile)
        m = m_new
        if watch is not None:
            watch(_tile(heads, rows, keys, m, l, acc, alpha))
        del scores, p  # the next tile takes their memory
    return m, l, acc


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

    >>> q, v = torch.zeros(1, 1, 2, 4), torch.ones(1, 1, 2, 4)
    >>> saved = q, q, v, *forward_tiles(q, q, v, causal=True, scale=1.0)
    >>> dout, dlse = torch.ones(1, 1, 2, 4), torch.zeros(1, 1, 2)
    >>> dq, dk, dv = backward_tiles(*saved, dout, dlse, causal=True, scale=1.0)
    >>> dv[0, 0, :, 0].tolist()  # the first value is all of output 1 and half of output 2
    [1.5, 0.5]
    """
    schedule = TileSchedule(q, k, causal=causal, block_m=block_m, block_n=block_n)
    dtype = _dtype(q)
    dq = torch.zeros_like(q)
    # In order whatever the order of k and v: tiles are added into views of these.
    dk, dv = (x.new_zeros(x.shape, dtype=dtype) for x in (k, v))
    lse_log2, dlse = lse_log2.unsqueeze(-1), dlse.unsqueeze(-1)
    for heads, rows in schedule.blocks_of_queries():
        q_tile, do_tile, out_tile = (heads.rows_of(x, rows).to(dtype) for x in (q, dout, out))
        q_tile = q_tile * (scale * LOG2_E)
        lse_tile = heads.rows_of(lse_log2, rows)
        delta = (do_tile * out_tile).sum(dim=-1, keepdim=True) - heads.rows_of(dlse, rows)
        dq_tile = torch.zeros_like(q_tile)
        for keys in schedule.blocks_of_keys(rows):
            k_tile, v_tile = (heads.keys_of(x, keys).to(dtype) for x in (k, v))
            scores = torch.bmm(q_tile, k_tile.mT)
            schedule.mask_future_(scores, rows, keys)
            # No weight exceeds 1. In a tile of another size the product may differ in its last
            # bit: of scores of 1e18, more than exp2 can take.
            p = scores.sub_(lse_tile).clamp_(max=0).exp2_()
            heads.keys_of(dv, keys).add_(torch.bmm(p.mT, do_tile))
            ds = torch.bmm(do_tile, v_tile.mT).sub_(delta).mul_(p)
            heads.keys_of(dk, keys).add_(torch.bmm(ds.mT, q_tile))
            dq_tile.baddbmm_(ds, k_tile)
            del scores, p, ds  # the next tile takes their memory
        heads.write(dq, rows, dq_tile.mul_(scale))
    dk.div_(LOG2_E)  # what makes scale * q of q_tile
    return dq, dk.to(k.dtype), dv.to(v.dtype)


def _dtype(x: Tensor) -> torch.dtype:
    """Return the dtype of sums: that of x, but float32 at least."""
    return torch.promote_types(x.dtype, torch.float32)


def _tile(heads: HeadBlock, rows: range, keys: range, *running: Tensor) -> Tile:
    """Copy the running numbers: the next tile writes into the same memory."""
    shape = (len(heads.batch), len(heads.query), len(rows))
    m, l, acc, alpha = (x.reshape(*shape, -1).clone() for x in running)
    numbers = (m.squeeze(-1) / LOG2_E, l.squeeze(-1), acc, alpha.squeeze(-1))
    return Tile(heads.batch, heads.query, rows, keys, *numbers)
