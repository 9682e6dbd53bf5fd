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
                preexec_fn=None if WINDOWS else heed_ctrl_c,
            )

    def run(self, command: list[str], log: Path, seconds: float) -> Outcome:
        """Run a command for at most `seconds`."""
        return finish([self.start(command, log)], seconds)


def heed_ctrl_c() -> None:
    """Let Ctrl-C end the process that is about to start.

    A shell has what it runs in the background ignore it, and what that starts inherits this.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def finish(processes: list[subprocess.Popen[bytes]], seconds: float) -> Outcome:
    """Wait for processes for at most `seconds` in all, and see that nothing of them is left.

    Together they end as the first of them that did not end well.
    """
    start = time.monotonic()
    try:
        in_time = [ended(process, start + seconds) for process in processes]
    finally:
        stop(processes, GRACE)
    status = next((process.returncode for process in processes if process.returncode), 0)
    return Outcome(status, not all(in_time), time.monotonic() - start)


def ended(process: subprocess.Popen[bytes], end: float) -> bool:
    """Wait for a process until `end` (of the monotonic clock); return whether it ended by then."""
    try:
        process.wait(timeout=max(end - time.monotonic(), 0.0))
    except subprocess.TimeoutExpired:
        return False
    return True


def stop(processes: list[subprocess.Popen[bytes]], grace: float) -> None:
    """End processes and their groups: asked all at once, by Ctrl-C, and killed after `grace` s."""
    running = [process for process in processes if process.poll() is None]
    for process in running:
        send(process, signal.SIGINT)
    end = time.monotonic() + grace
    for process in running:
        ended(process, end)
    for process in processes:
        send(process, getattr(signal, "SIGKILL", signal.SIGTERM))  # what is left of the group
        process.wait()


def send(process: subprocess.Popen[bytes], what: signal.Signals) -> None:
    """Send a signal to the group of a process; on Windows, which has none, end the process."""
    with contextlib.suppress(OSError):  # it has ended by itself
        if WINDOWS:
            process.kill()
        else:
            os.killpg(process.pid, what)
