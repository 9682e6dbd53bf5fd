"""A reader who runs cells in a folder of copies, and three parts for them to build."""

import ast
import linecache
from itertools import count
from types import SimpleNamespace

import torch

from course_utils.teaching import Exercise, Mistake
from tools.editions.my_course import stamped
from tools.editions.reader import reader_text

NUMBERS = count()
X = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]])


def _exercise(name, function, reference, watch=lambda answer: answer):
    halved = Mistake("halved", lambda *inputs: reference(*inputs) / 2, "Half of what is right.")
    return Exercise(
        title=f"Build {name}", difficulty=1, minutes=5, function=function, kept_as=name,
        reference=reference, probes=({"x": X},), mistakes=[halved], watch=watch, praise="Right.",
    )  # fmt: skip


def _called(answer):
    """What a class computes, with its single argument; a function as it is."""
    return answer(3) if isinstance(answer, type) else answer


SHARES = _exercise("shares", "shares", lambda x: x.softmax(-1))
MIX = _exercise("mix", "mix_rows", lambda x: x.softmax(-1) @ x.T)
TWICE = _exercise("Twice", "Twice", lambda x: 2 * x, watch=_called)
EXERCISES = SimpleNamespace(
    check_shares=SHARES.check, check_mix_rows=MIX.check, check_Twice=TWICE.check
)

SIMPLE = "def shares(x): return x.softmax(-1)"
SHARES_CELL = """
def shares(x):
    weights = torch.exp(x - x.amax(-1, keepdim=True))  # no exponent above 0
    return weights / weights.sum(-1, keepdim=True)
"""
OTHER_SHARES_CELL = "def shares(x):\n    return F.softmax(x, dim=-1)\n"
MIX_CELL = "def mix_rows(x):\n    return shares(x) @ x.T\n"
TWICE_CELL = """
class Twice(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width, bias=False)
        nn.init.eye_(self.linear.weight)

    @torch.no_grad()
    def forward(self, x):
        return 2 * self.linear(x)
"""


def make_copies(folder):
    """Make a folder with a reader's copy of a lecture that has no cells."""
    lecture = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    folder.mkdir()
    (folder / "00_start_here.ipynb").write_bytes(stamped(reader_text(lecture)))
    return folder


class Reader:
    """Runs cells one after the other, as a kernel does: each is in `linecache`."""

    def __init__(self, folder, exercises=EXERCISES):
        self.file, self.replaced = folder / "my_gpt.py", folder / "my_gpt_replaced.py"
        self.names = {"__name__": "__main__", "exercises": exercises, "torch": torch}
        self.names |= {"nn": torch.nn, "F": torch.nn.functional}

    def run(self, cell):
        """Run a cell; return the value of its last line."""
        name = f"<cell {next(NUMBERS)} of a reader>"
        linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
        *body, last = ast.parse(cell).body
        exec(compile(ast.Module(body, []), name, "exec"), self.names)
        if isinstance(last, ast.Expr):
            return eval(compile(ast.Expression(last.value), name, "eval"), self.names)
        exec(compile(ast.Module([last], []), name, "exec"), self.names)

    def check(self, function, cell="", **more):
        """Run a cell, then the check of a function; return what the verdict adds to its praise."""
        if cell:
            self.run(cell)
        arguments = "".join(f", {name}={value}" for name, value in more.items())
        verdict = self.run(f"exercises.check_{function}({function}{arguments})")
        assert verdict.passed, verdict
        return verdict.message.removeprefix("Right. ")

    @property
    def text(self):
        return self.file.read_text(encoding="utf-8")
