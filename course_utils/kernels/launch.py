"""Triton as a backend: whether it can compute here, what it takes, how its kernels start."""

import contextlib
import importlib.metadata
import importlib.util
import math
import re
import warnings
from collections.abc import Iterator
from functools import cache, partial
from types import ModuleType
from typing import NamedTuple

import torch
from torch import Tensor

from course_utils.kernels.configurations import Configuration, constants_of, tiles_for
from course_utils.kernels.tiled_function import LOG2_E, attend_once
from course_utils.shapes import Float

__all__ = ["MAX_HEAD_WIDTH", "attend_triton", "unavailable_reason", "unsupported_reason"]

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


def unavailable_reason() -> str | None:
    """Say why Triton cannot compute here and what would bring it; None if it can.

    A missing or broken GPU, driver or Triton is a reason like any other, and raises nothing.

    >>> unavailable_reason() is None or "riton" in unavailable_reason()
    True
    """
    if not _is_installed("triton"):
        return (
            "Triton is not installed; on Linux with x86-64, "
            '`python -m pip install "triton>=3.6,<3.8"` brings it'
        )
    try:
        kernels = _kernels()
    except Exception as error:  # a broken Triton may raise anything at all
        return f"Triton cannot be imported ({type(error).__name__}: {error})"
    wanted = kernels.wants_interpreter()
    if wanted != kernels.INTERPRETED:
        return (
            f"TRITON_INTERPRET was {'set' if wanted else 'unset'} after triton was imported, and "
            "triton read it then; do so first, in a fresh process or a restarted notebook kernel"
        )
    if kernels.INTERPRETED:
        return _broken_interpreter()
    if _has_gpu():
        return None
    return (
        "there is no CUDA device here; TRITON_INTERPRET=1, set before triton is imported, "
        "runs the kernels on the CPU, slowly"
    )


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ValueError:  # something without a specification took its place in sys.modules
        return True


@cache
def _broken_interpreter() -> str | None:
    """Say what keeps Triton's interpreter from computing with this NumPy; None if nothing does."""
    try:
        broken = _version("triton") < (3, 7) and _version("numpy") >= (2, 4)
    except importlib.metadata.PackageNotFoundError:  # built in place: nothing speaks against it
        return None
    if not broken:
        return None
    return "Triton 3.6's interpreter needs numpy < 2.4; triton>=3.7 or an older numpy mends it"


def _version(package: str) -> tuple[int, ...]:
    """Return the first two numbers of the version that is installed."""
    return tuple(map(int, re.findall(r"\d+", importlib.metadata.version(package))[:2]))


@cache
def _has_gpu() -> bool:
    with warnings.catch_warnings():  # torch warns where a driver is too old
        warnings.simplefilter("ignore")
        return torch.cuda.is_available()


def _kernels() -> ModuleType:
    """Import the Triton kernels, only where they are wanted; what failed is tried again."""
    from course_utils.kernels import tiled_triton

    return tiled_triton


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
    kernels = _kernels()
    if kernels.MIXED or kernels.wants_interpreter() != kernels.INTERPRETED:
        return (
            "TRITON_INTERPRET must stay as it was when triton and the kernels were imported; "
            "set it first, or not at all, in a fresh process or a restarted notebook kernel"
        )
    if kernels.INTERPRETED and q.device.type != "cpu":
        return f"{rule} tensors on the CPU while TRITON_INTERPRET is set, got {q.device}"
    if kernels.INTERPRETED:
        return None
    if not q.is_cuda:
        return f"{rule} tensors on a CUDA device unless TRITON_INTERPRET is set, got {q.device}"
    if torch.version.hip is None and torch.cuda.get_device_capability(q.device) < _MIN_CAPABILITY:
        found = ".".join(map(str, torch.cuda.get_device_capability(q.device)))
        return f"{rule} a CUDA device of capability 8.0 or more, got {found}"
    return None


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
    how = _How(causal, scale, tiles)
    attend = partial(attend_once, partial(_forward, how), partial(_gradients, how))
    if _kernels().INTERPRETED and q.dtype == torch.bfloat16:
        # The interpreter multiplies the bits of bfloat16 numbers, and cuts off what it stores.
        out, lse = attend(*(x.float() for x in (q, k, v)))
        return out.to(q.dtype), lse
    return attend(q, k, v)


def _forward(how: _How, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Return the output and the log-sum-exp of the scores over log(2)."""
    q, k, v = map(_addressable, (q, k, v))
    lse_log2 = q.new_empty(q.shape[:3], dtype=torch.float32)
    if q.numel() and k.numel():
        out = torch.empty_like(q, memory_format=torch.contiguous_format)
        _start("forward", (q, k, v, out, lse_log2), how)
    else:
        out = torch.zeros_like(q, memory_format=torch.contiguous_format)
        lse_log2.fill_(-torch.inf)
    return out, lse_log2


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
    scale_log2 = how.scale * LOG2_E
    scales = (scale_log2,) if name == "forward" else (how.scale, scale_log2)
    arguments = (
        *tensors,
        *(tuple(x.stride()[:3]) for x in tensors if x.ndim == 4),
        *(G, T, S, *scales, _heads_at_once(heads, shared)),
    )

    kernels = _kernels()
    tiles = _tiles(name, q, how)
    block = tiles.block_n if by_keys else tiles.block_m
    constants = constants_of(name, tiles, D=D, group=H // G, causal=how.causal, T=T)
    options = {"num_warps": tiles.warps, "num_stages": tiles.stages, **kernels.ROUNDING}
    with _ready(q):
        grid = (heads * math.ceil(length / block),)
        kernels.KERNELS[name][grid](*arguments, **constants, **options)


def _tiles(name: str, q: Tensor, how: _How) -> Configuration:
    """Return the tiles given, or those for the device of q."""
    if how.tiles is not None:
        return Configuration(*how.tiles, warps=4, stages=2)
    if _kernels().INTERPRETED:
        return _FOR_INTERPRETER
    return tiles_for(name, _instruction_of(q), 8 * q.element_size(), q.shape[-1])


def _heads_at_once(heads: int, shared: float) -> int:
    """Return how many heads compute at a time, so that what their programs share stays cached."""
    return min(heads, max(1, int(_CACHED / shared)))


def _instruction_of(q: Tensor) -> str:
    """Return how the device of q multiplies matrices."""
    if torch.version.hip is not None:
        return "mfma"
    major = torch.cuda.get_device_capability(q.device)[0]
    return {9: "wgmma", 10: "tcgen05"}.get(major, "mma.sync")


@contextlib.contextmanager
def _ready(q: Tensor) -> Iterator[None]:
    """Make the device of q the current one; hide the interpreter's warnings about NaN."""
    if _kernels().INTERPRETED:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    else:
        with torch.cuda.device(q.device):
            yield
