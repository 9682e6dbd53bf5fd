"""The process that judges a copy: started, ended after its time, and its reply read with care.

What runs in it is somebody else's code. This guards against accidents (a loop without an end, too
much memory, a process that dies) and is no sandbox.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHARE = 0.25  # of a copy's time, for a cell or a check
MOST_BYTES = 200_000  # of a reply
ENVIRONMENT = {
    "TQDM_DISABLE": "1",
    "HF_HUB_OFFLINE": "1",
    "MPLBACKEND": "agg",
    "PYTHONPATH": str(ROOT),
}


@dataclass(frozen=True)
class Mark:
    """An exercise by its title, how far it is, and what the check says of it."""

    title: str
    state: str
    message: str


@dataclass(frozen=True)
class Progress:
    """How far a copy is.

    Attributes:
        file: the copy, as it was named.
        lecture: its number.
        exercises: in the lecture's order.
        quiz: for each question "right", "wrong" or "not answered".
        notes: what else is to be said.
        error: why it could not be judged, and then nothing else is known.
    """

    file: str
    lecture: str = ""
    exercises: list[Mark] = field(default_factory=list)
    quiz: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error: str = ""

    @property
    def passed(self) -> int:
        """How many exercises pass."""
        return sum(mark.state == "passed" for mark in self.exercises)

    @property
    def right(self) -> int:
        """How many questions are answered rightly."""
        return self.quiz.count("right")

    @property
    def complete(self) -> bool:
        """Whether every exercise passes and every question is right."""
        done = self.passed == len(self.exercises) and self.right == len(self.quiz)
        return done and not self.error


def examine(path: Path, limit: float, everything: bool = False) -> Progress:
    """Judge a copy in a process of its own, which ends after `limit` seconds.

    Args:
        path: the copy.
        limit: seconds for all of it; a cell or a check may take a quarter of them.
        everything: run the whole lecture before the exercises, not the set-up alone.
    """
    with tempfile.TemporaryDirectory(prefix="course-", ignore_cleanup_errors=True) as folder:
        reply = Path(folder, "reply.json")
        command = [sys.executable, "-m", "tools.progress.judge", str(path.absolute()), str(reply)]
        command += [str(limit * SHARE), *(["--all"] if everything else [])]
        process = subprocess.Popen(
            command,
            cwd=folder,
            # IPYTHONDIR: away from the user's own start-up files, which could print or import.
            env={**os.environ, **ENVIRONMENT, "IPYTHONDIR": folder},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        ended = "its process ended, as after `os._exit()` or for lack of memory"
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            ended = f"stopped after {limit:g} s"
        finally:
            _end(process)
        return read_reply(path, reply, ended)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process, and those it has started as long as they are of its group."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def read_reply(path: Path, reply: Path, ended: str) -> Progress:
    """Return what a process has written; `ended` says what ended it."""
    file = str(path)
    if not reply.is_file():
        return Progress(file, error=f"{path} could not be judged: {ended}.")
    try:
        with reply.open("rb") as stream:
            found: dict[str, Any] = json.loads(stream.read(MOST_BYTES))
        at = found.pop("at", "")
        marks = [Mark(**mark) for mark in found.pop("exercises", [])]
        progress = Progress(file, exercises=marks, **found)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return Progress(file, error=f"{path} could not be judged: it gave no readable reply.")
    if at:
        progress.notes.insert(0, f"What comes after {at} was not judged: {ended}.")
    return progress
