"""Start the Triton kernels on torch tensors: strides, grids, tiles, and the tie to autograd."""

import contextlib
import math
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from course_utils.kernels import tiled_triton
from course_utils.kernels.configurations import Configuration, constants_of, tiles_for
from course_utils.kernels.out_of_memory import out_of_memory_explained
from course_utils.kernels.unsupported_transforms import TiledFunction, differentiable_once
from course_utils.shapes import Float

__all__ = ["INTERPRETED", "MAX_HEAD_WIDTH", "attend_triton", "unsupported_reason"]

# Whether Triton's interpreter runs the kernels, on the CPU; decided when they were imported.
INTERPRETED = tiled_triton.INTERPRETED
MAX_HEAD_WIDTH = 128
_DTYPES = (torch.float32, torch.float16, torch.bfloat16)
# Ampere: the first with tensor cores for bfloat16 and with copies that do not wait.
_MIN_CAPABILITY = (8, 0)
# The interpreter's time goes with the number of tiles, not with their size.
_FOR_INTERPRETER = Configuration(128, 128, warps=4, stages=2)
# Keys and values, in bytes, that stay in the cache of a large GPU while its programs share them.
_CACHED = 2**24
# Addresses within a tile have 32 bits: 128 rows of up to this many numbers apart.
_MAX_ROW_STRIDE = 2**23


class _How(NamedTuple):
    """What the kernels are told besides tensors."""

    causal: bool
    scale: float
    tiles: tuple[int, int] | None


def attend_triton(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B G S D"],
    v: Float[Tensor, "B G S D"],
    *,
    causal: bool,
    scale: float,
    tiles: tuple[int, int] | None = None,
) -> tuple[Float[Tensor, "B H T D"], Float[Tensor, "B H T"]]:
    """Return the output and the log-sum-exp of the scores, both differentiable once.

    Args:
        q: queries.
        k: keys.
        v: values.
        causal: whether a query is kept from later keys.
        scale: factor on the dot products.
        tiles: queries and keys to a tile, powers of two from 16, in place of those chosen.

    Raises:
        ValueError: if the kernels cannot take these tensors; says why.

    >>> q = torch.zeros(1, 1, 2, 16, dtype=torch.float64)
    >>> attend_triton(q, q, q, causal=True, scale=1.0)
    Traceback (most recent call last):
    ValueError: the Triton kernels must get float32, float16 or bfloat16, got torch.float64
    """
    __tracebackhide__ = True
    reason = unsupported_reason(q)
    if reason is not None:
        raise ValueError(reason)
    if scale < 0:
        q, scale = -q, -scale  # the kernels look for the largest product, then scale it
    if not 2.0**-100 < scale < 2.0**100:
        q, scale = q * scale, 1.0  # 0, or beyond float32
    if INTERPRETED and q.dtype == torch.bfloat16:
        # The interpreter multiplies the bits of bfloat16 numbers, and cuts off what it stores.
        wide = (x.float() for x in (q, k, v))
        out, lse = _TritonAttention.apply(*wide, causal, scale, tiles)[:2]
        return out.to(q.dtype), lse
    return _TritonAttention.apply(q, k, v, causal, scale, tiles)[:2]


def unsupported_reason(q: Tensor) -> str | None:
    """Say why the kernels, as they were imported, cannot take this tensor; None if they can.

    >>> unsupported_reason(torch.zeros(1, 1, 2, 256))
    'the Triton kernels must get a head width D of at most 128, got 256'
    """
    rule = "the Triton kernels must get"
    if q.dtype not in _DTYPES:
        return f"{rule} float32, float16 or bfloat16, got {q.dtype}"
    if q.shape[-1] > MAX_HEAD_WIDTH:
        return f"{rule} a head width D of at most {MAX_HEAD_WIDTH}, got {q.shape[-1]}"
    if tiled_triton.MIXED or tiled_triton.wants_interpreter() != INTERPRETED:
        return (
            "TRITON_INTERPRET must stay as it was when triton and the kernels were imported; "
            "set it first, or not at all, in a fresh process or a restarted notebook kernel"
        )
    if INTERPRETED and q.device.type != "cpu":
        return f"{rule} tensors on the CPU while TRITON_INTERPRET is set, got {q.device}"
    if INTERPRETED:
        return None
    if not q.is_cuda:
        return f"{rule} tensors on a CUDA device unless TRITON_INTERPRET is set, got {q.device}"
    if torch.version.hip is None and torch.cuda.get_device_capability(q.device) < _MIN_CAPABILITY:
        found = ".".join(map(str, torch.cuda.get_device_capability(q.device)))
        return f"{rule} a CUDA device of capability 8.0 or more, got {found}"
    return None


