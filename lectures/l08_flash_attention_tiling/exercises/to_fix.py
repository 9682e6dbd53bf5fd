"""Exercises whose stub is code that runs: unchanged, it counts as not started."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.verdict import Verdict


@dataclass(frozen=True)
class ToFix(Exercise):
    """An exercise that begins with a cell to fix.

    Attributes:
        as_given: the cell as the lecture publishes it. Kept as text, since what it compiles to
            depends on what else its file imports.
        untouched: what is said of it.
    """

    as_given: str = ""
    untouched: str = ""

    def judge(self, answer: Any) -> Verdict:
        """Judge ``answer``; the cell as it was published is not started."""
        if self._is_as_given(answer):
            return Verdict(False, False, self.untouched, self.heading)
        return super().judge(answer)

    def _is_as_given(self, answer: Any) -> bool:
        """Whether this compiles to what the published cell does; comments and spaces are free."""
        code = getattr(answer, "__code__", None)
        return code is not None and any(_alike(code, given) for given in self._compiled())

    def _compiled(self) -> Iterator[CodeType]:
        """The cell's function as Python compiles it, and as a notebook does, without the rest."""
        cell = ast.parse(self.as_given)
        for part in (cell, ast.Module(cell.body[-1:], type_ignores=[])):
            module = compile(part, "<exercise>", "exec", dont_inherit=True)
            yield next(constant for constant in module.co_consts if inspect.iscode(constant))


def _alike(one: CodeType, other: CodeType) -> bool:
    names = ("co_code", "co_consts", "co_names", "co_varnames")
    return all(getattr(one, name) == getattr(other, name) for name in names)
