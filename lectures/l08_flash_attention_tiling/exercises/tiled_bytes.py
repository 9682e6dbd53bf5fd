"""Exercise 2: count the bytes that tiled attention moves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance
from lectures.l08_flash_attention_tiling.experiments.traffic import (
    STATISTIC,
    naive_forward,
    tiled_forward,
)

__all__ = ["TILED_BYTES"]


def _tiled_bytes(T, S, D, block_m, bytes_per_number):
    # Without a mask, how the keys are cut into tiles changes nothing: here they are one tile.
    sizes = {"block_m": block_m, "block_n": S, "element_size": bytes_per_number}
    return tiled_forward(T, S, D, **sizes).bytes


def _bytes_with(
    *,
    blocks=lambda T, S, M: math.ceil(T / M),
    size_of_lse=lambda size: STATISTIC,
    size_of_number=lambda size: size,
):
    """A count that is right but for what is given: blocks, or bytes of an lse or of a number."""

    def tiled_bytes(T, S, D, block_m, size):
        numbers = 2 * T * D + blocks(T, S, block_m) * 2 * S * D
        return size_of_number(size) * numbers + size_of_lse(size) * T

    return tiled_bytes


def _loops_swapped(T, S, D, block_m, size):
    """Each block of keys is read once, and q and out move with each."""
    return size * (2 * S * D + math.ceil(S / block_m) * 2 * T * D) + STATISTIC * T


def _all_with_each_block(T, S, D, block_m, size):
    return size * math.ceil(T / block_m) * 2 * (T + S) * D + STATISTIC * T


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
    mistakes=(
        Mistake(
            "the whole-matrix form",
            lambda T, S, D, block_m, size: naive_forward(T, S, D, element_size=size).bytes,
            _GAVE + ": the count of the whole-matrix form, which writes and reads scores and "
            "weights, 4·T·S numbers. Tiles keep them on the chip; what is left is q, k, v, out, "
            "lse, and k and v come again for each block of queries.",
        ),
        Mistake(
            "k and v read once",
            _bytes_with(blocks=lambda T, S, M: 1),
            _GAVE + ". That reads k and v once. A block of queries needs all keys, and the next "
            "block starts over: {blocks} blocks, {blocks} times {one_read} bytes for k and for v.",
        ),
        Mistake(
            "rounded down",
            _bytes_with(blocks=lambda T, S, M: T // M),
            _GAVE + ": {whole_blocks} whole blocks. The last queries make a shorter block, and it "
            "reads all of k and v as well: round up, to {blocks}.",
        ),
        Mistake(
            "not rounded",
            _bytes_with(blocks=lambda T, S, M: T / M),
            _GAVE + ", with {fraction} blocks. The last block is shorter in queries, but it reads "
            "all of k and v: round up, to {blocks}.",
        ),
        Mistake(
            "blocks of keys",
            _bytes_with(blocks=lambda T, S, M: math.ceil(S / M)),
            _GAVE + ": you divided the {S} keys into {key_blocks} blocks. How often k and v pass "
            "depends on the blocks of queries, {T} into {blocks}.",
        ),
        Mistake(
            "loops the other way round",
            _loops_swapped,
            _GAVE + ". That reads k and v once and moves q and out for each of {key_blocks} blocks "
            "of keys. Here a block of queries stays on the chip, and the keys pass by it.",
        ),
        Mistake(
            "q and out with every block",
            _all_with_each_block,
            _GAVE + ". That moves all of q and out for each of {blocks} blocks. Each block reads "
            "and writes its own rows alone, so q and out move once: {one_tensor} bytes each.",
        ),
        Mistake(
            "no lse",
            _bytes_with(size_of_lse=lambda size: 0),
            _GAVE + ", which is {lse} too few: the log-sum-exp, 4 bytes for each of {T} queries. "
            "The backward pass needs it.",
        ),
        Mistake(
            "lse in the format of q",
            _bytes_with(size_of_lse=lambda size: size),
            _GAVE + ". You count the log-sum-exp at {bytes_per_number} bytes a number. It is kept "
            "in float32 whatever the inputs are: 4 bytes, {lse} in all.",
        ),
        Mistake(
            "numbers, not bytes",
            _bytes_with(size_of_number=lambda size: 1),
            _GAVE + ". That counts numbers for q, k, v and out; each takes {bytes_per_number} "
            "bytes.",
        ),
    ),
)
