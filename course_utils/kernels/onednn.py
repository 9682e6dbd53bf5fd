"""float32 products by oneDNN, where torch's own use half the vector width.

torch multiplies float32 matrices with MKL, which uses half the vector width of AMD's processors
with AVX-512. oneDNN, which torch has as well, uses all of it. torch calls it for float32 only from
code that its compiler wrote, through an operator that is not public: so that operator is tried
once, and not used where it is missing or does something else.
"""

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

__all__ = ["Product", "faster_product", "made_by"]

# a (M, K), b (K, N), plus (N,) or None: a @ b + plus (M, N), in new memory.
Product = Callable[[Tensor, Tensor, Tensor | None], Tensor]


def faster_product(device: torch.device, dtype: torch.dtype) -> Product | None:
    """Return oneDNN's product if it is faster than torch's there, for matrices of that dtype.

    >>> faster_product(torch.device("cpu"), torch.float64) is None
    True
    """
    if device.type != "cpu" or dtype != torch.float32 or not torch.backends.mkldnn.enabled:
        return None
    return _tried_product() if _mkl_uses_half_of_the_processor() else None


def made_by(maker: str, instructions: str | None = None) -> bool:
    """Say whether the processor is by AMD or Intel and has these instructions, as torch names them.

    >>> made_by("AMD", "no such instructions")
    False
    """
    can = getattr(torch.cpu, "get_capabilities", dict)()  # absent in older torch
    named = str(can.get("cpu_name", "")).startswith(maker)
    return named and (instructions is None or bool(can.get(instructions)))


def _mkl_uses_half_of_the_processor() -> bool:
    return made_by("AMD", "avx512_f") and torch.backends.mkl.is_available()


@cache
def _tried_product() -> Product | None:
    """Return oneDNN's product, if this torch has it and it multiplies."""
    here = {"dtype": torch.float32, "device": "cpu"}  # whatever the caller's defaults are
    a, b = torch.arange(6.0, **here).view(2, 3), torch.arange(12.0, **here).view(3, 4)
    plus = torch.arange(4.0, **here)
    try:
        if not torch.equal(_product(a, b, plus), a @ b + plus):
            return None
    except (AttributeError, RuntimeError, TypeError):
        return None
    _keep_freed_memory()
    return _product


def _product(a: Tensor, b: Tensor, plus: Tensor | None) -> Tensor:
    a, b = _without_gaps(a), _without_gaps(b)
    if a.stride(1) != 1 and plus is None:
        # It would copy a transposed tile; as the second operand it reads it as it lies.
        return _linear(b.mT, a, None).mT
    return _linear(a, b.mT, plus)


def _without_gaps(x: Tensor) -> Tensor:
    """Return x, or a copy of it in the order of its memory, without gaps.

    With an operand with gaps, such as one head of (B, T, H, D), oneDNN takes a thousand times as
    long; it refuses one whose rows overlap. A copy in another order would jump at each number.
    """
    if x.is_contiguous() or x.mT.is_contiguous():
        return x
    return x.contiguous() if x.stride(1) == 1 else x.mT.contiguous().mT


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


def _keep_freed_memory() -> None:
    """Let the next product have the memory of the last, without page faults.

    The products come in new memory. On Linux the C library returns freed blocks to the system above
    a size that follows the largest block freed so far. With small blocks before it, every tile
    would fault on each of its pages anew: up to a third of the time. This block is larger than what
    a product takes, and freed untouched, so it costs nothing itself.
    """
    torch.empty(2**23, dtype=torch.uint8, device="cpu")
