"""A process of its own that runs somebody's cells and judges what they define.

What runs in it is somebody else's code. A time limit ends a loop without an end, and a process
that dies is replaced. The checks are imported before that code runs, and what it can replace by an
assignment is put back before a check is called: whoever passes by such an assignment does not pass
here. It guards against accidents and simple tricks and is no sandbox, for the code that is judged
and the check run in one process.
"""

from __future__ import annotations

import builtins
import contextlib
import json
import multiprocessing
import os
import re
import signal
import sys
import tempfile
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from course_utils.lectures import Lecture

START_SECONDS = 120.0
MOST_WORDS = 2_000
ENDED = "its process ended, as after `os._exit()` or for lack of memory."
NO_REPLY = "its process gave no reply that can be read."
STATES = ("passed", "not yet", "not started", "missing")
# IPython's name of a cell differs from run to run.
_PLACE = re.compile(r"\([^(),]*, line (\d+)\)")


@dataclass(frozen=True)
class Judged:
    """What became of a call of a check: a state, ``"missing"`` among them, and its words."""

    state: str
    message: str = ""


class Stopped(RuntimeError):
    """A request without a reply: it took too long, or the process is gone."""


class CellProcess:
    """Runs cells one after the other, as a notebook does; a context manager.

    Args:
        limit: seconds that a cell, or the call of a check, may take.
        lecture: whose checks are to judge.

    >>> with CellProcess(limit=60, lecture=COURSE[1]) as process:  # doctest: +SKIP
    ...     process.run("1 / 0")
    'ZeroDivisionError: division by zero'
    """

    def __init__(self, *, limit: float, lecture: Lecture) -> None:
        self.limit, self.lecture = limit, lecture
        self._done: list[str] = []

    def __enter__(self) -> CellProcess:
        self._folder = tempfile.TemporaryDirectory(prefix="course-", ignore_cleanup_errors=True)
        self._start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._end()
        self._folder.cleanup()

    def run(self, source: str) -> str:
        """Run a cell; return what stopped it in words, nothing where it ran."""
        try:
            state, message = self._ask_or_restart(["run", source])
        except Stopped as stopped:
            return str(stopped)
        if state == "ran":
            self._done.append(source)
        return message

    def judge(self, check: str, name: str) -> Judged:
        """Call the lecture's check on what ``name`` stands for now."""
        try:
            state, message = self._ask_or_restart(["judge", check, name])
        except Stopped as stopped:
            return Judged("not yet", f"The check called `{name}`: {stopped}")
        return Judged(state, message) if state in STATES else Judged("not yet", NO_REPLY)

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        # `get_context` gives the spawn context's Process, whose type has no public name.
        self._process: Any = context.Process(
            target=_serve, args=(theirs, self.lecture, self._folder.name)
        )
        self._process.start()
        theirs.close()
        self._ask(["run", ""], START_SECONDS)

    def _end(self) -> None:
        """End the process, and those it has started as long as they are of its group."""
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def _ask_or_restart(self, request: list[str]) -> list[str]:
        """The reply; where there is none, begin again with what had run before."""
        try:
            return self._ask(request, self.limit)
        except Stopped:
            self._end()
            self._start()
            for source in self._done:
                self._ask(["run", source], START_SECONDS)
            raise

    def _ask(self, request: list[str], limit: float) -> list[str]:
        try:
            self._pipe.send_bytes(json.dumps(request).encode())
            if not self._pipe.poll(limit):
                raise Stopped(f"stopped after {limit:g} s.")
            # JSON and not pickle: reading what such a process has written must run nothing.
            reply = json.loads(self._pipe.recv_bytes(10 * MOST_WORDS))
        except (EOFError, OSError):
            raise Stopped(ENDED) from None
        except (ValueError, RecursionError):
            raise Stopped(NO_REPLY) from None
        if not (isinstance(reply, list) and [type(each) for each in reply] == [str, str]):
            raise Stopped(NO_REPLY)
        return reply


def _serve(pipe: Connection, lecture: Lecture, folder: str) -> None:
    """Answer requests until this process is ended. Runs in the process itself."""
    if hasattr(os, "setsid"):
        os.setsid()  # what the cells start is of this group and ends with it
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.chdir(folder)
    # IPYTHONDIR: away from the user's own start-up files, which could print or import.
    os.environ |= {
        "TQDM_DISABLE": "1",
        "HF_HUB_OFFLINE": "1",
        "MPLBACKEND": "agg",
        "IPYTHONDIR": folder,
    }
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    judge = _Judge(lecture)

    class Shell(InteractiveShell):
        def enable_gui(self, gui: str | None = None) -> None:  # asked for by %matplotlib
            pass

    shell = Shell.instance(config=Config(HistoryManager={"enabled": False}))
    while True:
        request = json.loads(pipe.recv_bytes())
        try:
            if request[0] == "run":
                result = shell.run_cell(request[1])
                error = result.error_before_exec or result.error_in_exec
                reply = ["stopped", _words(error)] if error else ["ran", ""]
            else:
                reply = judge.verdict(request[1], shell.user_ns, request[2])
        except BaseException as error:  # an answer may raise SystemExit
            reply = ["not yet", f"The check called `{request[-1]}`: {_words(error)}"]
        pipe.send_bytes(json.dumps([each[:MOST_WORDS] for each in reply]).encode())


class _Judge:
    """A lecture's checks, out of reach of an assignment in the code that is judged.

    The checks, and what they are made of, are taken out of ``sys.modules``: the copy imports
    modules of its own. What both share (torch, the core) is as it was when a check is called.
    """

    def __init__(self, lecture: Lecture) -> None:
        self.exercises = import_module(f"{lecture.package}.exercises")
        private = ("course_utils.teaching", "course_utils.lectures")
        shared = (builtins.__name__, "math", "numpy", "torch", "torch.nn.functional")
        for name in [name for name in sys.modules if name.startswith(private)]:
            del sys.modules[name]
        self.kept = [
            (module, dict(vars(module)))
            for name, module in sys.modules.items()
            if name in shared or name.startswith("course_utils.")
        ]

    def verdict(self, check: str, names: dict[str, Any], name: str) -> list[str]:
        """What a check says about ``names[name]``: a state and a message."""
        if name not in names:
            return ["missing", ""]
        for module, attributes in self.kept:
            vars(module).update(attributes)
        verdict = getattr(self.exercises, check)(names[name])
        return [verdict.word.lower(), verdict.message]


def _words(error: BaseException) -> str:
    """An exception's name and message, without IPython's own name for the cell."""
    message = _PLACE.sub(r"(line \1)", str(error)).strip()
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
