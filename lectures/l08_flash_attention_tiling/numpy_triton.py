"""The words of Triton that lecture 08 writes its first kernels with, in NumPy.

Triton is made for Linux. Elsewhere the same source runs on this: a launch is a loop over programs,
a pointer an array and places in it. It tells nothing about speed.

>>> import torch
>>> @jit
... def double(x_ptr, n, BLOCK: constexpr):
...     at = program_id(0) * BLOCK + arange(0, BLOCK)
...     store(x_ptr + at, 2 * load(x_ptr + at, mask=at < n), mask=at < n)
>>> x = torch.arange(5.0)
>>> double[(2,)](x, 5, BLOCK=4)
>>> x.tolist()
[0.0, 2.0, 4.0, 6.0, 8.0]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy import arange, exp, exp2, full, maximum, minimum, where, zeros
from torch import Tensor, from_numpy

__all__ = [
    "arange", "cdiv", "constexpr", "dot", "exp", "exp2", "float32", "full", "jit", "load", "max",
    "maximum", "minimum", "program_id", "store", "sum", "where", "zeros",
]  # fmt: skip

constexpr = Any
float32 = np.float32
_running = [0]  # the number of the program that runs


class Pointer(NamedTuple):
    """Places in a tensor's memory."""

    memory: np.ndarray
    places: Any = 0

    def __add__(self, offset: Any) -> Pointer:
        return Pointer(self.memory, self.places + offset)


class Kernel:
    """``kernel[(programs,)](...)`` runs it once for each program; another kernel may call it."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.function = function

    def __call__(self, *arguments: Any, **sizes: Any) -> Any:
        return self.function(*arguments, **sizes)

    def __getitem__(self, grid: tuple[int]) -> Callable[..., None]:
        def launch(*arguments: Any, **sizes: Any) -> None:
            memories = {
                place: argument.view(-1).cpu().numpy()
                for place, argument in enumerate(arguments)
                if isinstance(argument, Tensor)
            }
            given = [
                Pointer(memories[place]) if place in memories else argument
                for place, argument in enumerate(arguments)
            ]
            for _running[0] in range(grid[0]):
                self.function(*given, **sizes)
            for place, memory in memories.items():
                if arguments[place].is_cuda:  # then the programs worked on a copy
                    arguments[place].view(-1).copy_(from_numpy(memory))

        return launch


jit = Kernel


def cdiv(x: int, y: int) -> int:
    """Return x / y, rounded up."""
    return -(-x // y)


def program_id(axis: int) -> int:
    """Return the number of the program that runs; there is one axis, 0."""
    return _running[0]


def load(pointer: Pointer, mask: Any = True, other: float = 0.0) -> np.ndarray:
    """Return the numbers at the pointer's places, and `other` where the mask is False."""
    places, mask = np.broadcast_arrays(pointer.places, mask)
    _check_places(pointer, places[mask])
    return where(mask, pointer.memory[where(mask, places, 0)], float32(other))


def store(pointer: Pointer, values: Any, mask: Any = True) -> None:
    """Write the values to the pointer's places, but for those where the mask is False."""
    places, values, mask = np.broadcast_arrays(pointer.places, values, mask)
    _check_places(pointer, places[mask])
    pointer.memory[places[mask]] = values[mask]


def _check_places(pointer: Pointer, places: np.ndarray) -> None:
    """A GPU would not notice: it would take what happens to lie there, or overwrite it."""
    size = pointer.memory.size
    if places.size and not 0 <= places.min() <= places.max() < size:
        raise IndexError(
            f"places {places.min()} to {places.max()} of a tensor that has 0 to {size - 1}: `mask` "
            "says which of a block exist"
        )


def dot(a: np.ndarray, b: np.ndarray, acc: Any = 0.0, *, input_precision: str = "") -> np.ndarray:
    """Return acc + a @ b."""
    return acc + a @ b


def max(values: np.ndarray, axis: int) -> Any:
    """Return the largest along an axis."""
    return values.max(axis=axis)


def sum(values: np.ndarray, axis: int) -> Any:
    """Return the sum along an axis."""
    return values.sum(axis=axis)
