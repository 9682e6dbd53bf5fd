"""The tiled loop step by step: what is on the chip, what crosses the border, what is forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Slider, Steps, Toggle
from course_utils.kernels.trace import TileStep, trace_tiles
from lectures.l08_flash_attention_tiling.experiments.traffic import naive_forward

N, D = 12, 2
KEYS = 3  # in a tile
QUERIES = (2, 4, 6)  # in a tile, to choose from
MOST_STEPS = (N // QUERIES[0]) * (N // KEYS)
SEED = 1234  # maxima rise in some rows of later tiles, as they do in long sequences
FULL = {"causal": False, "queries": 4}


@dataclass(frozen=True)
class TileState:
    """The chip after one tile, and what has been moved to and fro until then.

    `scores` (rows, keys) are this tile's, 0 where `hidden`, and `weights` are exp(score - m). m, l,
    acc and alpha belong to its rows, `rose` says where m rose. `out` (N, D) is acc / l, final in
    the first `finished` rows. `order` numbers the tiles of the grid by the step that visits them,
    0 for one that is skipped. Bytes are of float32.
    """

    first_row: int
    first_key: int
    scores: np.ndarray
    hidden: np.ndarray
    weights: np.ndarray
    m: np.ndarray
    l: np.ndarray  # noqa: E741  (the letter of the papers)
    acc: np.ndarray
    alpha: np.ndarray
    rose: np.ndarray
    out: np.ndarray
    order: np.ndarray
    finished: int
    step: int
    steps: int
    starts: bool
    ends: bool
    skipped: int
    causal: bool
    read: int
    written: int
    moved_in_the_end: int
    naive: int


@lru_cache(maxsize=1)
def problem() -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of one head (N, D), with one decimal so that one can check them."""
    random = torch.Generator().manual_seed(SEED)
    q, k, v = torch.randn(3, N, D, generator=random)
    return _rounded(1.5 * q), _rounded(1.5 * k), _rounded(v)


def _rounded(x: Tensor) -> Tensor:
    return (10 * x).round() / 10


@lru_cache(maxsize=2 * len(QUERIES))
def steps_of(causal: bool, queries: int) -> tuple[TileStep, ...]:
    """The loop over the problem, tile by tile."""
    return trace_tiles(*problem(), causal=causal, block_m=queries, block_n=KEYS)


class TileByTile(Explorer):
    """A step of the loop → the tiles that are read, what the chip keeps, what was moved."""

    title = "How can attention work without storing its grid of scores?"
    inputs = {
        "step": Slider("tile number", 1, MOST_STEPS, 6, in_picture=True),
        "causal": Toggle("causal: no looking ahead", in_picture=True),
        "queries": Steps("queries in a tile", QUERIES, 4, in_picture=True),
    }
    presets = {
        "first tile": {"step": 1, **FULL},
        "the maximum rises": {"step": 6, **FULL},
        "last tile": {"step": 12, **FULL},
        "causal: tiles skipped": {"step": 5, **FULL, "causal": True},
        "larger tiles": {"step": 8, **FULL, "queries": 6},
    }
    view = "tile_by_tile.js"
    reading = (
        "Tiles of queries, keys and values cross from memory to the chip. Their scores are used "
        "there and forgotten: a bluer score has a larger exp(score − m). The chip keeps, for each "
        "query, its largest score m, the sum l of exp(score − m), and acc, the sum of exp(score − "
        "m) · v. When m rises, l and acc are first multiplied by α = exp(old m − new m). At the "
        "end of a row of tiles, acc / l is written to out, with m + log l."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        return dict(zip("qkv", problem(), strict=True))

    def compute(self, step: int, causal: bool, queries: int) -> TileState:
        loop = steps_of(causal, queries)
        at = min(step, len(loop)) - 1
        now = loop[at]
        rows = slice(now.rows.start, now.rows.stop)
        q, k, _ = problem()
        later = torch.tensor(now.keys)[None] > torch.tensor(now.rows)[:, None]
        hidden = later if causal else torch.zeros_like(later)
        scores = q[rows] @ k[now.keys.start : now.keys.stop].T / D**0.5
        m = now.m[rows]
        starts = at == 0 or loop[at - 1].rows != now.rows
        return TileState(
            first_row=now.rows.start,
            first_key=now.keys.start,
            scores=scores.masked_fill(hidden, 0).numpy(),
            hidden=hidden.numpy(),
            weights=torch.exp(scores - m[:, None]).masked_fill(hidden, 0).numpy(),
            m=m.numpy(),
            l=now.l[rows].numpy(),
            acc=now.acc[rows].numpy(),
            alpha=now.alpha[rows].numpy(),
            rose=(m > loop[at - 1].m[rows]).numpy() & (not starts),
            out=torch.where(now.l > 0, now.acc.T / now.l, 0).T.numpy(),
            order=_order(loop, queries),
            finished=now.rows.stop if now.ends_block else now.rows.start,
            step=at + 1,
            steps=len(loop),
            starts=starts,
            ends=now.ends_block,
            skipped=now.skipped,
            causal=causal,
            read=now.bytes_read,
            written=now.bytes_written,
            moved_in_the_end=loop[-1].bytes_moved,
            naive=naive_forward(N, N, D, element_size=4).bytes,
        )

    def caption(self, state: TileState) -> str:
        rows, keys = state.scores.shape
        skipped = f"; {state.skipped} tiles skipped" if state.causal else ""
        return (
            f"Tile {state.step} of {state.steps}: "
            f"[q:queries {state.first_row}–{state.first_row + rows - 1}], "
            f"[k:keys {state.first_key}–{state.first_key + keys - 1}]. {_event(state)} "
            f"[b:{number(state.read + state.written)}] bytes so far "
            f"(naive total: [b:{number(state.naive)}]){skipped}."
        )


def _order(loop: tuple[TileStep, ...], queries: int) -> np.ndarray:
    """The number of the step that visits each tile of the grid; 0 where none does."""
    order = np.zeros((N // queries, N // KEYS), np.int32)
    for index, step in enumerate(loop):
        order[step.rows.start // queries, step.keys.start // KEYS] = index + 1
    return order


def _event(state: TileState) -> str:
    if state.step == state.steps:
        return "All output is written."
    if state.ends:
        return "Their output is written."
    if state.starts:
        return "Their sums begin."
    if not state.rose.any():
        return "No maximum rises, no row is rescaled."
    rows = state.rose.sum()
    if rows == 1:
        return "[b:1] row is rescaled: its maximum rises."
    return f"[b:{rows}] rows are rescaled: their maximum rises."
