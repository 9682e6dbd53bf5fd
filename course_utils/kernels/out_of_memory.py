"""Say what did not fit when a device's memory runs out."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

__all__ = ["out_of_memory_explained"]

# How torch's errors begin on a CPU, where they have no type of their own.
_CPU = "DefaultCPUAllocator"


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
        if not isinstance(error, torch.OutOfMemoryError) and _CPU not in str(error):
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
