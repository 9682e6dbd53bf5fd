"""Exponentials and products of tiles: in which precision, and in whose memory."""

import math

import torch
from torch import Tensor

from course_utils.kernels.onednn import Product, faster_product, made_by

__all__ = ["LOG2_E", "TileProducts", "multiplies_bfloat16"]

LOG2_E = math.log2(math.e)
# Weights within 2 ** ±32, and longest vectors within 2 ** ±60: sums of 2 ** 24 products of a weight
# and a value stay below 2 ** 116, and what float32 loses of small ones is below 2 ** -116.
_LARGEST_SCORE, _LENGTHS = 32.0, (2.0**-60, 2.0**60)
_WORTH_ASKING = 2  # scores for each number of q, k and v that has to be looked at
_FEWEST = 2**21  # multiply-adds in a product that is worth oneDNN's ten microseconds to start


class TileProducts:
    """Products of tiles, written into memory that one tile hands to the next.

    Sums and exponentials have the ``accumulator_dtype``: float32, or float64 for float64 inputs.
    Products have the ``product_dtype``: the same, except bfloat16 for bfloat16 inputs on a device
    that multiplies it faster. Their results then come in bfloat16, as in the formula computed by
    torch, and are added up in float32. On some processors float32 is multiplied faster head by
    head: there ``one_head`` is true.

    Where the weights are bounded, one is ``exponential(score)``, a power of e or of 2;
    ``log2_base`` is the base's logarithm.

    Every score is to be multiplied by ``factor``. Queries are far fewer than scores, so they are
    multiplied, ``before`` the product; but bfloat16 queries would be rounded a second time, so
    then the scores, in float32, are multiplied, ``after`` it. The other of the two numbers is 1.
    """

    def __init__(self, like: Tensor, factor: float) -> None:
        self.accumulator_dtype = torch.float64 if like.dtype == torch.float64 else torch.float32
        self.product_dtype = like.dtype if multiplies_bfloat16(like) else self.accumulator_dtype
        self.before, self.after = (
            (factor, 1.0) if self.product_dtype == self.accumulator_dtype else (1.0, factor)
        )
        # torch's exp is MKL's, which is made for Intel's processors: there it takes two thirds of
        # the time of exp2, by AMD four times as long, and with -inf many times as long on both.
        by_mkl = made_by("Intel") and torch.backends.mkl.is_available()
        self.exponential, self.log2_base = (Tensor.exp_, LOG2_E) if by_mkl else (Tensor.exp2_, 1.0)
        self._one_head = faster_product(like.device, self.product_dtype)
        self._like = like
        self._memory: dict[str, Tensor] = {}

    def load(self, tile: Tensor) -> Tensor:
        """Return a tile in the dtype of products."""
        return tile if tile.dtype == self.product_dtype else tile.to(self.product_dtype)

    def gather(self, tile: Tensor, name: str) -> Tensor:
        """Return a copy of a tile without gaps, in the dtype of products."""
        return self._reused(name, tile.shape, self.product_dtype).copy_(tile)

    def product(self, a: Tensor, b: Tensor, name: str, plus: Tensor | None = None) -> Tensor:
        """Return ``a @ b + plus`` in the accumulator dtype.

        The next product in the same memory may overwrite it.

        ``plus`` (heads, 1, columns) has one number for each column, in the accumulator dtype.
        """
        if (one_head := self._for_one_head(a, b)) is not None:
            return one_head(a[0], b[0], None if plus is None else plus.flatten())[None]
        shape = (*a.shape[:2], b.shape[2])
        result = self._reused(name, shape, self.accumulator_dtype)
        if self.product_dtype == self.accumulator_dtype:
            torch.bmm(a, b, out=result)
        else:
            result.copy_(torch.bmm(a, b, out=self._reused("rounded", shape, self.product_dtype)))
        return result if plus is None else result.add_(plus)

    def scores(self, a: Tensor, b: Tensor, plus: Tensor | None = None) -> Tensor:
        """Return ``plus`` and the scores ``a @ b``, where a or b is queries times ``before``."""
        if self.after == 1:
            return self.product(a, b, "scores", plus)
        scores = self.product(a, b, "scores").mul_(self.after)
        return scores if plus is None else scores.add_(plus)

    def add_product(self, total: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Add ``a @ b`` to a total in the accumulator dtype, in place."""
        if (one_head := self._for_one_head(a, b)) is not None:
            return total.add_(one_head(a[0], b[0], None))
        if self.product_dtype == self.accumulator_dtype and total.is_contiguous():
            return total.baddbmm_(a, b)
        # Into a slice torch would multiply head by head, which is slower.
        return total.add_(torch.bmm(a, b, out=self._reused("sum", total.shape, self.product_dtype)))

    def weights_are_bounded(self, q: Tensor, k: Tensor, v: Tensor) -> bool:
        """Say whether ``2 ** score`` is a number to compute with, so that no maximum is wanted.

        No score exceeds ``factor * length(query) * length(key)`` (Cauchy-Schwarz). To look at all
        vectors takes time and, in 16 bits, memory: few scores are not worth it. The answer is no
        as well with NaN or infinity in an input, on a device that would have to be waited for,
        and where there is no number yet to look at, as in ``torch.export``.
        """
        scores = q.shape[:3].numel() * k.shape[2]
        few = _WORTH_ASKING * (q.numel() + k.numel() + v.numel()) >= scores
        if few or q.dtype != self.accumulator_dtype or q.device.type != "cpu":
            return False
        try:
            lengths = [float(torch.linalg.vector_norm(x, dim=-1).amax()) for x in (q, k, v)]
        except RuntimeError:  # FakeTensor's, among others
            return False
        in_range = all(_LENGTHS[0] <= length <= _LENGTHS[1] for length in lengths)
        return in_range and abs(self.before) * lengths[0] * lengths[1] <= _LARGEST_SCORE

    @property
    def one_head(self) -> bool:
        """Whether large tiles of one head are multiplied faster than tiles of several."""
        return self._one_head is not None

    def _for_one_head(self, a: Tensor, b: Tensor) -> Product | None:
        """Return the product that is faster for matrices of one head, if these are large enough."""
        large = a.shape[0] == 1 and a.numel() * b.shape[2] >= _FEWEST
        return self._one_head if large else None

    def _reused(self, name: str, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """Return memory for a tile: fresh memory would cost a page fault for each of its pages."""
        size = math.prod(shape)
        memory = self._memory.get(name)
        if memory is None or memory.numel() < size:
            memory = self._memory[name] = self._like.new_empty(size, dtype=dtype)
        return memory[:size].view(shape)


def multiplies_bfloat16(like: Tensor) -> bool:
    """Say whether this is bfloat16 on a device that multiplies it faster than float32.

    >>> multiplies_bfloat16(torch.zeros(3))
    False
    """
    if like.dtype != torch.bfloat16 or like.device.type == "mps":
        return False
    return like.device.type != "cpu" or _cpu_multiplies_bfloat16()


def _cpu_multiplies_bfloat16() -> bool:
    """Say whether the processor multiplies it faster than float32; that it can is not enough.

    AMX is made for it; AVX-512 by AMD takes half the time, by Intel twice the time (measured);
    without instructions of its own it is emulated.
    """
    can = getattr(torch.cpu, "get_capabilities", dict)()  # absent in older torch
    fast = can.get("amx_bf16", False) or made_by("AMD", "avx512_bf16")
    return bool(fast and torch.backends.mkldnn.is_available() and torch.backends.mkldnn.enabled)
