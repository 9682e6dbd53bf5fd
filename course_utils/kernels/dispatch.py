"""One call for every backend: check the input, choose who computes it, say what is missing."""

import importlib
import importlib.metadata
import importlib.util
import re
import warnings
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Literal, cast

import torch
from torch import Tensor

from course_utils.checks import check_choice
from course_utils.kernels.input_checks import (
    check_flash_inputs,
    follow_autocast,
    no_autocast,
)
from course_utils.kernels.out_of_memory import out_of_memory_explained
from course_utils.kernels.reference import attend_reference
from course_utils.kernels.tiled import attend_tiled
from course_utils.shapes import Float

__all__ = ["BACKENDS", "available_backends", "flash_attend", "unavailable_reason"]

Backend = Literal["auto", "triton", "tiled", "reference"]
# From the fastest to the slowest, where each is there.
BACKENDS = ("triton", "tiled", "reference")
_TRITON = "course_utils.kernels.launch"


class _NotInstalled(Exception):
    """There is no Triton to import."""


def flash_attend(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B G S D"],
    v: Float[Tensor, "B G S D"],
    *,
    causal: bool = False,
    scale: float | int | None = None,
    backend: Backend = "auto",
    return_lse: bool = False,
) -> Float[Tensor, "B H T D"] | tuple[Float[Tensor, "B H T D"], Float[Tensor, "B H T"]]:
    """Exact attention, tile by tile: ``softmax(scale * q @ k.T) @ v`` without the (T, S) matrix.

    Memory grows with T and with S, not with their product, forward and backward: the backward
    pass computes each tile of weights again from q, k and the log-sum-exp of the scores.

    On a CPU, below about 64 tokens the formula itself (``backend="reference"``) is faster than
    tiles. ``"auto"`` stays with tiles there: the same results at every length, safe in 16 bits.
    There a faster form computes longer inputs of ordinary size: ``fast_cpu.py``, which can be
    switched off.

    Args:
        q: queries.
        k: keys. G divides H; query head h attends to key/value head h // (H / G), not copied.
        v: values.
        causal: whether a query is kept from later keys. The last query sees the last key, as in
            ``causal_mask``: with T > S the first T - S queries attend to nothing.
        scale: factor on the dot products; 1 / sqrt(D) if None.
        backend: ``"triton"`` (a CUDA device, or Triton's interpreter), ``"tiled"`` (torch, any
            device), ``"reference"`` (the whole matrix), or ``"auto"``: the fastest that can take
            this input.
        return_lse: whether to return the log-sum-exp of the scores as well.

    q, k and v hold finite numbers. A NaN or an infinity may turn every query into NaN that shares a
    tile with it, its log-sum-exp too, and under ``causal`` the earlier ones: it meets weights that
    are 0, and 0 times NaN is NaN. torch's own attention does the same.

    Under ``torch.autocast`` q, k and v are taken in its dtype, unless they are float64: as in
    torch's own attention. ``torch.vmap`` and forward-mode derivatives are for
    ``backend="reference"`` alone.

    Returns:
        The output in the dtype of q; with ``return_lse`` also the log-sum-exp of each query's
        scores (natural logarithm; float32, or float64 for float64 inputs). Both can be
        differentiated. A query that may attend to no key gets output 0 and -inf.

    Raises:
        TypeError: for a wrong type or dtype.
        ValueError: for a wrong rank, axis, device or scale, or a backend that is unknown, not
            available here, or cannot take this input.
        torch.OutOfMemoryError: if the device's memory does not suffice; says for which sizes.

    Source: Dao et al., "FlashAttention", 2022, algorithm 1; Dao, "FlashAttention-2", 2023.

    >>> q, k = torch.randn(1, 4, 3, 16), torch.randn(1, 2, 5, 16)
    >>> out, lse = flash_attend(q, k, k, causal=True, return_lse=True)
    >>> out.shape, lse.shape
    (torch.Size([1, 4, 3, 16]), torch.Size([1, 4, 3]))
    """
    q, k, v = follow_autocast(q, k, v)
    check_flash_inputs(q, k, v, causal=causal, scale=scale, return_lse=return_lse)
    compute = _backend_for(q, backend)
    scale = q.shape[-1] ** -0.5 if scale is None else float(scale)
    explained = out_of_memory_explained(q, k, whole_matrix=compute is attend_reference)
    with explained, no_autocast(q.device):
        out, lse = compute(q, k, v, causal=causal, scale=scale)
    return (out, lse) if return_lse else out


def available_backends() -> tuple[str, ...]:
    """Return the backends that can compute here, the fastest first.

    >>> available_backends()[-2:]
    ('tiled', 'reference')
    """
    return tuple(name for name in BACKENDS if unavailable_reason(name) is None)


def unavailable_reason(backend: str) -> str | None:
    """Say why a backend cannot compute here and what would bring it; None if it can.

    A missing or broken GPU, driver or Triton is a reason like any other, and raises nothing.

    Raises:
        ValueError: if there is no backend of that name.

    >>> unavailable_reason("tiled") is None
    True
    """
    check_choice("backend", backend, BACKENDS)
    if backend != "triton":
        return None
    try:
        launch = _launch()
    except _NotInstalled:
        return (
            "Triton is not installed; on Linux with x86-64, "
            '`python -m pip install "triton>=3.6,<3.8"` brings it'
        )
    except Exception as error:  # a broken Triton may raise anything at all
        return f"Triton cannot be imported ({type(error).__name__}: {error})"
    wanted = launch.tiled_triton.wants_interpreter()
    if wanted != launch.INTERPRETED:
        return (
            f"TRITON_INTERPRET was {'set' if wanted else 'unset'} after triton was imported, and "
            "triton read it then; do so first, in a fresh process or a restarted notebook kernel"
        )
    if launch.INTERPRETED:
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


def _backend_for(q: Tensor, backend: str) -> Callable:
    """Return the function that computes this input: the one asked for, or the fastest."""
    __tracebackhide__ = True
    if backend == "auto":
        compiled = q.is_cuda and unavailable_reason("triton") is None
        takes = compiled and not _launch().INTERPRETED and _launch().unsupported_reason(q) is None
        return _launch().attend_triton if takes else attend_tiled
    check_choice("backend", backend, ("auto", *BACKENDS))
    if backend != "triton":
        return attend_tiled if backend == "tiled" else attend_reference
    reason = unavailable_reason("triton") or _launch().unsupported_reason(q)
    if reason is not None:
        raise ValueError(f"backend 'triton' must be able to take this input: {reason}")
    return _launch().attend_triton


@cache
def _launch() -> ModuleType:
    """Import what holds the Triton kernels, only where they are wanted.

    What could be imported stays; after a failure the next call tries again.
    """
    if not _is_installed("triton"):
        raise _NotInstalled
    return cast(ModuleType, importlib.import_module(_TRITON))
