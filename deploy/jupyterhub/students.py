"""What a student's server may use, and under which account it runs."""

from __future__ import annotations

import pwd
from typing import Any

PROCESS_SHARE = 0.75  # of a student's memory: the server and a second kernel want some too
FOLDER_SHARE = 0.25  # of a student's memory, for each folder that is in memory


class NoAccount(RuntimeError):
    """A student's server cannot be started under the account of that name."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.jupyterhub_message = message  # what the hub's page shows


def prepare(spawner: Any) -> None:
    """Complete the properties of a student's unit; those that the settings name stay."""
    check_account(spawner.user.name)
    spawner.unit_extra_properties = {
        **properties(spawner.mem_limit, spawner.unit_name),
        **spawner.unit_extra_properties,
    }


def check_account(name: str) -> None:
    """Let only accounts of people have a server: with OAuth, a stranger chooses their name.

    Raises:
        NoAccount: if there is no such account, or it is one of the system's.
    """
    try:
        number = pwd.getpwnam(name).pw_uid
    except KeyError:
        raise NoAccount(
            f"{name} must have an account on this server: ask your instructor"
        ) from None
    if number < 1000:
        raise NoAccount(
            f"{name} must be a student's account, with a number from 1000, got {number}"
        )


def properties(memory: int, unit: str) -> dict[str, str]:
    """The properties of a student's unit, besides those that SystemdSpawner has settings for.

    Args:
        memory: bytes that the student may use.
        unit: its name, which SystemdSpawner gives to a folder in /run as well.

    What is written to /tmp, /dev/shm or /run is memory, and stays when its writer is gone: so each
    student has these folders anew, of a fixed size, and they vanish with the unit. With /run, the
    sockets of the system's services are out of reach, D-Bus before all: through it, logind would
    start a student's programs outside the unit.
    """
    size = int(FOLDER_SHARE * memory)
    return {
        "MemorySwapMax": "0",
        "TasksMax": "512",
        "TimeoutStopSec": "10",  # a fork bomb does not end at the first signal: then it is killed
        # Reached before the unit's limit: an allocation fails, where the unit's ends a process.
        "LimitDATA": str(int(PROCESS_SHARE * memory)),
        # When the machine runs out of memory, students' processes go first.
        "OOMScoreAdjust": "500",
        "UMask": "0077",
        "TemporaryFileSystem": (
            f"/tmp:size={size},mode=1777 /dev/shm:size={size},mode=1777 /run:size=1M,mode=755"
        ),
        "BindReadOnlyPaths": "-/run/systemd/resolve",  # where /etc/resolv.conf often points
        "ReadOnlyPaths": f"/run/{unit}",  # of the machine's own /run, which a student could fill
        "PrivateIPC": "yes",
        "ProtectProc": "invisible",  # `ps` shows one's own processes
        "IPAddressDeny": "link-local",  # where a rented machine asks for its own credentials
    }
