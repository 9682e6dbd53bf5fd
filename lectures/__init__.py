"""The course: its lectures in their order, and every explorer by name. Loads no lecture."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from types import ModuleType
from typing import Any

__all__ = ["COURSE", "EXPLORERS", "Lecture", "find_lecture"]


@dataclass(frozen=True)
class Lecture:
    """A lecture: where it stands, what it is called, what it asks, how long it takes.

    Attributes:
        number: its place in the course, two digits and perhaps a letter: ``06b`` follows ``06``.
        slug: how its notebook and its folder are called, after the number.
        title: what it is called.
        question: what it answers.
        minutes: reading and running, without exercises and quiz.
        uses: what it uses beside the required packages, and what it does without.
    """

    number: str
    slug: str
    title: str
    question: str
    minutes: int
    uses: tuple[tuple[str, str], ...] = ()

    @property
    def stem(self) -> str:
        """The name of its notebook, without ``.ipynb``."""
        return f"{self.number}_{self.slug}"

    @property
    def package(self) -> str:
        """The package of its own code."""
        return f"lectures.l{self.stem}"

    def module(self, name: str) -> ModuleType | None:
        """Import ``explorers``, ``exercises`` … of this lecture; None if it has no such module."""
        full = f"{self.package}.{name}"
        return importlib.import_module(full) if find_spec(full) else None


_MINILM = (("MiniLM", "uses random weights"),)
_KERNELS = (("Triton", "shows its kernels unrun"), ("GPU", "times the CPU"))
COURSE = (
    Lecture(
        "00",
        "start_here",
        "Start here",
        "Do you remember, or do you look back?",
        35,
        _MINILM,
    ),
    Lecture("01", "scaling", "Scaling", "Why divide by √d_k?", 35, _MINILM),
    Lecture("02", "softmax", "Softmax", "What does a saturated softmax cost?", 32, _MINILM),
    Lecture("03", "heads", "Heads", "Why eight heads and not one?", 40, _MINILM),
    Lecture(
        "04",
        "positions",
        "Positions",
        "How does attention know what comes first?",
        40,
        _MINILM,
    ),
    Lecture(
        "05",
        "causal_mask",
        "The causal mask",
        "How can one pass train every position at once?",
        35,
        _MINILM,
    ),
    Lecture("06", "gpt2_block", "A GPT that writes", "What is inside a GPT that writes?", 40),
    Lecture("06b", "learning", "How a GPT learns", "How does a GPT learn?", 46),
    Lecture("07", "dynamic_pruning", "Dynamic pruning", "What need not be computed?", 29),
    Lecture(
        "07b",
        "sharing",
        "Shared, thinned, skipped",
        "What can be shared, thinned, skipped?",
        26,
    ),
    Lecture(
        "08",
        "flash_attention_tiling",
        "FlashAttention",
        "Why is memory, not arithmetic, the limit?",
        55,
        _KERNELS,
    ),
    Lecture("09", "since_gpt2", "Since GPT-2", "What has changed since GPT-2?", 45),
)


def find_lecture(name: str) -> Lecture:
    """Return the lecture that a number or a name means: ``0``, ``00``, ``6b``, ``00_start_here``.

    Raises:
        LookupError: there is none; it names those there are.
    """
    for lecture in COURSE:
        if name == lecture.stem or lecture.number in (name, f"0{name}"):
            return lecture
    known = ", ".join(lecture.stem for lecture in COURSE)
    raise LookupError(f"There is no lecture {name!r}; there are: {known}.")


class _Explorers(Mapping[str, Callable[[], Any]]):
    """Every explorer's factory by name; a lecture is loaded when its explorers are asked for."""

    @cached_property
    def _factories(self) -> dict[str, Callable[[], Any]]:
        modules = [module for lecture in COURSE if (module := lecture.module("explorers"))]
        return {
            name: factory
            for module in modules
            for name, factory in vars(module).items()
            if name.startswith("explore_")
        }

    def __getitem__(self, name: str) -> Callable[[], Any]:
        return self._factories[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._factories)

    def __len__(self) -> int:
        return len(self._factories)


EXPLORERS: Mapping[str, Callable[[], Any]] = _Explorers()
