"""The words of Triton that lecture 08 writes its kernels with, in NumPy.

Triton is made for Linux. Elsewhere the same source runs on this: a launch is a loop over programs,
a pointer a tensor's memory and places in it. It tells nothing about speed. It says what a GPU does
not: that a place does not exist, that two programs race for one, that dtypes do not fit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from types import FunctionType
from typing import Any

import numpy as np
from numpy import maximum, minimum
from torch import Tensor, from_numpy

__all__ = [
    "PlacesError", "arange", "cdiv", "constexpr", "dot", "exp", "exp2", "float16", "float32",
    "full", "jit", "load", "max", "maximum", "minimum", "program_id", "store", "sum",
    "where", "zeros",
]  # fmt: skip

constexpr = Any
float16, float32 = np.float16, np.float32
_running: tuple[int, ...] = (0,)  # the number of the program that runs, along each axis


class Block(np.ndarray):
    """The numbers of a block."""

    def to(self, dtype: Any) -> Block:
        """The same numbers in another dtype."""
        return _block(self.astype(dtype))


def _block(values: Any) -> Block:
    return np.asarray(values).view(Block)


class PlacesError(Exception):
    """Places that a program must not use, which a GPU would not notice."""


class Memory:
    """A tensor's memory, and which program has written each place of it."""

    def __init__(self, tensor: Tensor) -> None:
        self.numbers = tensor.view(-1).cpu().numpy()
        self.writers: dict[int, tuple[int, ...]] = {}

    def check(self, places: np.ndarray) -> None:
        """A GPU takes what happens to lie there, or overwrites it."""
        size = self.numbers.size
        if places.size and not 0 <= places.min() <= places.max() < size:
            raise PlacesError(
                f"places {places.min()} to {places.max()} of a tensor that has 0 to {size - 1}: "
                "`mask` says which of a block exist"
            )
        for place in self.writers.keys() & {*places.tolist()} if self.writers else ():
            if self.writers[place] != _running:
                one, other = (
                    ", ".join(map(str, number)) for number in (self.writers[place], _running)
                )
                raise PlacesError(
                    f"programs {one} and {other} both use place {place}, and one of them writes "
                    "it: on a GPU nobody knows which is first"
                )

    def write(self, places: np.ndarray, values: np.ndarray) -> None:
        self.numbers[places] = values
        self.writers.update(dict.fromkeys(places.tolist(), _running))


@dataclass(frozen=True)
class Pointer:
    """Places in a tensor's memory."""

    memory: Memory
    places: Any = 0

    def __add__(self, offset: Any) -> Pointer:
        return Pointer(self.memory, self.places + offset)


class Kernel:
    """``kernel[(programs,)](...)`` runs it once for each program; another kernel may call it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.fn, self.__name__ = function, getattr(function, "__name__", "")

    def __call__(self, *arguments: Any, **sizes: Any) -> Any:
        return self.fn(*arguments, **sizes)

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        def launch(*arguments: Any, **sizes: Any) -> None:
            given = [_as_given(argument) for argument in arguments]
            for program in product(*map(range, grid)):
                with _runs(program):
                    self.fn(*given, **sizes)
            for argument, pointer in zip(arguments, given, strict=True):
                if isinstance(argument, Tensor) and argument.is_cuda:  # it worked on a copy
                    argument.view(-1).copy_(from_numpy(pointer.memory.numbers))

        return launch


jit = Kernel


def _as_given(argument: Any) -> Any:
    """An argument as a compiled kernel has it: a number that is not whole is in float32."""
    if isinstance(argument, Tensor):
        return Pointer(Memory(argument))
    return float32(argument) if isinstance(argument, float) else argument


@contextmanager
def _runs(program: tuple[int, ...]) -> Iterator[None]:
    global _running
    _running = program
    try:
        yield
    finally:
        _running = (0,)


def stand_in(kernel: Any) -> Kernel:
    """Return a kernel that Triton made, with the kernels that it calls, as one that runs here."""
    function = kernel.fn
    names = {name: _instead(value) for name, value in _used(function).items()}
    copy = FunctionType(
        function.__code__,
        {**function.__globals__, **names},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    return Kernel(copy)


def _used(function: FunctionType) -> Mapping[str, Any]:
    names = function.__globals__
    return {name: names[name] for name in function.__code__.co_names if name in names}


def _instead(value: Any) -> Any:
    if getattr(value, "__name__", "") in ("triton", "triton.language"):
        return sys.modules[__name__]
    return stand_in(value) if hasattr(value, "fn") and hasattr(value, "__getitem__") else value


def cdiv(x: int, y: int) -> int:
    """Return x / y, rounded up."""
    return -(-x // y)


def program_id(axis: int) -> int:
    """Return the number of the program that runs, along an axis of the grid."""
    return _running[axis]


def arange(start: int, end: int) -> Block:
    """Return the whole numbers from start on, end not among them."""
    return _block(np.arange(start, end))


def full(shape: tuple[int, ...], value: float, dtype: Any) -> Block:
    """Return a block that is filled with a value."""
    return _block(np.full(shape, value, dtype))


def zeros(shape: tuple[int, ...], dtype: Any) -> Block:
    """Return a block of zeros."""
    return full(shape, 0, dtype)


def where(condition: Any, one: Any, other: Any) -> Block:
    """Return one where the condition holds, and other elsewhere."""
    return _block(np.where(condition, one, other))


def load(pointer: Pointer, mask: Any = True, other: float | None = None) -> Block:
    """Return the numbers at the pointer's places, and `other` where the mask is False.

    Without `other` nobody knows what is there: here it is NaN.
    """
    places, mask = np.broadcast_arrays(pointer.places, mask)
    pointer.memory.check(places[mask])
    numbers = pointer.memory.numbers
    instead = numbers.dtype.type(np.nan if other is None else other)
    return where(mask, numbers[np.where(mask, places, 0)], instead)


def store(pointer: Pointer, values: Any, mask: Any = True) -> None:
    """Write the values to the pointer's places, but for those where the mask is False."""
    places, values, mask = np.broadcast_arrays(pointer.places, values, mask)
    pointer.memory.check(places[mask])
    pointer.memory.write(places[mask], values[mask])


def exp(values: Any) -> Any:
    """Return e to the power of each number."""
    return np.exp(_wide(values, "exp"))


def exp2(values: Any) -> Any:
    """Return 2 to the power of each number."""
    return np.exp2(_wide(values, "exp2"))


def _wide(values: Any, name: str) -> Any:
    if getattr(values, "dtype", None) == float16:
        raise TypeError(f"`{name}` needs float32, and got float16")
    return values


def dot(a: Block, b: Block, acc: Any = None, *, input_precision: str = "") -> Block:
    """Return acc + a @ b; its sums are in float32."""
    if a.dtype != b.dtype:
        raise TypeError(f"`dot` needs two factors of one dtype, and got {a.dtype} and {b.dtype}")
    product_ = a.astype(float32) @ b.astype(float32)
    return _block(product_ if acc is None else acc + product_)


def max(values: np.ndarray, axis: int) -> Any:
    """Return the largest along an axis."""
    return values.max(axis=axis)


def sum(values: np.ndarray, axis: int) -> Any:
    """Return the sum along an axis."""
    return values.sum(axis=axis)
