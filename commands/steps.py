"""Run one step of a longer job: its own process group, its own log, and an end that holds."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from .place import WINDOWS

# What a program may take to write down how far it came, once it is asked to stop.
GRACE = 5.0


@dataclass(frozen=True)
class Outcome:
    """How a step ended."""

    status: int
    timed_out: bool
    seconds: float

    @property
    def worked(self) -> bool:
        """Whether it ended by itself, and well."""
        return self.status == 0 and not self.timed_out


@dataclass(frozen=True)
class Runner:
    """Where steps run, and with which environment variables."""

    folder: Path
    variables: dict[str, str]

    def start(self, command: list[str], log: Path) -> subprocess.Popen[bytes]:
        """Start a command, everything it says going to the end of `log`."""
        with log.open("ab") as said:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.variables,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=not WINDOWS,
            )

    def run(self, command: list[str], log: Path, seconds: float) -> Outcome:
        """Run a command for at most `seconds`."""
        return finish(self.start(command, log), seconds)


def finish(
    process: subprocess.Popen[bytes], seconds: float, *, grace: float | None = None
) -> Outcome:
    """Wait for a process for at most `seconds`, and see that nothing of it is left."""
    start = time.monotonic()
    timed_out = False
    try:
        process.wait(timeout=max(seconds, 0.0))
    except subprocess.TimeoutExpired:
        timed_out = True
    finally:
        stop(process, GRACE if grace is None else grace)
    return Outcome(process.returncode, timed_out, time.monotonic() - start)


def stop(process: subprocess.Popen[bytes], grace: float) -> None:
    """End a process and its group: asked, as by Ctrl-C, and killed after `grace` seconds."""
    if process.poll() is None:
        send(process, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=grace)
    send(process, getattr(signal, "SIGKILL", signal.SIGTERM))  # what is left of the group
    process.wait()


def send(process: subprocess.Popen[bytes], what: signal.Signals) -> None:
    """Send a signal to the group of a process; on Windows, which has none, end the process."""
    with contextlib.suppress(OSError):  # it has ended by itself
        if WINDOWS:
            process.kill()
        else:
            os.killpg(process.pid, what)
