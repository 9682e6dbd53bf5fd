"""What both tiled forms run inside: the tie to autograd, their own dtypes, and full memory."""

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor

from course_utils.shapes import Float

__all__ = ["attend_once", "autocast_dtype", "no_autocast", "out_of_memory_explained"]

LOG2_E = math.log2(math.e)
# How torch's errors begin on a CPU, where they have no type of their own.
_CPU_IS_FULL = "DefaultCPUAllocator"


def attend_once(
    forward: Callable[..., tuple[Tensor, Tensor]],
    gradients: Callable[..., tuple[Tensor, ...]],
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B G S D"],
    v: Float[Tensor, "B G S D"],
) -> tuple[Float[Tensor, "B H T D"], Float[Tensor, "B H T"]]:
    """Return the output and the log-sum-exp of the scores, both differentiable once.

    q, k, v, the output and the log-sum-exp are kept for the gradients, and no weights.

    Args:
        forward: returns from q, k and v the output and the log-sum-exp over log(2).
        gradients: returns from q, k, v, these two, and the gradients for the output and the
            log-sum-exp, those for q, k and v.
        q: queries.
        k: keys.
        v: values.

    Raises:
        RuntimeError: under vmap, in forward mode, and when a gradient is differentiated.
            PyTorch's ``once_differentiable`` cuts the graph instead: where a second derivative
            has other paths as well, the sum then silently lacks this one.
        torch.OutOfMemoryError: in the backward pass, with the sizes.

    >>> x = torch.ones(1, 1, 2, 4, requires_grad=True)
    >>> out, lse = attend_once(
    ...     lambda q, k, v: (3 * q, q.sum(dim=-1)),
    ...     lambda q, k, v, out, lse_log2, dout, dlse: (3 * dout, k, v),
    ...     x, x.detach(), x.detach(),
    ... )
    >>> (first,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
    >>> first[0, 0, 0, 0].item()
    18.0
    >>> first.sum().backward()
    Traceback (most recent call last):
    RuntimeError: flash_attend must be differentiated once at most, got a second time; \
backend='reference' has every derivative
    """
    return _Attention.apply(forward, gradients, q, k, v)[:2]  # pyright: ignore


class _ReverseMode(torch.autograd.Function):
    """A function with a derivative in reverse mode, and neither a mapped nor a forward form."""

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *inputs: Any) -> None:
        raise RuntimeError(
            "flash_attend must get what is mapped over as its axis B, got torch.vmap; "
            "backend='reference' can be mapped"
        )

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor) -> None:
        raise RuntimeError(
            "flash_attend must be differentiated in reverse mode, got forward mode (jvp); "
            "backend='reference' has both"
        )


class _Attention(_ReverseMode):
    @staticmethod
    def forward(
        forward: Callable, gradients: Callable, q: Tensor, k: Tensor, v: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        out, lse_log2 = forward(q, k, v)
        return out, lse_log2 / LOG2_E, lse_log2

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        _, ctx.gradients, q, k, v = inputs
        out, _, lse_log2 = output
        ctx.mark_non_differentiable(lse_log2)
        ctx.save_for_backward(q, k, v, out, lse_log2)

    @staticmethod
    def backward(ctx: Any, dout: Tensor, dlse: Tensor, _: Tensor) -> tuple:
        q, k, *others = ctx.saved_tensors
        with out_of_memory_explained(q, k), no_autocast(q.device):
            return None, None, *_Once.apply(ctx.gradients, q, k, *others, dout, dlse)


class _Once(_ReverseMode):
    """``gradients(*inputs)``; differentiating these raises an error."""

    @staticmethod
    def forward(gradients: Callable, *inputs: Tensor) -> tuple[Tensor, ...]:
        return gradients(*inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> None:
        raise RuntimeError(
            "flash_attend must be differentiated once at most, got a second time; "
            "backend='reference' has every derivative"
        )


def autocast_dtype(device: torch.device) -> torch.dtype | None:
    """Return the dtype that ``torch.autocast`` asks for on this device; None where it is off.

    >>> with torch.autocast("cpu"):
    ...     autocast_dtype(torch.device("cpu"))
    torch.bfloat16
    """
    if not torch.amp.is_autocast_available(device.type):
        return None
    on = torch.is_autocast_enabled(device.type)
    return torch.get_autocast_dtype(device.type) if on else None


def no_autocast(device: torch.device) -> AbstractContextManager:
    """Let a backend compute in the dtypes that it chooses itself.

    >>> with torch.autocast("cpu"), no_autocast(torch.device("cpu")):
    ...     autocast_dtype(torch.device("cpu")) is None
    True
    """
    off = autocast_dtype(device) is None
    return nullcontext() if off else torch.autocast(device.type, enabled=False)


@contextmanager
def out_of_memory_explained(q: Tensor, k: Tensor, *, whole_matrix: bool = False) -> Iterator[None]:
    """Turn torch's out-of-memory error into one that names the tensors and their sizes.

    Args:
        q: queries (B, H, T, D).
        k: keys (B, G, S, D), as large as the values.
        whole_matrix: whether the scores are held as well, all T × S of every head.

    >>> q = torch.zeros(1, 2, 3, 4)
    >>> with out_of_memory_explained(q, q):
    ...     raise torch.OutOfMemoryError("CUDA out of memory")
    Traceback (most recent call last):
    torch.OutOfMemoryError: flash_attend must fit its tensors on cpu: q (1, 2, 3, 4) and k \
(1, 2, 3, 4) in torch.float32 need at least 3.8e-07 GiB for q, k, v, the output and lse, and the \
gradients as much again; use a smaller batch or shorter sequences
    """
    __tracebackhide__ = True
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, torch.OutOfMemoryError) and _CPU_IS_FULL not in str(error):
            raise
        raise torch.OutOfMemoryError(_explanation(q, k, whole_matrix)) from error


def _explanation(q: Tensor, k: Tensor, whole_matrix: bool) -> str:
    rows = q.shape[0] * q.shape[1] * q.shape[2]
    least = 2 * (q.numel() + k.numel()) * q.element_size() + 4 * rows
    parts, instead = "q, k, v, the output and lse", ""
    if whole_matrix:
        least += rows * k.shape[2] * q.element_size()
        parts, instead = "q, k, v, the scores, the output and lse", ", or another backend"
    return (
        f"flash_attend must fit its tensors on {q.device}: q {tuple(q.shape)} and "
        f"k {tuple(k.shape)} in {q.dtype} need at least {least / 2**30:.3g} GiB for {parts}, "
        f"and the gradients as much again; use a smaller batch or shorter sequences{instead}"
    )
