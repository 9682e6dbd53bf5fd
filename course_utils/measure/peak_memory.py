"""The peak memory of a computation, counted tensor by tensor, and how it grows.

It counts every tensor that torch makes while a function runs, until its last reference is gone. The
same code gives the same number on every machine. Memory that an operator allocates and frees
internally is not counted, nor are tensors that existed before.
"""

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils.threads import one_thread

__all__ = ["peak_bytes", "peak_numbers"]


def peak_bytes(function: Callable[[], object]) -> int:
    """Run a function without arguments, and return the peak memory of its new tensors in bytes.

    What the function returns counts. Views and results written in place need no memory.

    Args:
        function: what to run, once. Its backward pass counts if it calls it.

    >>> def one_after_the_other():
    ...     for _ in range(3):
    ...         torch.zeros(1000)
    >>> peak_bytes(one_after_the_other), peak_bytes(lambda: [torch.zeros(1000) for _ in range(3)])
    (4000, 12000)
    """
    return _peak(function, lambda tensor: tensor.untyped_storage().nbytes())


def peak_numbers(function: Callable[[], object]) -> int:
    """The same peak in numbers, however many bytes each of them has.

    >>> peak_numbers(lambda: torch.zeros(1000)), peak_numbers(lambda: torch.zeros(1000).double())
    (1000, 2000)
    >>> peak_bytes(lambda: torch.zeros(1000).double())
    12000
    """
    return _peak(
        function, lambda tensor: tensor.untyped_storage().nbytes() // tensor.element_size()
    )


def _peak(function: Callable[[], object], size: Callable[[Tensor], int]) -> int:
    # One thread counts the same, and is faster with small tiles.
    with one_thread(), _Allocations(size) as count:
        function()
    return count.peak


class _Allocations(TorchDispatchMode):
    """Adds up the sizes of the new storages in the results of every operator that torch runs."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Otherwise torch imports its compiler, which takes seconds.
        return False

    def __init__(self, size: Callable[[Tensor], int]) -> None:
        super().__init__()
        self.size = size
        self.held = self.peak = 0
        self._known: weakref.WeakSet[torch.UntypedStorage] = weakref.WeakSet()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        # Inputs are already counted, or older than the function.
        self._known.update(tensor.untyped_storage() for tensor in _tensors((args, kwargs)))
        result = func(*args, **kwargs)
        for tensor in _tensors(result):
            storage = tensor.untyped_storage()
            if storage not in self._known:
                self._known.add(storage)
                self._hold(storage, self.size(tensor))
        return result

    def _hold(self, storage: torch.UntypedStorage, size: int) -> None:
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
