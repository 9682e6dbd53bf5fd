"""One call for every backend: what may be asked, what is checked, and who computes it."""

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor

from course_utils.checks import check_choice, check_finite, check_like, check_rank
from course_utils.kernels.launch import attend_triton, unavailable_reason, unsupported_reason
from course_utils.kernels.reference import attend_reference
from course_utils.kernels.tiled import attend_tiled
from course_utils.kernels.tiled_function import (
    autocast_dtype,
    no_autocast,
    out_of_memory_explained,
)
from course_utils.shapes import Float

__all__ = ["BACKENDS", "DTYPES", "available_backends", "flash_attend"]

Backend = Literal["auto", "triton", "tiled", "reference"]
# From the fastest to the slowest, where each is there.
BACKENDS = ("triton", "tiled", "reference")
# float64 is there for gradient checks; the Triton kernels do not take it.
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
_AXES = {"q": "B H T D", "k": "B G S D", "v": "B G S D"}


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

    q, k and v are dense, of one device and one dtype: float32, float16, bfloat16, or float64 except
    for Triton. B, T and S may be 0; H, G and D may not.

    They hold finite numbers. A NaN or an infinity may turn every query into NaN that shares a
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
    q, k, v = (_follow_autocast(x) for x in (q, k, v))
    _check_one_kind({"q": q, "k": k, "v": v})
    _check_shapes(q, k, v)
    _check_options(scale, causal=causal, return_lse=return_lse)
    compute = _backend_for(q, backend)
    scale = q.shape[-1] ** -0.5 if scale is None else float(scale)
    explained = out_of_memory_explained(q, k, whole_matrix=compute is attend_reference)
    with explained, no_autocast(q.device):
        out, lse = compute(q, k, v, causal=causal, scale=scale)
    return (out, lse) if return_lse else out


def _follow_autocast(x: Any) -> Any:
    """Return x in the dtype of ``torch.autocast``, as torch's own attention takes it.

    That leaves float64 as it is. What is not a tensor of numbers is left to the checks.
    """
    if not isinstance(x, Tensor) or x.dtype not in DTYPES or x.dtype == torch.float64:
        return x
    dtype = autocast_dtype(x.device)
    return x if dtype is None else x.to(dtype)


def _check_one_kind(tensors: dict[str, Tensor]) -> None:
    """Check rank, dtype and device of each, and that all are of one kind."""
    __tracebackhide__ = True
    for name, tensor in tensors.items():
        if isinstance(tensor, Tensor) and (tensor.is_nested or tensor.layout != torch.strided):
            kind = "a nested tensor" if tensor.is_nested else tensor.layout
            raise TypeError(f"{name} must be a dense tensor, got {kind}")
        check_rank(name, tensor, _AXES[name])
        if tensor.dtype not in DTYPES:
            known = ", ".join(str(dtype).removeprefix("torch.") for dtype in DTYPES)
            raise TypeError(f"{name} must be one of {known}, got {tensor.dtype}")
        check_like(name, tensor, "q", tensors["q"])


def _check_shapes(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Check q (B, H, T, D), k and v (B, G, S, D) against one another; B, T and S may be 0."""
    __tracebackhide__ = True
    for name, size, what in (
        ("q", q.shape[1], "query head, H"),
        ("k", k.shape[1], "key/value head, G"),
        ("q", q.shape[3], "coordinate in a head, D"),
    ):
        if size == 0:
            raise ValueError(f"{name} must have at least one {what}, got 0")
    for name, tensor in (("k", k), ("v", v)):
        for axis, what in ((0, "the batch of q, B"), (3, "the head width of q, D")):
            if tensor.shape[axis] != q.shape[axis]:
                raise ValueError(
                    f"{name} must have {what} ({q.shape[axis]}), got shape {tuple(tensor.shape)}"
                )
    if v.shape != k.shape:
        raise ValueError(
            f"v must have the heads and the length of k, G ({k.shape[1]}) and S ({k.shape[2]}), "
            f"got shape {tuple(v.shape)}"
        )
    if q.shape[1] % k.shape[1]:
        raise ValueError(
            f"the heads G of k ({k.shape[1]}) must divide the heads H of q ({q.shape[1]})"
        )


def _check_options(scale: Any, **flags: Any) -> None:
    __tracebackhide__ = True
    if scale is not None:
        check_finite("scale", scale)
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise TypeError(f"{name} must be True or False, got {flag!r} ({type(flag).__name__})")


def available_backends() -> tuple[str, ...]:
    """Return the backends that can compute here, the fastest first.

    >>> available_backends()[-2:]
    ('tiled', 'reference')
    """
    return BACKENDS if unavailable_reason() is None else BACKENDS[1:]


def _backend_for(q: Tensor, backend: str) -> Callable:
    """Return the function that computes this input: the one asked for, or the fastest."""
    __tracebackhide__ = True
    if backend == "auto":
        return attend_triton if q.is_cuda and _why_not_triton(q) is None else attend_tiled
    check_choice("backend", backend, ("auto", *BACKENDS))
    if backend != "triton":
        return attend_tiled if backend == "tiled" else attend_reference
    reason = _why_not_triton(q)
    if reason is not None:
        raise ValueError(f"backend 'triton' must be able to take this input: {reason}")
    return attend_triton


def _why_not_triton(q: Tensor) -> str | None:
    return unavailable_reason() or unsupported_reason(q)
