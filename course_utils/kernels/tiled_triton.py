"""Attention tile by tile, in Triton: the algorithm of ``tiled.py``, one program to a block of rows.

The letters, here and in the torch form:

    m    running maximum of a query's scores, in units of log 2
    l    running sum of 2 ** (score - m)
    acc  running sum of 2 ** (score - m) * value: the output before it is divided by l

Scores and their log-sum-exp are in units of log 2 here, ``scale_log2 = scale * log2(e)``: the GPU
has an instruction for 2 ** x, none for e ** x. Each kernel first goes over the tiles in which no
key is hidden, which need no comparison, then over the others, at the causal diagonal and at the
end of the keys.

This is the only file that imports Triton.
"""

from pathlib import Path
from typing import Any

import triton
import triton.language as tl
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

MINUS_INFINITY = tl.constexpr(float("-inf"))
# Below every score above -2^127, but finite: where the scores of the first tiles are all -inf,
# their difference to m must not be NaN. Half of the least float32.
NOTHING_READ = tl.constexpr(-(2.0**127))
# A product and a sum are rounded one after the other, not as one: the largest of huge scores must
# minus itself be 0, and m and the lse were rounded before they were subtracted. Products of
# matrices are not affected.
ROUNDING = {"enable_fp_fusion": False}
# Sizes that no address depends on: a kernel compiled for one value serves every other.
_SIZES = ("G", "T", "S", "heads_at_once")


@triton.jit
def tile_and_head(tiles, heads, heads_at_once):
    """Return which tile of which head this program computes.

    Programs start in order of their number. A few heads at a time share the GPU: enough to fill
    it, few enough for their keys and values to stay in its cache. Within those, the first tile of
    every head comes before the second of any.
    """
    program = tl.program_id(0)
    first_head = program // (tiles * heads_at_once) * heads_at_once
    within = program - first_head * tiles
    width = tl.minimum(heads_at_once, heads - first_head)
    return within // width, first_head + within % width


@triton.jit
def head_of(ptr, strides, b, h):
    """Return where head h of batch entry b starts; 64 bits, as tensors exceed 2**31 numbers."""
    return ptr + tl.cast(b, tl.int64) * strides[0] + tl.cast(h, tl.int64) * strides[1]


@triton.jit
def tile_at(ptr, stride, first, ROWS: tl.constexpr, BLOCK_D: tl.constexpr):
    """Return the addresses of the rows from ``first`` on, (ROWS, BLOCK_D)."""
    rows, columns = tl.arange(0, ROWS), tl.arange(0, BLOCK_D)
    start = ptr + tl.cast(first, tl.int64) * stride
    return start + (rows[:, None] * stride + columns[None, :])


@triton.jit
def inside(first, length, ROWS: tl.constexpr, D: tl.constexpr, BLOCK_D: tl.constexpr):
    """Return which numbers of a tile exist: blocks are powers of two, tensors are not."""
    rows, columns = first + tl.arange(0, ROWS), tl.arange(0, BLOCK_D)
    return (rows < length)[:, None] & (columns < D)[None, :]


@triton.jit
def load_tile(
    ptr, stride, first, length, ROWS: tl.constexpr, D: tl.constexpr, BLOCK_D: tl.constexpr,
    BOUNDED: tl.constexpr,
):  # fmt: skip
    """Load rows of one head; what does not exist is 0. Without BOUNDED every row must exist."""
    at = tile_at(ptr, stride, first, ROWS, BLOCK_D)
    if BOUNDED or D < BLOCK_D:
        return tl.load(at, mask=inside(first, length, ROWS, D, BLOCK_D), other=0.0)
    return tl.load(at)


@triton.jit
def load_numbers(ptr, rows, length, BOUNDED: tl.constexpr):
    """Load one number for each row; for rows that do not exist 0."""
    if BOUNDED:
        return tl.load(ptr + rows, mask=rows < length, other=0.0)
    return tl.load(ptr + rows)


@triton.jit
def store_tile(
    ptr, stride, first, length, tile, ROWS: tl.constexpr, D: tl.constexpr, BLOCK_D: tl.constexpr
):
    """Store rows of one head in the tensor's own dtype."""
    at = tile_at(ptr, stride, first, ROWS, BLOCK_D)
    tl.store(at, tile.to(ptr.dtype.element_ty), mask=inside(first, length, ROWS, D, BLOCK_D))


