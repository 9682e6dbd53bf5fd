"""Open a lecture in JupyterLab: loopback only, with its token, the link printed plainly."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

import lectures
from course_utils.files import write_whole
from tools.editions.my_course import CopyError, copies_of, update_copies
from tools.ending import leave_in_order

from .place import ROOT, CommandError, Place, say, warn

LINK = re.compile(r"https?://127\.0\.0\.1:(\d+)/\S*")
TROUBLE = re.compile(r"\[[EC] [^]]*\] \S")  # a line of level error or critical that says something
# Save explorers in place of widgets that end with their kernel; let a picture go before a kernel.
EXTENSIONS = [
    f"--ServerApp.jpserver_extensions=tools.setup.{name}=True" for name in ("saving", "priority")
]
PRESENT_SETTINGS = Path(__file__).parent / "lab-settings" / "present.json"
PRESENT_EXTENSIONS = ROOT / "tools" / "presenting" / "labextensions"


def find_lecture(wanted: str) -> lectures.Lecture:
    """Return the lecture that a number, a name or a notebook's name means."""
    try:
        return lectures.find_lecture(wanted.removesuffix(".ipynb"))
    except LookupError as error:
        raise CommandError(str(error.args[0])) from None


def chosen_lecture(arguments: list[str]) -> lectures.Lecture:
    """Return the lecture named on the command line or in LECTURE, the first by default."""
    return find_lecture((arguments or [os.environ.get("LECTURE") or "0"])[0])


def lab(place: Place, arguments: list[str]) -> int:
    """Open the reader's own copy of a lecture; return JupyterLab's exit status."""
    lecture, folder = chosen_lecture(arguments), place.root / "my_course"
    try:
        for line in update_copies(place.root / "notebooks", folder):
            say(line)
    except CopyError as error:
        raise CommandError(str(error)) from None
    copies = copies_of(lecture.stem, folder)
    if not copies:
        raise CommandError(f"There is no notebook of lecture {lecture.stem}: get a new copy of it.")
    return serve(place, f"lab/tree/my_course/{quote(copies[-1].name)}")


def edit(place: Place, arguments: list[str]) -> int:
    """Open the source of a lecture; return JupyterLab's exit status."""
    return serve(place, f"lab/tree/notebooks/{chosen_lecture(arguments).stem}.ipynb")


def present(place: Place, arguments: list[str]) -> int:
    """Open a lecture as slides: the notebook's own cells, live, one slide at a time."""
    page = f"doc/tree/notebooks/{chosen_lecture(arguments).stem}.ipynb"
    say("The arrow keys turn the slides; ? lists all keys. Nothing is saved while presenting.")
    return serve(place, page, *present_options(place.venv / "presenting"))


def present_options(folder: Path) -> list[str]:
    """Return JupyterLab's options for presenting; write its settings into `folder`.

    The extension is loaded from where it lies: `make lab` knows nothing of it. What the presenter
    has changed since stays.
    """
    for plugin, values in json.loads(PRESENT_SETTINGS.read_text(encoding="utf-8")).items():
        # As JupyterLab keeps a user's settings: a folder for each package, a file for each plugin.
        file = folder / "settings" / f"{plugin.replace(':', '/')}.jupyterlab-settings"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, json.dumps(values, indent=2).encode())
    return [
        f"--LabApp.user_settings_dir={folder / 'settings'}",
        f"--LabApp.workspaces_dir={folder / 'workspaces'}",
        f"--LabApp.extra_labextensions_path={PRESENT_EXTENSIONS}",
    ]


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
        *EXTENSIONS,
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # as in most containers
        command.append("--allow-root")
    screen = any(map(os.environ.get, ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")))
    if sys.platform.startswith("linux") and not screen:
        command.append("--no-browser")
    return command


def kernel_options(runtime: str) -> list[str]:
    """Return how kernels are reached: by sockets in a folder that nobody else may enter.

    On a TCP port anyone who is logged in here could listen to what a kernel prints. Elsewhere than
    on Linux a socket's path must be shorter, or there are none.
    """
    short = len(runtime) < 50
    return ["--KernelManager.transport=ipc"] if sys.platform == "linux" and short else []


def variables_for(place: Place, runtime: str) -> dict[str, str]:
    """Return JupyterLab's environment: what cannot be written in the home is kept in `.venv`."""
    # COURSE_PAGES: which tools.setup.saving keeps.
    variables = {**place.activated(), "COURSE_PAGES": "1", "JUPYTER_RUNTIME_DIR": runtime}
    probe = [str(place.python), "-m", "tools.setup.home"]
    found = subprocess.run(probe, cwd=place.root, env=variables, capture_output=True, text=True)
    refused = json.loads(found.stdout) if found.returncode == 0 else {}
    for name in refused:
        variables[name] = str(place.venv / "home" / name.lower())
        Path(variables[name]).mkdir(parents=True, exist_ok=True)
    if refused:
        folder, why = next(iter(refused.values()))
        say(f"{folder} cannot be written ({why}): JupyterLab uses {place.venv / 'home'} instead.")
    return variables


def serve(place: Place, page: str, *options: str) -> int:
    """Run JupyterLab until it is stopped; print its link, its warnings and nothing else."""
    say("Starting JupyterLab ...")
    leave_in_order()  # and take JupyterLab along instead of leaving it behind
    with (
        tempfile.TemporaryDirectory(prefix="course-", ignore_cleanup_errors=True) as runtime,
        private_file(place.venv / "lab.log") as log,
        subprocess.Popen(
            [*lab_command(place, page), *kernel_options(runtime), *options],
            cwd=place.root,
            env=variables_for(place, runtime),
            stdout=subprocess.DEVNULL,  # what is worth reading comes on the error stream
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as process,
    ):
        try:
            report(process, log)
            return process.wait()
        except KeyboardInterrupt:
            # The terminal has sent Ctrl-C to JupyterLab as well; it saves and closes its kernels.
            process.communicate()
            say("JupyterLab has stopped.")
            return 0
        finally:
            if process.poll() is None:
                process.terminate()
                process.communicate()


def private_file(path: Path):
    """Open a new text file that no other user can read."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    return open(descriptor, "w", encoding="utf-8")


def report(process: subprocess.Popen, log) -> None:
    """Write JupyterLab's messages to a file; show the link once, and what went wrong."""
    shown = False
    for line in process.stderr or ():
        log.write(re.sub(r"token=\w+", "token=...", line))  # whoever has it may run code here
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
        warn(f"JupyterLab ended before it was ready; its messages are in {log.name}.")


def wait_for_answer(port: int) -> None:
    """Wait until JupyterLab answers: it names its link a moment before it listens."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            return socket.create_connection(("127.0.0.1", port), timeout=1).close()
        time.sleep(0.05)
