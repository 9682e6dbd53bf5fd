"""What a refusal must look like, and which callables of a module take input at all."""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import torch
from jaxtyping import TypeCheckError


@dataclass(frozen=True)
class Bad:
    """Values of one argument: those of a wrong type, and those of a wrong value."""

    types: tuple = ()
    values: tuple = ()


@dataclass(frozen=True)
class Said:
    """A value whose refusal describes it in words of its own."""

    value: Any
    came: str


@dataclass(frozen=True)
class Case:
    """A callable with arguments that it takes, and what it must refuse for each of them."""

    name: str
    call: Callable
    good: dict[str, Any]
    bad: dict[str, Bad]

    def attempts(self) -> Iterator[tuple[str, type[Exception], Any]]:
        for argument, bad in self.bad.items():
            yield from ((argument, TypeError, value) for value in bad.types)
            yield from ((argument, ValueError, value) for value in bad.values)


# Messages that say what came without "got": it stands beside the name, or is quoted.
WITHOUT_GOT = (
    r"\S+ \((\S+)\) must (?:divide|be at most) .+ \(\S+\)$",
    r"; ('.*') is not in '.*'$",
)


def says(message: str, value: Any, error: type[Exception], words: list[str] | None = None) -> bool:
    """Whether a message says what came, and at the place where it has to."""
    if "got " in message:
        after = message.rpartition("got ")[2]
        return any(stands_in(word, after) for word in words or descriptions(value, error))
    found = next(filter(None, (re.search(form, message) for form in WITHOUT_GOT)), None)
    if found is None:
        return False
    if words:
        return any(stands_in(word, found[0]) for word in words)
    return found[1] == repr(value)


def stands_in(word: str, text: str) -> bool:
    """Whether a text has this word whole: 5 stands in "5.0 to 7", not in "-5", "15" or "5.3"."""
    cut = r"(?<![^\W\d])" if word[0].isalpha() else r"(?<![\w.-])"
    return re.search(rf"{cut}{re.escape(word)}(?:\.0)?(?!\w|\.\d)", text) is not None


def descriptions(value: Any, error: type[Exception]) -> list[str]:
    """Ways to say what came, any of which will do; a type's name is none where it was right."""
    words = [repr(value)]
    if error is TypeError:
        return [*words, type(value).__name__, str(getattr(value, "dtype", repr(value)))]
    if isinstance(value, torch.Tensor | np.ndarray):
        return [*words, str(tuple(value.shape)), *_ends(value)]
    if isinstance(value, list | tuple | dict):
        words.append(str(len(value)))
    return words


def _ends(value: torch.Tensor | np.ndarray) -> list[str]:
    """The smallest and the largest number, or that some are none."""
    if str(value.dtype).removeprefix("torch.") not in ("float32", "float64", "int64"):
        return []
    numbers = torch.as_tensor(value)
    if not numbers.numel():
        return []
    if not numbers.isfinite().all():
        return ["NaN or infinity"]
    return [f"{end.item():.3g}" for end in (numbers.min(), numbers.max(), numbers.abs().max())]


def complaint(case: Case, argument: str, error: type[Exception], given: Any) -> str | None:
    """What is wrong with the answer to a bad argument; None if it is the refusal it should be."""
    value, words = (given.value, [given.came]) if isinstance(given, Said) else (given, None)
    try:
        case.call(**{**case.good, argument: value})
    except Exception as raised:
        message = str(raised)
        if isinstance(raised, TypeCheckError):
            return f"was accepted, and stopped by its annotations alone: {message}"
        if not isinstance(raised, error):
            return f"raised {type(raised).__name__}, not {error.__name__}: {message}"
        if not re.search(rf"\b{argument}\b", message):
            return f"does not name {argument}: {message}"
        if not says(message, value, error, words):
            return f"does not say what came: {message}"
        return None
    return "was accepted"


def takes_input(module: ModuleType) -> Iterator[str]:
    """Public functions, classes and methods of a module that have a parameter."""
    for name, thing in vars(module).items():
        if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(thing):
            yield from (f"{name}.{method}" for method in _methods(thing))
            if "__init__" in vars(thing) and _parameters(thing):
                yield name
        elif callable(thing) and _parameters(thing):
            yield name


def _methods(kind: type) -> Iterator[str]:
    for name, method in vars(kind).items():
        if not name.startswith("_") and inspect.isfunction(method) and len(_parameters(method)) > 1:
            yield name


def _parameters(thing: Callable) -> list[str]:
    try:
        return list(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        return []
