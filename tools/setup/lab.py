"""Open a lecture in JupyterLab: loopback only, with its token, the link printed plainly."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from .place import WINDOWS, CommandError, Place, how_to_run, say, warn

LINK = re.compile(r"https?://127\.0\.0\.1:(\d+)/\S*")
TROUBLE = re.compile(r"\[[EC] [^]]*\] \S")  # a line of level error or critical that says something
PRESENT_SETTINGS = Path("lab-settings") / "present.json"
PRESENT_EXTENSIONS = Path("presenting") / "labextensions"


def lectures(place: Place) -> list[str]:
    """Return the names of the lectures, in order."""
    return sorted(path.stem for path in (place.root / "notebooks").glob("[0-9][0-9]_*.ipynb"))


def find_lecture(wanted: str, place: Place) -> str:
    """Return the lecture that a number or a name means: `0`, `00`, `00_start_here`."""
    known = lectures(place)
    name = wanted.removesuffix(".ipynb")
    name = name.zfill(2) if name.isdigit() else name
    for lecture in known:
        if name in (lecture, lecture.split("_")[0]):
            return lecture
    example = f"{how_to_run('present')} {'00' if WINDOWS else 'LECTURE=00'}"
    raise CommandError(
        f"There is no lecture {wanted!r}; there are: {', '.join(known) or 'none yet'}. "
        f"For example: `{example}`."
    )


def can_show_browser() -> bool:
    """Return whether opening a browser has a chance: not on a Linux without a screen."""
    if not sys.platform.startswith("linux") or os.environ.get("BROWSER"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def lab_command(place: Place, page: str) -> list[str]:
    """Return JupyterLab's command line for a page such as `lab/tree/notebooks/x.ipynb`."""
    command = [
        str(place.python),
        *("-m", "jupyterlab"),
        "-y",  # one Ctrl-C ends it, without a question
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.root_dir={place.root}",
        f"--LabApp.default_url=/{page}",
        # The other managers ask a package index for extensions.
        "--LabApp.extension_manager=readonly",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # as in most containers
        command.append("--allow-root")
    return command if can_show_browser() else [*command, "--no-browser"]


def lab(place: Place, lecture: str = "00") -> int:
    """Open a lecture to work in; return JupyterLab's exit status."""
    page = f"lab/tree/notebooks/{find_lecture(lecture, place)}.ipynb"
    return serve(place, page)


def present(place: Place, lecture: str = "00") -> int:
    """Open a lecture as slides: the notebook's own cells, live, one slide at a time."""
    page = f"doc/tree/notebooks/{find_lecture(lecture, place)}.ipynb"
    say("The arrow keys turn the slides; ? lists all keys. Nothing is saved while presenting.")
    return serve(place, page, *present_options(place.root, place.venv / "presenting"))


def present_options(root: Path, folder: Path) -> list[str]:
    """Return JupyterLab's options for presenting; write its settings into `folder`.

    The extension is loaded from where it lies: `make lab` knows nothing of it.
    """
    write_settings(root / PRESENT_SETTINGS, folder / "settings")
    return [
        f"--LabApp.user_settings_dir={folder / 'settings'}",
        f"--LabApp.workspaces_dir={folder / 'workspaces'}",
        f"--LabApp.extra_labextensions_path={root / PRESENT_EXTENSIONS}",
    ]


def write_settings(source: Path, folder: Path) -> None:
    """Write settings as JupyterLab keeps a user's: a folder per package, a file per plugin.

    What the presenter has changed since stays.
    """
    for plugin, values in json.loads(source.read_text(encoding="utf-8")).items():
        package, name = plugin.split(":")
        file = folder / package / f"{name}.jupyterlab-settings"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values, indent=2), encoding="utf-8")


def variables_for(place: Place) -> dict[str, str]:
    """Return the environment variables of JupyterLab and of its kernels.

    torch's threads wait for each other by spinning, which keeps a core from whoever could end the
    wait. With one of two cores taken by another program, as a video call does, lecture 04 took more
    than 90 s; with threads that sleep while they wait 30 s, and 24 instead of 22 s with both free.
    Whoever has set the variable keeps it.
    """
    return {"OMP_WAIT_POLICY": "PASSIVE", **place.activated()}


def serve(place: Place, page: str, *options: str) -> int:
    """Run JupyterLab until it is stopped; print its link, its warnings and nothing else."""
    say("Starting JupyterLab ...")
    # Told to end, this process takes JupyterLab along instead of leaving it behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    process = subprocess.Popen(
        [*lab_command(place, page), *options],
        cwd=place.root,
        env=variables_for(place),
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    reader = threading.Thread(target=report, args=(process, place.venv / "lab.log"), daemon=True)
    reader.start()
    try:
        return process.wait()
    except KeyboardInterrupt:
        # The terminal has sent Ctrl-C to JupyterLab as well; it saves and closes its kernels.
        process.wait()
        say("JupyterLab has stopped.")
        return 0
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        reader.join(timeout=2)


def report(process: subprocess.Popen, log_file: Path) -> None:
    """Write JupyterLab's messages to a file; show the link once, and what went wrong."""
    shown = False
    with log_file.open("w", encoding="utf-8") as log:
        for line in process.stderr or ():
            log.write(line)
            log.flush()
            link = LINK.search(line)
            if link and not shown:
                shown = True
                wait_for_answer(int(link[1]))
                say(f"\nThe course is open at\n\n    {link.group()}\n")
                say("Open that link in a browser, should none have opened. Ctrl-C here stops it,")
                say("and what is not saved is lost: keep the terminal open as long as you work.\n")
            elif TROUBLE.match(line) or "already in use" in line:
                warn(line.rstrip())
    if not shown:
        warn(f"JupyterLab ended before it was ready; its messages are in {log_file}.")


def wait_for_answer(port: int, seconds: float = 10.0) -> None:
    """Wait until JupyterLab answers: it names its link a moment before it listens."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
