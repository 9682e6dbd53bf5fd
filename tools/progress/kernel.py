"""A fresh kernel in a temporary folder, with a time limit for each cell.

What runs in it is somebody else's code. The limit ends a loop without an end, and a kernel that
dies is replaced; this guards against accidents and is no sandbox.
"""

from __future__ import annotations

import ast
import json
import os
import queue
import re
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import KernelManager

from tools.progress.lectures import Asked
from tools.progress.marks import Judged

__all__ = ["CourseKernel", "Stopped"]

COURSE = Path(__file__).resolve().parents[2]
ENVIRONMENT = {"TQDM_DISABLE": "1", "HF_HUB_OFFLINE": "1"}
START_SECONDS = 120.0
# How long an interrupted cell may take to give in before its kernel is replaced.
GRACE_SECONDS = 3.0
ENDED = "its kernel ended, as after `exit()` or for lack of memory."
# The kernel's name of a cell differs from run to run.
_PLACE = re.compile(r"\([^(),]*, line (\d+)\)")


class Stopped(RuntimeError):
    """A request that got no reply: it took too long, or its kernel is gone."""


class _ThisPython(KernelSpecManager):
    """Knows one kernel, that of this environment, whatever the user has installed."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(**get_kernel_dict())


class CourseKernel:
    """Runs cells one after the other; a context manager, whose end is the kernel's.

    Args:
        limit: seconds that a cell, or the call of a check, may take.
        folder: where the kernel starts; a temporary one where None.
        environment: variables for the kernel besides those it inherits.

    Raises:
        ValueError: for a limit that is not above 0.

    >>> with CourseKernel(limit=60) as kernel:  # doctest: +SKIP
    ...     kernel.run("1 / 0")
    'ZeroDivisionError: division by zero'
    """

    def __init__(
        self,
        *,
        limit: float = 60.0,
        folder: Path | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        if not limit > 0:
            raise ValueError(f"limit must be above 0 seconds, got {limit}")
        self.limit, self.folder = limit, folder
        self.environment = environment if environment is not None else ENVIRONMENT
        self.done: list[str] = []

    def __enter__(self) -> CourseKernel:
        self._temporary = tempfile.TemporaryDirectory(prefix="course-", ignore_cleanup_errors=True)
        self._start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._end()
        self._temporary.cleanup()

    def run(self, source: str) -> str:
        """Run a cell; return what stopped it in words, nothing where it ran."""
        try:
            reply = self._execute(source)
        except Stopped as stopped:
            return str(stopped)
        if reply["status"] != "ok":
            return _words(reply)
        self.done.append(source)
        return ""

    def judge(self, asked: Asked, name: str) -> Judged:
        """Call the check on what ``name`` stands for now."""
        call = (
            "__import__('tools.progress.judge', fromlist=['judge'])"
            f".judge({asked.module!r}, {asked.check!r}, globals(), {name!r})"
        )
        try:
            said = self._execute("", {"judged": call})["user_expressions"]["judged"]
        except Stopped as stopped:
            return Judged("not yet", f"The check called `{name}`: {stopped}")
        if said["status"] != "ok":
            return Judged("not yet", f"The check called `{name}`: {_words(said)}")
        return Judged(**json.loads(ast.literal_eval(said["data"]["text/plain"])))

    def _start(self) -> None:
        self._manager = KernelManager(kernel_spec_manager=_ThisPython())
        folder = self.folder or Path(self._temporary.name)
        paths = [str(COURSE), os.environ.get("PYTHONPATH", "")]
        self._manager.start_kernel(
            cwd=str(folder),
            # A process that a cell starts writes past the kernel: not into our own output.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={
                **os.environ,
                **self.environment,
                # The checks are those of this copy of the course.
                "PYTHONPATH": os.pathsep.join(filter(None, paths)),
                # Away from the user's own start-up files, which could print or import.
                "IPYTHONDIR": self._temporary.name,
            },
        )
        self._client = self._manager.blocking_client()
        self._client.start_channels(iopub=False, stdin=False, hb=False)
        self._ask("", START_SECONDS)

    def _end(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)

    def _execute(self, source: str, expressions: dict[str, str] | None = None) -> dict[str, Any]:
        """The kernel's reply; where there is none, the kernel is made fit for the next request."""
        try:
            return self._ask(source, self.limit, expressions)
        except Stopped:
            self._recover()
            raise

    def _ask(
        self, source: str, limit: float, expressions: dict[str, str] | None = None
    ) -> dict[str, Any]:
        request = self._client.execute(
            source, user_expressions=expressions, allow_stdin=False, stop_on_error=False
        )
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            try:
                reply = self._client.get_shell_msg(timeout=0.2)
            except queue.Empty:
                if not self._manager.is_alive():
                    raise Stopped(ENDED) from None
                continue
            if reply["parent_header"].get("msg_id") == request:
                return reply["content"]
        raise Stopped(f"stopped after {limit:g} s.")

    def _recover(self) -> None:
        """Interrupt; if that does not help, begin again and run what had run before."""
        if self._manager.is_alive():
            self._manager.interrupt_kernel()
            try:
                self._ask("", GRACE_SECONDS)
                return
            except Stopped:
                pass
        self._end()
        self._start()
        for source in self.done:
            self._ask(source, START_SECONDS)


def _words(error: dict[str, Any]) -> str:
    """An exception's name and message, without the kernel's own name for the cell."""
    message = _PLACE.sub(r"(line \1)", str(error["evalue"])).strip()
    return f"{error['ename']}: {message}" if message else str(error["ename"])
