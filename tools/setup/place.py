"""Where the course and its environment lie."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

WINDOWS = os.name == "nt"
ROOT = Path(__file__).resolve().parents[2]


class CommandError(Exception):
    """Something the reader can mend: its message is one sentence and the command that helps."""


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
    def half_installed(self) -> Path:
        """Present only while files are being written into the environment."""
        return self.venv / "half-installed"

    @property
    def log(self) -> Path:
        """Everything pip said."""
        return self.venv / "setup.log"

    @property
    def lock(self) -> Path:
        """Held by the one process that may change the environment."""
        return self.root / ".venv.lock"

    def stamp(self, level: str) -> Path:
        """The file that says: this level is whole, and was made from that pyproject.toml."""
        return self.venv / f"course-{level}.stamp"

    def activated(self) -> dict[str, str]:
        """Return the environment variables of a shell in which the environment is active."""
        variables = {k: v for k, v in os.environ.items() if k not in ("PYTHONHOME", "PYTHONPATH")}
        variables["VIRTUAL_ENV"] = str(self.venv)
        variables["PATH"] = os.pathsep.join([str(self.scripts), variables.get("PATH", "")])
        return variables


def how_to_run(command: str) -> str:
    """Return the command line a reader types on this system.

    >>> how_to_run("lab") in ("make lab", "py course.py lab")
    True
    """
    return f"py course.py {command}" if WINDOWS else f"make {command}"


def say(text: str) -> None:
    """Print a line at once, also where the output is a file."""
    print(text, flush=True)


def warn(text: str) -> None:
    """Print a line to the error stream."""
    print(text, file=sys.stderr, flush=True)
