"""Run pip so that a newcomer sees what happens, and learns in one sentence why it failed."""

from __future__ import annotations

import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

from .lock import held
from .place import CommandError, Place, how_to_run, say

SILENCE = 20.0  # seconds after which a line says that the work goes on
PULSE = 1.0

# Ordered: pip ends a failed download with "No matching distribution" too, so the cause comes first.
CAUSES = (
    (r"No space left on device|Errno 28|not enough space on the disk",
     "The disk is full: the course needs about 4 GB, and several more where torch comes with "
     "CUDA. Free some, then run `{again}` again."),
    (r"CERTIFICATE_VERIFY_FAILED|SSLCertVerificationError",
     "The download's certificate was refused, as happens behind a company's proxy: "
     "point PIP_CERT at its certificate file, then run `{again}` again."),
    (r"NewConnectionError|ConnectTimeoutError|NameResolutionError|ReadTimeoutError|"
     r"Temporary failure in name resolution|getaddrinfo failed|Network is unreachable|"
     r"ProxyError|Connection refused|Connection reset|Connection broken|IncompleteRead",
     "The package index cannot be reached: check the network, then run `{again}` again; "
     "what is downloaded is kept."),
    (r"Permission denied|Errno 13|WinError 5\b|WinError 32",
     "A file is in use or may not be written: close JupyterLab, then run `{again}` again."),
    (r"No matching distribution found for (?P<what>\S+)",
     "There is no {what} for this Python ({python}) and system: use Python 3.11, 3.12 or 3.13 "
     "(64 bit), run `{clean}`, then `{again}` again. For Intel Macs and Windows on ARM there is no "
     "torch."),
    (r"ResolutionImpossible|conflicting dependencies",
     "The pinned versions contradict each other: run `{clean}`, then `{again}` again; "
     "should it stay, report it with {log}."),
)  # fmt: skip


def explain(output: str, *, again: str, log: str) -> str:
    """Return the sentence for a failed pip run.

    >>> explain("OSError: [Errno 28] No space left on device", again="lab", log="").split(":")[0]
    'The disk is full'
    """
    words = {
        "again": how_to_run(again),
        "clean": how_to_run("clean"),
        "log": log,
        "python": ".".join(map(str, sys.version_info[:2])),
    }
    for pattern, sentence in CAUSES:
        found = re.search(pattern, output)
        if found:
            return sentence.format(**words, **found.groupdict())
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"\w*(Error|ERROR): ", line)]
    telling = errors[-3:] or lines[-5:]
    return "\n".join(["pip failed and said:", *telling, f"All of it is in {log}."])


def install(place: Place, arguments: list[str], *, again: str) -> None:
    """Run `pip install` in the course's environment; raise CommandError where it fails.

    From the moment pip writes files until it is done, `place.half_installed` exists: the next
    set-up then knows that nobody can vouch for the folder.
    """
    # -I: neither PYTHONPATH nor the user's own packages may take part.
    command = [str(place.python), "-I", "-m", "pip", "install", "--no-input", *arguments]
    variables = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONUTF8": "1"}
    progress = Progress()
    said = []
    with (
        place.log.open("a", encoding="utf-8") as log,
        subprocess.Popen(
            command,
            cwd=place.root,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            # pip holds the lock too: should this process be killed, none starts beside an orphan.
            pass_fds=held.get(place.lock, ()),
        ) as process,
    ):
        for line in lines_or_none(process):
            if line is not None:
                log.write(line)
                said.append(line)
                if line.startswith("Installing collected packages"):
                    place.half_installed.touch()
            progress.show(line)
    progress.finish()
    if process.returncode != 0:
        raise CommandError(explain("".join(said), again=again, log=str(place.log)))
    place.half_installed.unlink(missing_ok=True)


def lines_or_none(process: subprocess.Popen) -> Iterator[str | None]:
    """Yield each line as it comes, and None for every second without one."""
    lines: queue.Queue[str] = queue.Queue()

    def read() -> None:
        for line in process.stdout or ():
            lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=PULSE)
        except queue.Empty:
            yield None
            continue
        if not line:
            return
        yield line


class Progress:
    """One line that is rewritten in a terminal; elsewhere a line now and then."""

    def __init__(self) -> None:
        self.started = self.last = time.monotonic()
        self.terminal = sys.stdout.isatty()
        self.seen = 0
        self.doing = "asking which packages there are"

    def show(self, line: str | None) -> None:
        """Take note of a line of pip's, or of a second of silence."""
        if line is not None:
            self.read(line.strip())
        text = f"    {self.doing} ({time.monotonic() - self.started:.0f} s)"
        if self.terminal:
            print("\r" + text[:78].ljust(79), end="", flush=True)
        elif time.monotonic() - self.last > SILENCE:
            self.last = time.monotonic()
            say(text)

    def read(self, line: str) -> None:
        """Turn pip's words into what the reader is told."""
        word, _, rest = line.partition(" ")
        if word == "Collecting":
            self.seen += 1
            self.doing = f"package {self.seen}: {rest.split()[0]}"
        elif word == "Downloading":
            self.doing = f"package {self.seen}: downloading {rest.split('/')[-1]}"
        elif line.startswith("Installing collected packages"):
            count = line.count(",") + 1
            self.doing = f"unpacking {count} package{'s' if count > 1 else ''}"

    def finish(self) -> None:
        """Leave the terminal on a fresh line."""
        if self.terminal:
            print("\r" + " " * 79 + "\r", end="", flush=True)
