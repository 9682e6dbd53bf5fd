"""What a student has apart from the others: memory-backed folders, and no way to more rights.

Whatever is written to /dev/shm, /run or, on current systems, /tmp is memory, and stays when the
processes that wrote it are gone: no limit on processes finds it. So each student gets these folders
anew, of a fixed size, and they vanish with the student's last process. Here is what a new process
does to itself for that, as root, before it becomes the student's.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass

__all__ = ["Place", "move_apart", "renounce_rights"]

# From Linux's headers: sched.h, sys/mount.h, sys/prctl.h.
CLONE_NEWNS, CLONE_NEWIPC = 0x0002_0000, 0x0800_0000
MS_NOSUID, MS_NODEV, MS_REC, MS_SLAVE = 0x2, 0x4, 0x4000, 0x8_0000
PR_SET_NO_NEW_PRIVS = 38

_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Place:
    """A folder in memory.

    Args:
        folder: where; it must be there, and what it holds is not seen.
        size: the bytes that it may hold.
        mode: its permissions, with the bit that keeps others from deleting.
        owner: its user's and group's number.
    """

    folder: str
    size: int
    mode: int = 0o1777
    owner: tuple[int, int] = (0, 0)

    @property
    def options(self) -> str:
        """What ``mount -o`` would be told.

        >>> Place("/tmp", 2**20).options
        'size=1048576,mode=1777,uid=0,gid=0'
        """
        uid, gid = self.owner
        return f"size={self.size},mode={self.mode:o},uid={uid},gid={gid}"


def move_apart(places: list[Place]) -> None:
    """Give this process and its children these folders, and System V memory, to themselves.

    Raises:
        OSError: where this process may not, as in a container without the right to mount.
    """
    _check(_LIBC.unshare(CLONE_NEWNS | CLONE_NEWIPC), "unshare")
    # What the machine mounts later is seen here; what is mounted here is seen nowhere else.
    _check(_LIBC.mount(None, b"/", None, MS_REC | MS_SLAVE, None), "mount /")
    for place in places:
        folder, options = place.folder.encode(), place.options.encode()
        flags = MS_NOSUID | MS_NODEV
        _check(_LIBC.mount(b"course", folder, b"tmpfs", flags, options), f"mount {place.folder}")


def renounce_rights() -> None:
    """Let no program give this process or its children more rights: su, sudo, crontab, at.

    Each would start something that is in no student's group.

    Raises:
        OSError: where the kernel does not know how.
    """
    _check(_LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")


def _check(status: int, what: str) -> None:
    if status:
        number = ctypes.get_errno()
        raise OSError(number, f"{os.strerror(number)} ({what})")