@triton.jit
def read_keys(
    acc, l, m, q, k_ptr, v_ptr, k_stride, v_stride, first, stop, last_key, S, scale_log2,
    D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_N: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Take the keys and values from ``first`` to ``stop`` into m, l and acc, tile by tile."""
    for first_key in range(first, stop, BLOCK_N):
        k = load_tile(k_ptr, k_stride, first_key, S, BLOCK_N, D, BLOCK_D, MASKED)
        scores = tl.dot(q, k.T, input_precision="ieee")
        if MASKED:
            keys = first_key + tl.arange(0, BLOCK_N)
            scores = tl.where(keys[None, :] <= last_key[:, None], scores, MINUS_INFINITY)
        # The largest scaled score: as the scale is positive, that of the largest score.
        m_new = tl.maximum(m, tl.max(scores, 1) * scale_log2)
        p = tl.exp2(scores * scale_log2 - m_new[:, None])
        alpha = tl.exp2(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        v = load_tile(v_ptr, v_stride, first_key, S, BLOCK_N, D, BLOCK_D, MASKED)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None], input_precision="ieee")
        m = m_new
    return acc, l, m


@triton.jit(do_not_specialize=_SIZES)
def forward(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_log2_ptr, q_strides, k_strides, v_strides, out_strides,
    G, T, S, scale_log2, heads_at_once,
    GROUP: tl.constexpr, D: tl.constexpr, BLOCK_D: tl.constexpr, CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Compute BLOCK_M rows of the output, and the log-sum-exp of their scores, for one head."""
    tiles = tl.cdiv(T, BLOCK_M)
    tile, head = tile_and_head(tiles, tl.num_programs(0) // tiles, heads_at_once)
    if CAUSAL:
        tile = tiles - 1 - tile  # the last rows read the most keys: start them first
    b, h = head // (G * GROUP), head % (G * GROUP)
    q_ptr = head_of(q_ptr, q_strides, b, h)
    k_ptr = head_of(k_ptr, k_strides, b, h // GROUP)
    v_ptr = head_of(v_ptr, v_strides, b, h // GROUP)
    out_ptr = head_of(out_ptr, out_strides, b, h)
    lse_log2_ptr += tl.cast(head, tl.int64) * T

    first_row = tile * BLOCK_M
    rows = first_row + tl.arange(0, BLOCK_M)
    # The row t reads the keys up to t + shift, if there are so many.
    shift = S - T if CAUSAL else S
    last_key = tl.minimum(rows + shift, S - 1)
    full = tl.maximum(0, tl.minimum(first_row + shift + 1, S)) // BLOCK_N * BLOCK_N
    stop = tl.minimum(first_row + BLOCK_M + shift, S)
    q = load_tile(q_ptr, q_strides[2], first_row, T, BLOCK_M, D, BLOCK_D, True)
    m = tl.full((BLOCK_M,), NOTHING_READ, tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    acc, l, m = read_keys(
        acc, l, m, q, k_ptr, v_ptr, k_strides[2], v_strides[2], 0, full, last_key, S, scale_log2,
        D, BLOCK_D, BLOCK_N, False,
    )  # fmt: skip
    acc, l, m = read_keys(
        acc, l, m, q, k_ptr, v_ptr, k_strides[2], v_strides[2], full, stop, last_key, S, scale_log2,
        D, BLOCK_D, BLOCK_N, True,
    )  # fmt: skip

    reads_nothing = last_key < 0
    out = tl.where(reads_nothing[:, None], 0.0, acc / l[:, None])
    lse_log2 = tl.where(reads_nothing, MINUS_INFINITY, m + tl.log2(l))
    store_tile(out_ptr, out_strides[2], first_row, T, out, BLOCK_M, D, BLOCK_D)
    tl.store(lse_log2_ptr + rows, lse_log2, mask=rows < T)


@triton.jit
def read_keys_again(
    dq, q, dout, lse_log2, delta, k_ptr, v_ptr, k_stride, v_stride, first, stop, last_key, S,
    scale_log2,
    D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_N: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Add to dq what the keys from ``first`` to ``stop`` give, tile by tile."""
    for first_key in range(first, stop, BLOCK_N):
        k = load_tile(k_ptr, k_stride, first_key, S, BLOCK_N, D, BLOCK_D, MASKED)
        v = load_tile(v_ptr, v_stride, first_key, S, BLOCK_N, D, BLOCK_D, MASKED)
        s = tl.dot(q, k.T, input_precision="ieee")
        p = tl.exp2(s * scale_log2 - lse_log2[:, None])
        if MASKED:
            keys = first_key + tl.arange(0, BLOCK_N)
            p = tl.where(keys[None, :] <= last_key[:, None], p, 0.0)
        dp = tl.dot(dout, v.T, input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq, input_precision="ieee")
    return dq


@triton.jit(do_not_specialize=_SIZES)
def backward_queries(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_log2_ptr, dout_ptr, dlse_ptr, dq_ptr, delta_ptr,
    q_strides, k_strides, v_strides, out_strides, dout_strides, dq_strides,
    G, T, S, scale, scale_log2, heads_at_once,
    GROUP: tl.constexpr, D: tl.constexpr, BLOCK_D: tl.constexpr, CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Compute BLOCK_M rows of dq for one head, and delta, which ``backward_keys`` reads.

    With p the weights: ``ds = p * (dout . v - delta)``, ``dq = scale * ds @ k``, where ``delta =
    sum(dout * out) - dlse`` has one number to a row.
    """
    tiles = tl.cdiv(T, BLOCK_M)
    tile, head = tile_and_head(tiles, tl.num_programs(0) // tiles, heads_at_once)
    if CAUSAL:
        tile = tiles - 1 - tile  # the last rows read the most keys: start them first
    b, h = head // (G * GROUP), head % (G * GROUP)
    k_ptr = head_of(k_ptr, k_strides, b, h // GROUP)
    v_ptr = head_of(v_ptr, v_strides, b, h // GROUP)
    per_row = tl.cast(head, tl.int64) * T

    first_row = tile * BLOCK_M
    rows = first_row + tl.arange(0, BLOCK_M)
    out_ptr, dout_ptr = head_of(out_ptr, out_strides, b, h), head_of(dout_ptr, dout_strides, b, h)
    out = load_tile(out_ptr, out_strides[2], first_row, T, BLOCK_M, D, BLOCK_D, True)
    dout = load_tile(dout_ptr, dout_strides[2], first_row, T, BLOCK_M, D, BLOCK_D, True)
    dlse = tl.load(dlse_ptr + per_row + rows, mask=rows < T, other=0.0)
    delta = tl.sum(dout.to(tl.float32) * out.to(tl.float32), 1) - dlse
    tl.store(delta_ptr + per_row + rows, delta, mask=rows < T)

    # The row t reads the keys up to t + shift, if there are so many.
    shift = S - T if CAUSAL else S
    last_key = tl.minimum(rows + shift, S - 1)
    full = tl.maximum(0, tl.minimum(first_row + shift + 1, S)) // BLOCK_N * BLOCK_N
    stop = tl.minimum(first_row + BLOCK_M + shift, S)
    q_ptr = head_of(q_ptr, q_strides, b, h)
    q = load_tile(q_ptr, q_strides[2], first_row, T, BLOCK_M, D, BLOCK_D, True)
    lse_log2 = tl.load(lse_log2_ptr + per_row + rows, mask=rows < T, other=0.0)
    dq = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    dq = read_keys_again(
        dq, q, dout, lse_log2, delta, k_ptr, v_ptr, k_strides[2], v_strides[2], 0, full, last_key,
        S, scale_log2, D, BLOCK_D, BLOCK_N, False,
    )  # fmt: skip
    dq = read_keys_again(
        dq, q, dout, lse_log2, delta, k_ptr, v_ptr, k_strides[2], v_strides[2], full, stop,
        last_key, S, scale_log2, D, BLOCK_D, BLOCK_N, True,
    )  # fmt: skip
    dq_ptr = head_of(dq_ptr, dq_strides, b, h)
    store_tile(dq_ptr, dq_strides[2], first_row, T, dq * scale, BLOCK_M, D, BLOCK_D)


@triton.jit
def read_queries(
    dk, dv, k, v, q_ptr, dout_ptr, lse_log2_ptr, delta_ptr, q_stride, dout_stride, first, stop,
    keys, shift, T, scale_log2,
    D: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_M: tl.constexpr, BOUNDED: tl.constexpr,
    MASKED: tl.constexpr,
):  # fmt: skip
    """Add to dk and dv what the queries from ``first`` to ``stop`` give, tile by tile.

    Scores are computed transposed, (BLOCK_N, BLOCK_M), so that the weights can be multiplied from
    the left as they lie in registers. Rows that do not exist load as 0 and get no weight: 0 times
    an infinite key would be NaN.
    """
    for first_row in range(first, stop, BLOCK_M):
        q = load_tile(q_ptr, q_stride, first_row, T, BLOCK_M, D, BLOCK_D, BOUNDED)
        dout = load_tile(dout_ptr, dout_stride, first_row, T, BLOCK_M, D, BLOCK_D, BOUNDED)
        rows = first_row + tl.arange(0, BLOCK_M)
        lse_log2 = load_numbers(lse_log2_ptr, rows, T, BOUNDED)
        s = tl.dot(k, q.T, input_precision="ieee")
        dp = tl.dot(v, dout.T, input_precision="ieee")  # here: it can run beside exp2
        p = tl.exp2(s * scale_log2 - lse_log2[None, :])
        if MASKED:
            p = tl.where(keys[:, None] <= (rows + shift)[None, :], p, 0.0)
        if BOUNDED:
            p = tl.where((rows < T)[None, :], p, 0.0)
        dv = tl.dot(p.to(dout.dtype), dout, dv, input_precision="ieee")
        delta = load_numbers(delta_ptr, rows, T, BOUNDED)
        ds = p * (dp - delta[None, :])
        dk = tl.dot(ds.to(q.dtype), q, dk, input_precision="ieee")
    return dk, dv


@triton.jit(do_not_specialize=_SIZES)
def backward_keys(
    q_ptr, k_ptr, v_ptr, lse_log2_ptr, dout_ptr, delta_ptr, dk_ptr, dv_ptr,
    q_strides, k_strides, v_strides, dout_strides, dk_strides, dv_strides,
    G, T, S, scale, scale_log2, heads_at_once,
    GROUP: tl.constexpr, D: tl.constexpr, BLOCK_D: tl.constexpr, CAUSAL: tl.constexpr,
    EVEN: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Compute BLOCK_N rows of dk and dv: ``dv = p.T @ dout``, ``dk = scale * ds.T @ q``.

    The program sums over all query heads that read its keys: no two programs add to one number,
    so the result never depends on their order.
    """
    tiles = tl.cdiv(S, BLOCK_N)
    tile, head = tile_and_head(tiles, tl.num_programs(0) // tiles, heads_at_once)
    b, g = head // G, head % G
    first_key = tile * BLOCK_N
    keys = first_key + tl.arange(0, BLOCK_N)
    k_ptr, v_ptr = head_of(k_ptr, k_strides, b, g), head_of(v_ptr, v_strides, b, g)
    k = load_tile(k_ptr, k_strides[2], first_key, S, BLOCK_N, D, BLOCK_D, True)
    v = load_tile(v_ptr, v_strides[2], first_key, S, BLOCK_N, D, BLOCK_D, True)
    dk = tl.zeros((BLOCK_N, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_N, BLOCK_D), tl.float32)
    shift = S - T if CAUSAL else S
    first, full = 0, 0
    if CAUSAL:  # from the first row that reads a key of this tile; from the first that reads all
        first = tl.maximum(0, first_key - shift) // BLOCK_M * BLOCK_M
        full = tl.cdiv(tl.maximum(0, first_key + BLOCK_N - 1 - shift), BLOCK_M) * BLOCK_M
    for h in range(g * GROUP, g * GROUP + GROUP):
        per_row = tl.cast(b * G * GROUP + h, tl.int64) * T
        if EVEN:
            per_row = tl.multiple_of(per_row, 16)
        q_head, dout_head = head_of(q_ptr, q_strides, b, h), head_of(dout_ptr, dout_strides, b, h)
        if CAUSAL:
            dk, dv = read_queries(
                dk, dv, k, v, q_head, dout_head, lse_log2_ptr + per_row, delta_ptr + per_row,
                q_strides[2], dout_strides[2], first, tl.minimum(full, T), keys, shift, T,
                scale_log2, D, BLOCK_D, BLOCK_M, not EVEN, True,
            )  # fmt: skip
        dk, dv = read_queries(
            dk, dv, k, v, q_head, dout_head, lse_log2_ptr + per_row, delta_ptr + per_row,
            q_strides[2], dout_strides[2], full, T, keys, shift, T, scale_log2,
            D, BLOCK_D, BLOCK_M, not EVEN, False,
        )  # fmt: skip
    dk_ptr, dv_ptr = head_of(dk_ptr, dk_strides, b, g), head_of(dv_ptr, dv_strides, b, g)
    store_tile(dk_ptr, dk_strides[2], first_key, S, dk * scale, BLOCK_N, D, BLOCK_D)
    store_tile(dv_ptr, dv_strides[2], first_key, S, dv, BLOCK_N, D, BLOCK_D)


KERNELS: dict[str, Any] = {one.__name__: one for one in (forward, backward_queries, backward_keys)}
_COMPILED = [isinstance(one, triton.JITFunction) for one in (*KERNELS.values(), tl.max, tl.sum)]
# TRITON_INTERPRET is read when triton is imported, for its own functions, and again here, for
# these kernels: the two have to agree.
INTERPRETED = not any(_COMPILED)
MIXED = any(_COMPILED) and not all(_COMPILED)
DOES_NOT_FIT = (triton.runtime.errors.OutOfResources, triton.runtime.errors.PTXASError)
# NVIDIA's disassembler, as Triton's package has it.
CUOBJDUMP = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
_FLOAT32_POINTERS = ("lse_log2_ptr", "dlse_ptr", "delta_ptr")


def wants_interpreter() -> bool:
    """Return whether TRITON_INTERPRET is set now, as Triton reads it.

    >>> wants_interpreter() in (True, False)
    True
    """
    return knobs.runtime.interpret


def compile_ahead(
    name: str, target: str, constants: dict[str, int], *, dtype: str, warps: int, stages: int
) -> Any:
    """Compile a kernel for a GPU that need not be there, as a launch on plain tensors would.

    Args:
        name: one of ``KERNELS``.
        target: ``"sm_90"`` and so on for NVIDIA's GPUs, ``"gfx942"`` and so on for AMD's.
        constants: the kernel's constants.
        dtype: of the tensors, in Triton's letters: ``"fp16"``, ``"bf16"``, ``"fp32"``.
        warps: warps to a program.
        stages: loads under way in a loop.

    Returns:
        What ``triton.compile`` returns.

    Raises:
        RuntimeError: if Triton's interpreter has the kernels.

    >>> sorted(KERNELS)
    ['backward_keys', 'backward_queries', 'forward']
    """
    if INTERPRETED or MIXED:
        raise RuntimeError("compiling needs a process in which TRITON_INTERPRET was never set")
    kernel = KERNELS[name]
    signature: dict[str, Any] = {}
    divisible = []
    for position, argument in enumerate(kernel.arg_names):
        if argument in constants:
            signature[argument] = "constexpr"
        elif argument.endswith("_ptr"):
            signature[argument] = "*fp32" if argument in _FLOAT32_POINTERS else f"*{dtype}"
            divisible.append((position,))
        elif argument.endswith("_strides"):
            signature[argument] = ("i32",) * 3
            divisible += [(position, axis) for axis in range(3)]
        else:
            signature[argument] = "fp32" if argument.startswith("scale") else "i32"
    # A launch tells the compiler which addresses and strides 16 divides: without, other code.
    attributes = {position: [["tt.divisibility", 16]] for position in divisible}
    nvidia = target.startswith("sm_")
    return triton.compile(
        ASTSource(kernel, signature, constants, attributes),
        target=GPUTarget("cuda", int(target[3:]), 32) if nvidia else GPUTarget("hip", target, 64),
        options={"num_warps": warps, "num_stages": stages, **ROUNDING},
    )
