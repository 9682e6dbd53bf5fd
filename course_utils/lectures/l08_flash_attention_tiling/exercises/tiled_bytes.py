"""Exercise 2 of lecture 08: count the bytes that tiled attention moves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from course_utils.lectures.l08_flash_attention_tiling.experiments.traffic import (
    STATISTIC,
    naive_forward,
    tiled_forward,
)
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.verdict import Verdict

__all__ = ["TILED_BYTES", "check_tiled_bytes"]


def _tiled_bytes(T, S, D, block_m, bytes_per_number):
    # Without a mask, how the keys are cut into tiles changes nothing: here they are one tile.
    sizes = {"block_m": block_m, "block_n": S, "element_size": bytes_per_number}
    return tiled_forward(T, S, D, **sizes).bytes


def _bytes_with(
    *,
    q=1,
    k=1,
    v=1,
    out=1,
    blocks=lambda T, S, M: math.ceil(T / M),
    lse=lambda T, M: STATISTIC * T,
):
    """A count of bytes that is right but for what is given: how often each tensor is moved."""

    def tiled_bytes(T, S, D, block_m, bytes_per_number):
        numbers = (q + out) * T * D + blocks(T, S, block_m) * (k + v) * S * D
        return bytes_per_number * numbers + lse(T, block_m)

    return tiled_bytes


def _loops_swapped(T, S, D, block_m, bytes_per_number):
    """Each block of keys is read once, and q and out move with each."""
    return bytes_per_number * (2 * S * D + math.ceil(S / block_m) * 2 * T * D) + STATISTIC * T


def _all_with_each_block(T, S, D, block_m, bytes_per_number):
    return bytes_per_number * math.ceil(T / block_m) * 2 * (T + S) * D + STATISTIC * T


def _padded(T, S, D, block_m, bytes_per_number):
    """The last block of queries is moved whole."""
    blocks = math.ceil(T / block_m)
    return bytes_per_number * blocks * 2 * (block_m + S) * D + STATISTIC * T


def _bytes_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    T, S, D, block_m, size = inputs.values()
    return {
        "blocks": math.ceil(T / block_m),
        "whole_blocks": T // block_m,
        "fraction": T / block_m,
        "key_blocks": math.ceil(S / block_m),
        "padded": math.ceil(T / block_m) * block_m,
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
    reference=_tiled_bytes,
    probes=(
        {"T": 7, "S": 11, "D": 3, "block_m": 2, "bytes_per_number": 2},
        {"T": 6, "S": 5, "D": 3, "block_m": 3, "bytes_per_number": 4},
        {"T": 5, "S": 13, "D": 7, "block_m": 64, "bytes_per_number": 1},
        {"T": 1021, "S": 509, "D": 64, "block_m": 128, "bytes_per_number": 2},
    ),
    parts=("bytes",),
    facts=_bytes_facts,
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
            "k and v for every query",
            _bytes_with(blocks=lambda T, S, M: T),
            _GAVE + ". That reads k and v again for each of {T} queries. The {block_m} queries of "
            "a block share one pass: {blocks} passes.",
        ),
        Mistake(
            "k and v block_m times",
            _bytes_with(blocks=lambda T, S, M: M),
            _GAVE + ". That reads k and v block_m times: {block_m}. block_m is the size of a "
            "block; how often k and v pass is the number of blocks: {blocks}.",
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
            "always one block more",
            _bytes_with(blocks=lambda T, S, M: T // M + 1),
            _GAVE + ". You count one block more than the whole ones. Where block_m divides T, as "
            "here, there is no shorter block at the end: {blocks} in all.",
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
            "whole last block",
            _padded,
            _GAVE + ". That counts {padded} rows of q and out. The last block is cut: there are "
            "only {T} rows to read and to write.",
        ),
        Mistake(
            "q or out missing",
            _bytes_with(out=0),
            _GAVE + ". That moves one of q and out. q is read and out is written, "
            "{one_tensor} bytes each.",
        ),
        Mistake(
            "k alone",
            _bytes_with(v=0),
            _GAVE + ". That reads one of k and v. Both pass for each block of queries, "
            "{one_read} bytes each.",
        ),
        Mistake(
            "no lse",
            _bytes_with(lse=lambda T, M: 0),
            _GAVE + ", which is {lse} too few: the log-sum-exp, 4 bytes for each of {T} queries. "
            "The backward pass needs it.",
        ),
        Mistake(
            "one lse",
            _bytes_with(lse=lambda T, M: STATISTIC),
            _GAVE + ". You count 4 bytes of log-sum-exp in all: one number. There is one for each "
            "of {T} queries: {lse} bytes.",
        ),
        Mistake(
            "one lse for each block",
            _bytes_with(lse=lambda T, M: STATISTIC * math.ceil(T / M)),
            _GAVE + ". You count one log-sum-exp for each of {blocks} blocks. There is one for "
            "each of {T} queries: {lse} bytes.",
        ),
        Mistake(
            "every lse with each block",
            _bytes_with(lse=lambda T, M: STATISTIC * T * math.ceil(T / M)),
            _GAVE + ". You write all of the log-sum-exp for each of {blocks} blocks. A block "
            "writes that of its own queries alone: {T} numbers, {lse} bytes in all.",
        ),
        Mistake(
            "lse in the format of q",
            lambda T, S, D, block_m, size: _bytes_with(lse=lambda T, M: size * T)(
                T, S, D, block_m, size
            ),
            _GAVE + ". You count the log-sum-exp at {bytes_per_number} bytes a number. It is kept "
            "in float32 whatever the inputs are: 4 bytes, {lse} in all.",
        ),
        Mistake(
            "numbers, not bytes",
            lambda T, S, D, block_m, size: _bytes_with()(T, S, D, block_m, 1),
            _GAVE + ". That counts numbers for q, k, v and out; each takes {bytes_per_number} "
            "bytes.",
        ),
        Mistake(
            "bits",
            lambda *sizes: 8 * _bytes_with()(*sizes),
            _GAVE + ", 8 times the {expected} bytes: those are bits.",
        ),
        Mistake(
            "no head width",
            lambda T, S, D, block_m, size: _bytes_with()(T, S, 1, block_m, size),
            _GAVE + ". That is one number a row; a row of q, k, v and out holds D = {D}.",
        ),
    ),
)


def check_tiled_bytes(tiled_bytes: Any) -> Verdict:
    """Judge ``tiled_bytes(T, S, D, block_m, bytes_per_number)``: what one head's forward moves.

    In bytes, to and from the GPU's main memory, without a mask: q is read and out written once; k
    and v are read once for each block of ``block_m`` queries; the log-sum-exp of each query is
    written once, in float32 (4 bytes). The same as
    :func:`course_utils.lectures.l08_flash_attention_tiling.experiments.traffic.tiled_forward` counts.

    >>> check_tiled_bytes(...).started
    False
    """
    return TILED_BYTES.check(tiled_bytes)
