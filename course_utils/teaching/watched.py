"""An answer judged by what it does as well as by what it returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.overrides import TorchFunctionMode


class Watched:
    """A function that is looked at after each call: ``look(value, *inputs)`` is its result.

    The stub's results, None and ``...``, are passed on, and so is the function's code: an
    untouched stub is still known as one.

    >>> def append_one(numbers):
    ...     numbers.append(1)
    ...     return len(numbers)
    >>> Watched(append_one, lambda value, numbers: (value, numbers))([5, 7])
    (3, [5, 7, 1])
    """

    def __init__(self, answer: Callable[..., Any], look: Callable[..., Any]) -> None:
        self.answer, self.look = answer, look
        if hasattr(answer, "__code__"):
            self.__code__ = answer.__code__

    def __call__(self, *inputs: Any) -> Any:
        """Call the function, then look at its value and at what became of the inputs."""
        value = self.run(*inputs)
        return value if value is None or value is ... else self.look(value, *inputs)

    def run(self, *inputs: Any) -> Any:
        """Call the function; to be overridden by whoever measures the call itself."""
        return self.answer(*inputs)


def watched(answer: Any, look: Callable[..., Any]) -> Any:
    """``answer`` with someone to watch it; what is no function stays as it is.

    >>> watched(..., len), watched(7, len)
    (Ellipsis, 7)
    >>> watched(abs, lambda value, x: (value, x))(-3)
    (3, -3)
    """
    return Watched(answer, look) if callable(answer) else answer


class CallsWatched(Watched):
    """Beside the value: 1 if a function of torch of one of these names was called, else 0.

    >>> import torch
    >>> CallsWatched(lambda x: x.exp().sum(), ("softmax",))(torch.zeros(3))
    (tensor(3.), 0)
    >>> CallsWatched(lambda x: torch.nn.functional.softmax(x, dim=0).sum(), ("softmax",))(
    ...     torch.zeros(3)
    ... )
    (tensor(1.), 1)
    """

    def __init__(self, answer: Callable[..., Any], names: tuple[str, ...]) -> None:
        super().__init__(answer, lambda value, *inputs: (value, int(self.calls.found)))
        self.names = names

    def run(self, *inputs: Any) -> Any:
        """Call the function, and note what it calls."""
        self.calls = _Calls(self.names)
        with self.calls:
            return self.answer(*inputs)


class _Calls(TorchFunctionMode):
    """Notes whether a function of one of these names was called."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__()
        self.names, self.found = names, False

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.found |= getattr(func, "__name__", "") in self.names
        return func(*args, **(kwargs or {}))
