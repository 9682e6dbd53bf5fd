"""A control group for each student: what all their processes together may use.

A limit on a process does not hold a student, who can start another. A control group does: every
kernel, terminal and child process of a student is in it from the start and cannot leave it.
Version 2, with one tree, is what current systems have; version 1, with a tree for each controller,
is still met in virtual machines.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CONTROLLERS", "Limits", "NoControlGroups", "StudentGroup", "Trees", "find_trees"]

CONTROLLERS = ("memory", "cpu", "pids")
PARENT = "attention-course"
PERIOD = 100_000  # microseconds over which processor time is counted
OPTIONAL = {"memory.memsw.limit_in_bytes", "memory.swap.max"}  # absent in a kernel without swap
GONE_SECONDS = 10.0


class NoControlGroups(RuntimeError):
    """This process may make no control groups; the message says why."""


@dataclass(frozen=True)
class Limits:
    """What one student's processes may use together.

    Args:
        memory: bytes.
        cpus: processors at once, 1.5 for one and a half.
        tasks: processes and threads.
    """

    memory: int
    cpus: float
    tasks: int

    def __post_init__(self) -> None:
        """Refuse what no process could start in."""
        for name in ("memory", "cpus", "tasks"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be more than 0, got {getattr(self, name)}")

    def files(self, version: int) -> dict[str, dict[str, str]]:
        """Return controller → file → content. Every student has the same share of a busy machine.

        >>> Limits(2**30, 1.5, 512).files(2)["cpu"]
        {'cpu.max': '150000 100000', 'cpu.weight': '100'}
        """
        memory, quota, tasks = str(self.memory), str(int(self.cpus * PERIOD)), str(self.tasks)
        if version == 2:
            return {
                "memory": {"memory.max": memory, "memory.swap.max": "0"},
                "cpu": {"cpu.max": f"{quota} {PERIOD}", "cpu.weight": "100"},
                "pids": {"pids.max": tasks},
            }
        # The kernel wants the limit with swap to be at least the one without: that one goes first.
        return {
            "memory": {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory},
            "cpu": {
                "cpu.cfs_period_us": str(PERIOD),
                "cpu.cfs_quota_us": quota,
                "cpu.shares": "1024",
            },
            "pids": {"pids.max": tasks},
        }


@dataclass(frozen=True)
class Trees:
    """Where groups can be made: controller → folder. In version 2 it is one folder for all."""

    version: int
    folders: dict[str, Path]

    def student(self, uid: int) -> StudentGroup:
        """Return the group of the account with this number; it need not exist yet."""
        folders = {name: folder / f"student-{uid}" for name, folder in self.folders.items()}
        return StudentGroup(self.version, folders)

    def prepare(self) -> Trees:
        """Make the folder that the students' groups stand in, and return these trees.

        Raises:
            NoControlGroups: if this process may not.
        """
        try:
            if self.version == 2:
                self._hand_controllers_down()
            for folder in self.folders.values():
                folder.mkdir(exist_ok=True)
                if self.version == 2:
                    _enable(folder)
        except OSError as error:
            raise NoControlGroups(f"cannot make control groups: {error}") from None
        return self

    def _hand_controllers_down(self) -> None:
        """Let the groups below ours be limited.

        A group of version 2 either holds processes or limits the groups below it, so our own
        processes first move into a group beside the students'.
        """
        ours = self.folders["memory"].parent
        own_processes = (ours / "cgroup.procs").read_text().split()
        if own_processes and (ours / "cgroup.type").exists():  # the root of all may hold both
            (ours / "hub").mkdir(exist_ok=True)
            for process in own_processes:
                with contextlib.suppress(ProcessLookupError):  # it ended by itself meanwhile
                    (ours / "hub" / "cgroup.procs").write_text(process)
        _enable(ours)


@dataclass(frozen=True)
class StudentGroup:
    """One student's group: a folder for each controller, the same folder in version 2."""

    version: int
    folders: dict[str, Path]

    @property
    def entries(self) -> list[Path]:
        """The files that a process writes "0" into to join."""
        return [folder / "cgroup.procs" for folder in dict.fromkeys(self.folders.values())]

    def create(self, limits: Limits) -> None:
        """Make the group anew with these limits; what an earlier one still ran is ended.

        Raises:
            NoControlGroups: if this process may not, or a limit was not taken.
        """
        self.remove()
        try:
            for controller, files in limits.files(self.version).items():
                self.folders[controller].mkdir(exist_ok=True)
                for name, content in files.items():
                    file = self.folders[controller] / name
                    if name not in OPTIONAL or file.exists():
                        file.write_text(content)
        except OSError as error:
            raise NoControlGroups(f"cannot limit a student: {error}") from None

    def processes(self) -> set[int]:
        """Return the ids of the processes in the group."""
        found: set[int] = set()
        for file in self.entries:
            if file.exists():
                found |= {int(line) for line in file.read_text().split()}
        return found

    def remove(self) -> None:
        """End every process of the group, then take the group away.

        Raises:
            NoControlGroups: if a process survives being killed.
        """
        deadline = time.monotonic() + GONE_SECONDS
        while left := self.processes():
            for process in left:
                _kill(process)
            if time.monotonic() > deadline:
                raise NoControlGroups(f"processes {sorted(left)} could not be ended")
            time.sleep(0.02)
        for folder in dict.fromkeys(self.folders.values()):
            if folder.exists():
                folder.rmdir()

    def memory_kills(self) -> int:
        """Return how many processes the kernel has ended here because memory ran out."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        file = self.folders["memory"] / name
        lines = file.read_text().splitlines() if file.exists() else []
        counts = dict(line.split() for line in lines)
        return int(counts.get("oom_kill", 0))


def find_trees(process: Path = Path("/proc/self")) -> Trees:
    """Return where this process may make groups, below its own.

    Args:
        process: the folder that describes the process.

    Raises:
        NoControlGroups: if a controller is mounted nowhere.
    """
    own = _own_groups(process / "cgroup")
    found: dict[str, Path] = {}
    for line in (process / "mountinfo").read_text().splitlines():
        fields, _, (kind, _, options) = _mount(line)
        root, mount_point = fields[3], Path(fields[4])
        if kind == "cgroup2":
            folder = _below(mount_point, root, own.get("", "/"))
            available = _words(folder / "cgroup.controllers")
            if set(CONTROLLERS) <= available:
                return Trees(2, dict.fromkeys(CONTROLLERS, folder / PARENT))
        elif kind == "cgroup":
            for name in set(options.split(",")) & set(CONTROLLERS):
                found[name] = _below(mount_point, root, own.get(name, "/")) / PARENT
    if missing := [name for name in CONTROLLERS if name not in found]:
        raise NoControlGroups(
            f"control groups must offer {', '.join(CONTROLLERS)} to this process, "
            f"and {', '.join(missing)} cannot be had (under systemd: Delegate=yes)"
        )
    return Trees(1, found)


def _own_groups(file: Path) -> dict[str, str]:
    """Return controller → our group's path; the name of version 2's tree is empty."""
    found: dict[str, str] = {}
    for line in file.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        found |= dict.fromkeys(controllers.split(","), path)
    return found


def _mount(line: str) -> tuple[list[str], str, list[str]]:
    """Split a line of mountinfo at the dash: (what and where, "-", kind, source and options)."""
    before, dash, after = line.partition(" - ")
    return before.split(), dash, after.split(" ", 2)


def _below(mount_point: Path, root: str, own: str) -> Path:
    """Return our group's folder; a container sees a part of the tree, from `root` on."""
    relative = os.path.relpath(own, root)
    return mount_point if relative.startswith("..") else mount_point / relative


def _words(file: Path) -> set[str]:
    return set(file.read_text().split()) if file.exists() else set()


def _enable(folder: Path) -> None:
    (folder / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in CONTROLLERS))


def _kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it ended by itself meanwhile
        os.kill(process, signal.SIGKILL)
