"""Exercise 2: count the bytes that tiled attention moves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Tolerance
from lectures.l08_flash_attention_tiling.experiments.traffic import (
    STATISTIC,
    naive_forward,
    tiled_forward,
)


def _tiled_bytes(T, S, D, block_m, bytes_per_number):
    # Without a mask, how the keys are cut into tiles changes nothing: here they are one tile.
    sizes = {"block_m": block_m, "block_n": S, "element_size": bytes_per_number}
    return tiled_forward(T, S, D, **sizes).bytes


def _bytes(T, S, D, size, blocks):
    """The bytes if k and v are read ``blocks`` times."""
    return size * (2 * T * D + blocks * 2 * S * D) + STATISTIC * T


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    T, S, D, block_m, size = inputs.values()
    return {
        "blocks": math.ceil(T / block_m),
        "whole_blocks": T // block_m,
        "fraction": T / block_m,
        "key_blocks": math.ceil(S / block_m),
        "one_tensor": T * D * size,
        "one_read": S * D * size,
        "lse": STATISTIC * T,
    }


_GAVE = (
    "With T = {T}, S = {S}, D = {D}, block_m = {block_m} and {bytes_per_number} bytes a number "
    "you gave {got}"
)

TILED_BYTES = Exercise(
    title="Count the bytes for a tile size",
    difficulty=2,
    minutes=8,
    function="tiled_bytes",
    reference=_tiled_bytes,
    probes=(
        {"T": 7, "S": 11, "D": 3, "block_m": 2, "bytes_per_number": 2},
        {"T": 6, "S": 5, "D": 3, "block_m": 3, "bytes_per_number": 4},
        {"T": 5, "S": 13, "D": 7, "block_m": 64, "bytes_per_number": 1},
        {"T": 1021, "S": 509, "D": 64, "block_m": 128, "bytes_per_number": 2},
    ),
    parts=("bytes",),
    facts=_facts,
    tolerance=Tolerance(relative=0, absolute=0.5),
    praise="The keys and values pass once for each block of queries: twice the block_m, half of "
    "that traffic. The T×S matrix is in no term.",
)


@TILED_BYTES.mistake(begins=_GAVE + ": ")
def the_whole_matrix_form(T, S, D, block_m, size):
    """the count of the whole-matrix form, which writes and reads scores and weights, 4·T·S numbers.
    Tiles keep them on the chip; what is left is q, k, v, out, lse, and k and v come again for each
    block of queries."""
    return naive_forward(T, S, D, element_size=size).bytes


@TILED_BYTES.mistake(begins=_GAVE + ". ")
def k_and_v_read_once(T, S, D, block_m, size):
    """That reads k and v once. A block of queries needs all keys, and the next block starts over:
    {blocks} blocks, {blocks} times {one_read} bytes for k and for v."""
    return _bytes(T, S, D, size, 1)


@TILED_BYTES.mistake(begins=_GAVE + ": ")
def rounded_down(T, S, D, block_m, size):
    """{whole_blocks} whole blocks. The last queries make a shorter block, and it reads all of k and
    v as well: round up, to {blocks}."""
    return _bytes(T, S, D, size, T // block_m)


@TILED_BYTES.mistake(begins=_GAVE + ", ")
def not_rounded(T, S, D, block_m, size):
    """with {fraction} blocks. The last block is shorter in queries, but it reads all of k and v:
    round up, to {blocks}."""
    return _bytes(T, S, D, size, T / block_m)


@TILED_BYTES.mistake(begins=_GAVE + ": ")
def blocks_of_keys(T, S, D, block_m, size):
    """you divided the {S} keys into {key_blocks} blocks. How often k and v pass depends on the
    blocks of queries, {T} into {blocks}."""
    return _bytes(T, S, D, size, math.ceil(S / block_m))


@TILED_BYTES.mistake(begins=_GAVE + ". ")
def loops_the_other_way_round(T, S, D, block_m, size):
    """That reads k and v once and moves q and out for each of {key_blocks} blocks of keys. Here a
    block of queries stays on the chip, and the keys pass by it."""
    return size * (2 * S * D + math.ceil(S / block_m) * 2 * T * D) + STATISTIC * T


@TILED_BYTES.mistake(begins=_GAVE + ". ")
def q_and_out_with_every_block(T, S, D, block_m, size):
    """That moves all of q and out for each of {blocks} blocks. Each block reads and writes its own
    rows alone, so q and out move once: {one_tensor} bytes each."""
    return size * math.ceil(T / block_m) * 2 * (T + S) * D + STATISTIC * T


@TILED_BYTES.mistake(begins=_GAVE + ", ")
def no_lse(T, S, D, block_m, size):
    """which is {lse} too few: the log-sum-exp, 4 bytes for each of {T} queries. The backward pass
    needs it."""
    return _tiled_bytes(T, S, D, block_m, size) - STATISTIC * T


@TILED_BYTES.mistake(begins=_GAVE + ". ")
def lse_in_the_format_of_q(T, S, D, block_m, size):
    """You count the log-sum-exp at {bytes_per_number} bytes a number. It is kept in float32
    whatever the inputs are: 4 bytes, {lse} in all."""
    return _tiled_bytes(T, S, D, block_m, size) + (size - STATISTIC) * T


@TILED_BYTES.mistake(begins=_GAVE + ". ")
def numbers_not_bytes(T, S, D, block_m, size):
    """That counts numbers for q, k, v and out; each takes {bytes_per_number} bytes."""
    return _bytes(T, S, D, 1, math.ceil(T / block_m))
