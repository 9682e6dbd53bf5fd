"""How much memory a computation takes at its peak, counted tensor by tensor, and how that grows.

Counted, not sampled: every tensor that torch makes while a function runs, from the call that makes
it until its last reference is gone. The same code gives the same number on every machine. What an
operator allocates and frees within itself is not seen, nor are tensors that were there before.
"""

import math
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils.checks import check_callable, check_positive, check_sequence
from course_utils.threads import one_thread

__all__ = ["growth_exponent", "peak_bytes"]


def peak_bytes(function: Callable[[], object]) -> int:
    """Run a function without arguments; return the most bytes its new tensors held at one time.

    Tensors made before the call do not count, what the function returns does. Views and results
    written in place take nothing.

    Args:
        function: what to run, once. Its backward pass counts if it calls it.

    Raises:
        TypeError: if it cannot be called.

    >>> def one_after_the_other():
    ...     for _ in range(3):
    ...         torch.zeros(1000)
    >>> peak_bytes(one_after_the_other), peak_bytes(lambda: [torch.zeros(1000) for _ in range(3)])
    (4000, 12000)
    """
    check_callable("function", function)
    # One thread counts the same, and spares small tiles the waiting for one another.
    with one_thread(), _Allocations() as count:
        function()
    return count.peak


def growth_exponent(sizes: Iterable[float], values: Iterable[float]) -> float:
    """Return the slope of a straight line through log(size), log(value), by least squares.

    2 means: twice the size, four times the value.

    Args:
        sizes: positive numbers, two different ones at least.
        values: as many positive numbers.

    Raises:
        TypeError, ValueError: if they are not sequences of positive finite numbers of one length,
            or the sizes are all one.

    >>> round(growth_exponent([2, 4, 8], [12, 48, 192]), 6)
    2.0
    """
    x, y = _logarithms("sizes", sizes), _logarithms("values", values)
    if len(x) != len(y):
        raise ValueError(f"values must be one for each of the {len(x)} sizes, got {len(y)}")
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((each - mean_x) ** 2 for each in x)
    if spread == 0:
        raise ValueError(f"sizes must be two different ones at least, got {sizes!r}")
    together = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return together / spread


class _Allocations(TorchDispatchMode):
    """Sees every operator that torch runs, and adds up the storages that are new in its results."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # To be skipped by torch's compiler would import it: seconds, for what is never compiled.
        return False

    def __init__(self) -> None:
        super().__init__()
        self.held = self.peak = 0
        self._known: weakref.WeakSet[torch.UntypedStorage] = weakref.WeakSet()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        # What goes in is either counted already or older than the function: not to be counted.
        self._known.update(tensor.untyped_storage() for tensor in _tensors((args, kwargs)))
        result = func(*args, **kwargs)
        for tensor in _tensors(result):
            storage = tensor.untyped_storage()
            if storage not in self._known:
                self._known.add(storage)
                self._hold(storage)
        return result

    def _hold(self, storage: torch.UntypedStorage) -> None:
        size = storage.nbytes()
        self.held += size
        self.peak = max(self.peak, self.held)
        weakref.finalize(storage, self._release, size)

    def _release(self, size: int) -> None:
        self.held -= size


def _tensors(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        yield from _tensors(tuple(value.values()))
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _tensors(each)


def _logarithms(name: str, numbers: Iterable[float]) -> list[float]:
    __tracebackhide__ = True
    logarithms = []
    for number in check_sequence(name, numbers):
        logarithms.append(math.log(check_positive(name, number)))
    return logarithms
