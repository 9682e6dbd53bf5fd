"""Start the real JupyterLab on loopback, with a copy of the lectures, as `make lab` does."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from course_utils.explorers.explorer import ASKED_FOR_PAGES
from tools.chromium import find_chromium
from tools.setup.lab import EXTENSIONS

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: its address, its token, and the folder that it serves."""

    url: str
    token: str
    folder: Path

    def link(self, notebook: str) -> str:
        """Return the address that opens a notebook alone, in a workspace nobody used before."""
        return f"{self.url}lab/tree/{notebook}?reset&token={self.token}"


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def chromium() -> str:
    """Return the path of Chromium, from CHROMIUM or from PATH.

    Raises:
        RuntimeError: when there is none, with what to do.
    """
    if found := find_chromium():
        return found
    named = os.environ.get("CHROMIUM")
    asked = f"CHROMIUM is {named!r}, which is no program" if named else "none is on PATH"
    raise RuntimeError(
        f"browser tests need Chromium and {asked}: install it (Debian, Ubuntu: "
        "`apt-get install chromium`) or set CHROMIUM to the program's path"
    )


def copy_lectures(folder: Path) -> None:
    """Copy the lectures and what they show: a test changes its copy, never the course."""
    source = ROOT / "notebooks"
    if source.is_dir():
        ignored = shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__")
        shutil.copytree(source, folder, dirs_exist_ok=True, ignore=ignored)


def environment(private: Path) -> dict[str, str]:
    """Return an environment in which nothing of the user's own Jupyter is read or written."""
    folders = {
        "JUPYTER_CONFIG_DIR": private / "config",
        "JUPYTER_DATA_DIR": private / "data",
        "JUPYTER_RUNTIME_DIR": private / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": private / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": private / "workspaces",
    }
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    return {
        **os.environ,
        **{name: str(folder) for name, folder in folders.items()},
        "PYTHONPATH": str(ROOT),
        ASKED_FOR_PAGES: "1",
    }


@contextlib.contextmanager
def running_lab(
    folder: Path, private: Path, options: Sequence[str] = (), program: str = "jupyterlab"
) -> Iterator[Lab]:
    """Run JupyterLab, or another front end, over `folder` until the context ends."""
    port, token = free_port(), "course-browser-tests"
    command = [
        sys.executable, "-m", program, "--no-browser",
        "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}",
        "--LabApp.extension_manager=readonly",
        # Lets a test ask JupyterLab for the notebook's model; a reader's page is the same.
        "--LabApp.expose_app_in_browser=True",
        *EXTENSIONS,
        *options,
    ]  # fmt: skip
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    log = private / "jupyterlab.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            command, env=environment(private), stdout=output, stderr=output, cwd=folder
        )
        try:
            lab = Lab(f"http://127.0.0.1:{port}/", token, folder)
            wait_until_it_answers(lab, server, log)
            yield lab
        finally:
            server.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(timeout=20)
            if server.poll() is None:
                server.kill()
                server.wait()


def wait_until_it_answers(lab: Lab, server: subprocess.Popen, log: Path) -> None:
    """Wait until JupyterLab serves its status, or say what it wrote before it gave up."""
    deadline = time.monotonic() + START_SECONDS
    request = urllib.request.Request(
        f"{lab.url}api/status", headers={"Authorization": f"token {lab.token}"}
    )
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            urllib.request.urlopen(request, timeout=5).close()
            return
        time.sleep(0.2)
    said = log.read_text(encoding="utf-8", errors="replace")[-3000:]
    raise RuntimeError(f"JupyterLab did not answer within {START_SECONDS} s; it said:\n{said}")


def trust(notebook: Path, private: Path) -> None:
    """Sign a notebook, as JupyterLab does for whoever ran it."""
    command = [sys.executable, "-m", "jupyter", "trust", str(notebook)]
    subprocess.run(command, check=True, capture_output=True, env=environment(private), timeout=60)
