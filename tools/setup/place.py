"""Where the course and its environment lie, and how its commands speak."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

WINDOWS = os.name == "nt"
ROOT = Path(__file__).resolve().parents[2]


class CommandError(Exception):
    """Something the reader can fix: its message is one sentence and the command that helps."""


@dataclass(frozen=True)
class Place:
    """The folder of a copy of the course, and the files that set-up keeps in it."""

    root: Path = ROOT

    @property
    def venv(self) -> Path:
        """The environment's folder."""
        return self.root / ".venv"

    @property
    def scripts(self) -> Path:
        """The folder of the environment's programs."""
        return self.venv / ("Scripts" if WINDOWS else "bin")

    @property
    def python(self) -> Path:
        """The environment's Python."""
        return self.scripts / ("python.exe" if WINDOWS else "python")

    @property
    def stamp(self) -> Path:
        """What the environment holds; there only while the environment is whole."""
        return self.venv / "course.json"

    @property
    def log(self) -> Path:
        """Everything pip said."""
        return self.venv / "setup.log"

    @property
    def lock(self) -> Path:
        """Held by the one process that may change the environment."""
        return self.root / ".venv.lock"

    def activated(self) -> dict[str, str]:
        """Return the environment variables of a shell in which the environment is active."""
        variables = {k: v for k, v in os.environ.items() if k != "PYTHONHOME"}
        variables["VIRTUAL_ENV"] = str(self.venv)
        variables["PATH"] = os.pathsep.join([str(self.scripts), variables.get("PATH", "")])
        # Before Python 3.13 Windows cannot read an installed path that has letters such as ö.
        variables["PYTHONPATH"] = str(self.root)
        return variables


def how_to_run(command: str) -> str:
    """Return the command line that a reader types on this system."""
    return f"py course.py {command}" if WINDOWS else f"make {command}"


def say(text: str) -> None:
    """Print a line at once, also where the output is a file."""
    print(text, flush=True)


def warn(text: str) -> None:
    """Print a line to the error stream."""
    print(text, file=sys.stderr, flush=True)
