"""Run pip so that a newcomer sees what happens, and learns in one sentence why it failed."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys

from .place import WINDOWS, CommandError, Place, how_to_run

DISK_FULL = (
    "The disk is full: the course needs about 4 GB, and several more where torch comes with CUDA. "
    "Free some, then run `{again}` again."
)
NOT_WRITTEN = (
    "{what} cannot be written ({why}): close what uses it, then run `{again}` again."
    if WINDOWS
    else "{what} cannot be written ({why}): copy the course to a folder that you may write to, "
    "then run `{again}` there."
)
NOT_USABLE = "{what} cannot be used ({why}): put that right, then run `{again}` again."
ELSEWHERE = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT")  # where pip would install instead
# Ordered: pip ends a failed download with "No matching distribution" too, so the cause comes first.
CAUSES = (
    (r"No space left on device|Errno 28|not enough space on the disk", DISK_FULL),
    (
        r"CERTIFICATE_VERIFY_FAILED|SSLCertVerificationError",
        "The package index's certificate was refused, as happens behind a company's proxy: "
        "point PIP_CERT at its certificate file, then run `{again}` again.",
    ),
    (
        r"NewConnectionError|ConnectTimeoutError|NameResolutionError|ReadTimeoutError|"
        r"Temporary failure in name resolution|getaddrinfo failed|Network is unreachable|"
        r"ProxyError|Connection refused|Connection reset|Connection broken|IncompleteRead",
        "The package index cannot be reached: check the network, then run `{again}` again; "
        "what is downloaded is kept.",
    ),
    (
        r"Failed to parse: (?P<what>\S+)",
        "{what} is no address: correct it where your proxy, or pip's index, is set, "
        "then run `{again}` again.",
    ),
    (r"\[(?:Errno 13|Errno 30|WinError 5|WinError 32)\] (?P<why>[^:]+): '(?P<what>[^'\n]+)",
     NOT_WRITTEN),
    (
        r"No matching distribution found for (?P<what>\S+)",
        "There is no {what} for this Python ({python}) and system: use Python 3.11, 3.12 or 3.13 "
        "(64 bit), then run `{again}` again. For Intel Macs and Windows on ARM there is no torch.",
    ),
)  # fmt: skip


def explain(output: str, again: str) -> str:
    """Return why set-up failed: the sentence for a known cause, or the last of what was said.

    >>> explain("OSError: [Errno 28] No space left on device", "lab")[:16]
    'The disk is full'
    """
    words = {"again": how_to_run(again), "python": "{}.{}".format(*sys.version_info)}
    for pattern, sentence in CAUSES:
        if found := re.search(pattern, output):
            return sentence.format(**words, **found.groupdict())
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"\w*(Error|ERROR): ", line)]
    telling = errors[-3:] or lines[-5:]
    return "\n".join(["Set-up failed:", *telling])


def explain_error(error: OSError, again: str) -> str | None:
    """Return the sentence for what the system said of a file; None where it said nothing."""
    words = {"what": error.filename or "A file", "why": error.strerror, "again": how_to_run(again)}
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DISK_FULL.format(**words)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return NOT_WRITTEN.format(**words)
    return NOT_USABLE.format(**words) if error.strerror else None


def install(place: Place, arguments: list[str], again: str) -> None:
    """Run `pip install` in the environment; raise CommandError where it fails.

    While pip runs there is no stamp: should this be cut off, nobody can vouch for the folder.
    """
    held = place.stamp.with_suffix(".held")
    place.stamp.replace(held)  # which needs no room on a full disk
    # -I: neither PYTHONPATH nor the user's own packages may take part.
    command = [str(place.python), "-I", "-m", "pip", "install", "--no-input", *arguments]
    # Whatever the user's settings for pip say: into this environment.
    variables = {k: v for k, v in os.environ.items() if k not in ELSEWHERE}
    said = []
    with (
        place.log.open("a", encoding="utf-8") as log,
        subprocess.Popen(
            [*command, "--disable-pip-version-check"],
            cwd=place.root,
            env={**variables, "PIP_USER": "0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            close_fds=False,  # pip holds the lock too: should this process be killed, none joins it
        ) as process,
    ):
        for line in process.stdout or ():
            log.write(line)
            said.append(line)
            show(line.strip())
    show("")
    if process.returncode != 0:
        if not any(line.startswith("Installing collected packages") for line in said):
            held.replace(place.stamp)  # nothing was written
        raise CommandError(f"{explain(''.join(said), again)}\nAll that pip said is in {place.log}.")


def show(line: str) -> None:
    """Show pip's latest line in a terminal, in the place of the one before."""
    if sys.stdout.isatty():
        print("\r" + line[:78].ljust(79), end="" if line else "\r", flush=True)
