"""A kernel as a function of q, k and v: launched on the stand-in for Triton, or on Triton."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from course_utils.teaching.outcomes import Outcome, UnfitError, is_untouched
from lectures.l08_flash_attention_tiling import numpy_triton
from lectures.l08_flash_attention_tiling.exercises.kernel_by_tiles import (
    BLOCK,
    counted_rows,
    right,
)

TRITONS_BLOCK = 16  # its `dot` takes no smaller one
NOT_STORED = 4096.0  # exact in 16 bits; no output is as large


def launched(answer: Any) -> Callable[..., Any]:
    """A kernel as a function of q, k and v that returns what it stored, on the stand-in."""
    if not hasattr(answer, "fn"):
        return answer if _is_ours(answer) else _no_kernel(answer)
    if is_untouched(answer.fn, Outcome()):
        return lambda *inputs: ...
    kernel = numpy_triton.stand_in(answer)

    def run(q, k, v):
        with np.errstate(all="ignore"):  # NaN and infinity are diagnosed, not warned about
            return _stored(kernel, q, k, v, BLOCK)

    return run


def _stored(kernel: Any, q, k, v, block: int):
    N, D = q.shape
    out = torch.full_like(q, NOT_STORED)
    kernel[(-(-N // block),)](q, k, v, out, N, D**-0.5, D, block)
    missing = out == NOT_STORED
    if missing.all():
        raise UnfitError(
            "nothing was stored in `out`. A kernel returns nothing: it writes its result with "
            "`tl.store(out_ptr + …)`"
        )
    return out.masked_fill(missing, torch.nan)[: counted_rows(v)]


def _is_ours(answer: Any) -> bool:
    """Whether it is the right answer or a mistake of the exercise: they are no kernels."""
    return (getattr(answer, "__module__", None) or "").startswith("lectures.")


def _no_kernel(answer: Any) -> Callable[..., Any]:
    """A plain function; what looks like an answer is told that a kernel is asked for."""
    parameters = len(inspect.signature(answer).parameters) if callable(answer) else 0

    def run(q, k, v):
        value = None if parameters > 3 else answer(q, k, v)
        if parameters > 3 or (isinstance(value, torch.Tensor) and value.shape == q.shape):
            raise UnfitError(
                "the check asks for a kernel: it has the eight parameters of the stub, and it "
                "needs `@triton.jit` above it"
            )
        return value

    return run


def on_triton(answer: Any) -> Callable[..., Any]:
    """The same in Triton: on a GPU, or in its interpreter. Where neither is there, it passes."""
    if not hasattr(answer, "fn"):
        return answer
    on_gpu = torch.cuda.is_available()
    if isinstance(answer, numpy_triton.Kernel):
        return right
    if not on_gpu and type(answer).__name__ != "InterpretedFunction":
        return right

    def run(*inputs):
        q, k, v = (x.cuda() if on_gpu else x for x in inputs)
        try:
            return _stored(answer, q, k, v, TRITONS_BLOCK).cpu()
        except Exception as error:
            raise RuntimeError(str(error.__cause__ or error).strip().splitlines()[-1]) from None

    return run