class _TritonAttention(TiledFunction):
    """Keeps q, k, v, the output and the log-sum-exp for the backward pass, and no weights."""

    @staticmethod
    def forward(
        q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float, tiles: Any
    ) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = map(_addressable, (q, k, v))
        how = _How(causal, scale, tiles)
        lse_log2 = q.new_empty(q.shape[:3], dtype=torch.float32)
        if q.numel() and k.numel():
            out = torch.empty_like(q, memory_format=torch.contiguous_format)
            _start("forward", (q, k, v, out, lse_log2), how)
        else:
            out = torch.zeros_like(q, memory_format=torch.contiguous_format)
            lse_log2.fill_(-torch.inf)
        return out, lse_log2 * math.log(2), lse_log2

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        q, k, v, *how = inputs
        out, _, lse_log2 = output
        ctx.mark_non_differentiable(lse_log2)
        ctx.save_for_backward(q, k, v, out, lse_log2)
        ctx.how = _How(*how)

    @staticmethod
    def backward(ctx: Any, dout: Tensor, dlse: Tensor, _: Tensor) -> tuple:
        saved = ctx.saved_tensors
        with out_of_memory_explained(saved[0], saved[1]):
            gradients = differentiable_once(partial(_gradients, ctx.how), *saved, dout, dlse)
        return *gradients, None, None, None


def _gradients(
    how: _How,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse_log2: Tensor,
    dout: Tensor,
    dlse: Tensor,
) -> tuple[Tensor, ...]:
    """Return the gradients with respect to q, k and v."""
    q, k, v = map(_addressable, (q, k, v))
    new = torch.empty_like if q.numel() and k.numel() else torch.zeros_like
    dq, dk, dv = (new(x, memory_format=torch.contiguous_format) for x in (q, k, v))
    if q.numel() and k.numel():
        delta, dlse, dout = torch.empty_like(lse_log2), dlse.contiguous(), _addressable(dout)
        # In this order: the first also computes delta, which the second reads.
        _start("backward_queries", (q, k, v, out, lse_log2, dout, dlse, dq, delta), how)
        _start("backward_keys", (q, k, v, lse_log2, dout, delta, dk, dv), how)
    return dq, dk, dv


def _addressable(x: Tensor) -> Tensor:
    """Return x, or a copy whose rows lie as the kernels expect: without gaps, not too far apart."""
    fits = x.stride(-1) == 1 and x.stride(-2) <= _MAX_ROW_STRIDE
    return x if fits else x.clone(memory_format=torch.contiguous_format)


def _start(name: str, tensors: tuple[Tensor, ...], how: _How) -> None:
    """Run one kernel over all of its tiles, with the tiles given or those chosen for it.

    ``tensors`` are the kernel's in its order, starting with q and k; those with four axes pass
    their strides as well.
    """
    q, k = tensors[:2]
    (B, H, T, D), (G, S) = q.shape, k.shape[1:3]
    by_keys = name == "backward_keys"
    heads, length = (B * G, S) if by_keys else (B * H, T)
    # What the programs of a head read again and again: keys and values, or queries and gradients.
    shared = 2 * D * q.element_size() * (T * H / G if by_keys else S * G / H)
    scale_log2 = how.scale * math.log2(math.e)
    scales = (scale_log2,) if name == "forward" else (how.scale, scale_log2)
    arguments = (
        *tensors,
        *(tuple(x.stride()[:3]) for x in tensors if x.ndim == 4),
        *(G, T, S, *scales, _heads_at_once(heads, shared)),
    )

    tiles = _tiles(name, q, how)
    block = tiles.block_n if by_keys else tiles.block_m
    constants = constants_of(name, tiles, D=D, group=H // G, causal=how.causal, T=T)
    options = {"num_warps": tiles.warps, "num_stages": tiles.stages, **tiled_triton.ROUNDING}
    with _ready(q):
        grid = (heads * math.ceil(length / block),)
        tiled_triton.KERNELS[name][grid](*arguments, **constants, **options)


def _tiles(name: str, q: Tensor, how: _How) -> Configuration:
    """Return the tiles given, or those for the device of q."""
    if how.tiles is not None:
        return Configuration(*how.tiles, warps=4, stages=2)
    if INTERPRETED:
        return _FOR_INTERPRETER
    return tiles_for(name, instruction_of(q), 8 * q.element_size(), q.shape[-1])


def _heads_at_once(heads: int, shared: float) -> int:
    """Return how many heads compute at a time, so that what their programs share stays cached."""
    return min(heads, max(1, int(_CACHED / shared)))


def instruction_of(q: Tensor) -> str:
    """Return how the device of q multiplies matrices."""
    if torch.version.hip is not None:
        return "mfma"
    major = torch.cuda.get_device_capability(q.device)[0]
    return {9: "wgmma", 10: "tcgen05"}.get(major, "mma.sync")


@contextlib.contextmanager
def _ready(q: Tensor) -> Iterator[None]:
    """Make the device of q the current one; hide the interpreter's warnings about NaN."""
    if INTERPRETED:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    else:
        with torch.cuda.device(q.device):
            yield
