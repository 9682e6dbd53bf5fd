"""Let students reach Python and the course where a machine keeps them under a closed folder.

A developer's Python often lies under /root, which is closed to everyone else. The hub of the tests
runs in a mount namespace of its own, in which such a folder holds nothing but what students need.
The machine's own folders are not touched, and the namespace goes with the hub.
"""

import shlex
import sys
from pathlib import Path


def closed_above(path: Path) -> Path | None:
    """Return the topmost folder on the way to `path` that not everyone may pass."""
    for folder in reversed(path.resolve().parents):
        if not folder.stat().st_mode & 0o001:
            return folder
    return None


def reachable(command: list[str], needed: list[Path], scratch: Path) -> list[str]:
    """Return a command that runs `command` where everyone may reach what is needed.

    Args:
        command: what to run; it keeps the process id.
        needed: folders that students read. Python's own are added.
        scratch: an empty folder's parent, for holding what is put back in place.
    """
    wanted = [Path(sys.prefix), Path(sys.base_prefix), *needed]
    hidden = {path.resolve(): closed for path in wanted if (closed := closed_above(path))}
    if not hidden:
        return command
    lines = ["set -e", "umask 022"]
    for number, path in enumerate(hidden):
        kept = shlex.quote(str(scratch / "kept" / str(number)))
        lines += [f"mkdir -p {kept}", f"mount --bind {shlex.quote(str(path))} {kept}"]
    for closed in dict.fromkeys(hidden.values()):
        lines.append(f"mount -t tmpfs -o mode=755 course {shlex.quote(str(closed))}")
    for number, path in enumerate(hidden):
        place = shlex.quote(str(path))
        kept = shlex.quote(str(scratch / "kept" / str(number)))
        lines += [f"mkdir -p {place}", f"mount --bind {kept} {place}"]
    lines.append('exec "$@"')
    return ["unshare", "--mount", "bash", "-c", "\n".join(lines), "hub", *command]
