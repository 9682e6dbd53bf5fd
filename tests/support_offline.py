"""Refuse every socket that leaves this machine, in tests and in the kernels they start.

An audit hook sees the call whichever library makes it, and nothing can take it off again.
Sockets opened by other programs (a browser, a shell command) are outside its reach.
"""

import contextlib
import ipaddress
import socket
import sys
from pathlib import Path

_WITH_SOCKET = ("socket.connect", "socket.sendto", "socket.sendmsg")
_WITH_NAME = ("socket.getaddrinfo", "socket.gethostbyname")


class NetworkRefused(RuntimeError):
    """Not an OSError: code that shrugs off a missing network must not shrug this off."""


def stays_here(host: str | bytes | None) -> bool:
    """Return whether `host` is this machine, by loopback address or by name."""
    if isinstance(host, bytes):
        host = host.decode(errors="replace")
    if host in (None, "", "localhost", socket.gethostname()):
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def _refuse(event: str, arguments: tuple) -> None:
    if event in _WITH_SOCKET:
        opened, address = arguments[:2]
        # A UNIX socket has a path for an address; a connected one may send to None.
        host = address[0] if isinstance(address, tuple) else None
        if opened.family not in (socket.AF_INET, socket.AF_INET6):
            return
    elif event in _WITH_NAME:
        host = arguments[0]
    else:
        return
    if not stays_here(host):
        raise NetworkRefused(f"tests use no network: {event} to {host!r} is refused")


def refuse_network() -> None:
    """Refuse, from now on and in this process, everything but loopback and UNIX sockets."""
    if not getattr(sys, "_course_network_refused", False):
        sys.addaudithook(_refuse)
        sys._course_network_refused = True


_STARTUP = '''\
def _refuse_network():
    """Run in a function, so that the lecture's namespace stays as a student has it."""
    import importlib.util
    import sys

    spec = importlib.util.spec_from_file_location("support_offline", {path!r})
    module = sys.modules["support_offline"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.refuse_network()


_refuse_network()
del _refuse_network
'''


def write_ipython_startup(ipython_folder: Path) -> None:
    """Make every IPython kernel that uses `ipython_folder` refuse the network as well."""
    startup = ipython_folder / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00-offline.py").write_text(_STARTUP.format(path=__file__), encoding="utf-8")
