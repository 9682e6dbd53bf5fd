"""Start a student's server under their own account, within limits that hold all they run."""

from __future__ import annotations

import os
import pwd
import resource
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cgroups import Limits, NoControlGroups, StudentGroup, Trees, find_trees
from jupyterhub.spawner import LocalProcessSpawner
from own_places import Place, move_apart, renounce_rights
from traitlets import Integer, List, Unicode

__all__ = ["CourseSpawner", "NoAccount"]

FIRST_TO_GO = 500  # of 1000: when the machine runs out of memory, students' processes go first
OPEN_FILES = 4096
PROCESS_SHARE = 0.75  # of a student's memory: the server and a second kernel want some too
FOLDER_SHARE = 0.25  # of a student's memory, for each folder that is in memory
SOCKETS_SIZE = 2**24  # bytes for sockets and connection files


class NoAccount(RuntimeError):
    """A student's server cannot be started under the account of that name."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.jupyterhub_message = message  # what the hub's page shows


class CourseSpawner(LocalProcessSpawner):
    """JupyterHub's spawner for local accounts, with limits for each student.

    ``mem_limit`` and ``cpu_limit`` are JupyterHub's own settings. Each limit holds all of a
    student's processes together, by a control group. A limit on each single process stands before
    it, so that a cell that asks for too much gets a ``MemoryError`` and keeps its kernel.
    """

    tasks_limit = Integer(512, min=1, help="Processes and threads per student.").tag(config=True)

    runtime_root = Unicode(
        "/run/attention-course",
        help="Where each student has a closed folder for sockets; their paths must be short.",
    ).tag(config=True)

    own_folders = List(
        Unicode(),
        ["/tmp", "/dev/shm"],
        help="Folders that each student has for themselves, in memory, while their server runs.",
    ).tag(config=True)

    group: StudentGroup | None = None

    def limits(self) -> Limits:
        """Return what the student may use.

        Raises:
            ValueError: if no memory limit is set.
        """
        if not self.mem_limit:
            raise ValueError("mem_limit must be set, for instance '2G', got nothing")
        return Limits(self.mem_limit, self.cpu_limit or os.cpu_count() or 1, self.tasks_limit)

    async def start(self) -> tuple[str, int]:
        """Prepare the account and its group, then start the server.

        Raises:
            NoAccount: if there is no such account here, or it is not a student's.
        """
        account = find_account(self.user.name)
        close_home(account)
        self.group = self._find_group()
        if self.group:
            self.group.create(self.limits())
        fresh_folder(self.runtime_folder(account), account)
        return await super().start()

    def runtime_folder(self, account: pwd.struct_passwd) -> Path:
        """Return where a student's sockets stand."""
        return Path(self.runtime_root) / str(account.pw_uid)

    def user_env(self, env: dict[str, str]) -> dict[str, str]:
        """Add what depends on the account to the server's environment.

        An account that may not log in elsewhere has no shell of its own: terminals get bash.
        """
        folder = self.runtime_folder(find_account(self.user.name))
        own = {"JUPYTER_RUNTIME_DIR": str(folder), "SHELL": "/bin/bash"}
        return {**super().user_env(env), **own}

    def places(self, account: pwd.struct_passwd) -> list[Place]:
        """Return the folders that the student has for themselves."""
        size = int(FOLDER_SHARE * self.limits().memory)
        owner = (account.pw_uid, account.pw_gid)
        sockets = Place(str(self.runtime_folder(account)), SOCKETS_SIZE, 0o700, owner)
        return [sockets, *(Place(folder, size) for folder in self.own_folders)]

    def load_state(self, state: dict[str, Any]) -> None:
        """Find the group of a server that still runs after the hub was restarted."""
        super().load_state(state)
        if self.pid:
            self.group = self._find_group()

    def make_preexec_fn(self, name: str) -> Callable[[], None]:
        """Return what the new process does before it runs: join, limit itself, change account.

        What it cannot have apart it shares, and its log says so.
        """
        become_student = super().make_preexec_fn(name)
        group, limits = self.group, self.limits()
        places = self.places(find_account(name))

        def prepare() -> None:
            for entry in group.entries if group else []:
                entry.write_text("0")
            limit_each_process(limits)
            try:
                move_apart(places)
            except OSError as error:
                folders = ", ".join(self.own_folders)
                print(f"{name} shares {folders} with others: {error}", file=sys.stderr)
            renounce_rights()
            become_student()

        return prepare

    async def poll(self) -> int | None:
        """Return None while the server runs; once it has ended, end what it left behind."""
        status = await super().poll()
        if status is not None:
            self._remove_group()
        return status

    async def stop(self, now: bool = False) -> None:
        """Stop the server, and whatever else the student has running."""
        await super().stop(now)
        self._remove_group()

    def _find_group(self) -> StudentGroup | None:
        """Return the student's group, or None and a warning where there can be none."""
        try:
            return trees().student(find_account(self.user.name).pw_uid)
        except NoControlGroups as error:
            self.log.warning(
                "%s is limited for each process only, not for all together: %s",
                self.user.name,
                error,
            )
            return None

    def _remove_group(self) -> None:
        if self.group is None:
            return
        if kills := self.group.memory_kills():
            self.log.warning(
                "%s reached the memory limit of %.1f GiB: %d processes were ended",
                self.user.name,
                self.mem_limit / 2**30,
                kills,
            )
        self.group.remove()
        self.group = None


_TREES: list[Trees] = []


def trees() -> Trees:
    """Return where students' groups stand; they are found once, since finding them moves us.

    Raises:
        NoControlGroups: if this process may make none.
    """
    if not _TREES:
        _TREES.append(find_trees().prepare())
    return _TREES[0]


def find_account(name: str) -> pwd.struct_passwd:
    """Return a student's account on this machine.

    Raises:
        NoAccount: if there is none, or it is one of the system's.
    """
    try:
        account = pwd.getpwnam(name)
    except KeyError:
        raise NoAccount(
            f"{name} must have an account on this server: ask your instructor"
        ) from None
    if account.pw_uid < 1000:
        raise NoAccount(
            f"{name} must be a student's account, with a number from 1000 on, got {account.pw_uid}"
        )
    return account


def close_home(account: pwd.struct_passwd) -> None:
    """Let nobody but its owner into a home: some systems make homes that all may read.

    Raises:
        NoAccount: if the home is missing or another's.
    """
    home = Path(account.pw_dir)
    try:
        owner = home.lstat().st_uid
    except OSError as error:
        raise NoAccount(f"{account.pw_name} must have a home folder, got {error}") from None
    if owner != account.pw_uid:
        raise NoAccount(f"{home} must belong to {account.pw_name}, got owner {owner}")
    home.chmod(0o700)


def fresh_folder(folder: Path, account: pwd.struct_passwd) -> None:
    """Make an empty folder that only its owner may enter."""
    folder.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700)
    os.chown(folder, account.pw_uid, account.pw_gid)


def limit_each_process(limits: Limits) -> None:
    """Limit this process and its children, each by itself.

    The memory limit counts what a process may write into. It is reached before the group's, and
    then an allocation fails, where the group would end a process.
    """
    for kind, most in (
        (resource.RLIMIT_DATA, int(PROCESS_SHARE * limits.memory)),
        (resource.RLIMIT_NPROC, limits.tasks),  # counted over the account
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    Path("/proc/self/oom_score_adj").write_text(str(FIRST_TO_GO))
