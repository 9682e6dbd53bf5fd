"""Start the real hub on loopback, as root, with the configuration that the course ships.

Where systemd runs the machine, students' servers are units of it, as in a class. Elsewhere, as in
most containers, JupyterHub's own spawner starts them, without limits.
"""

import contextlib
import grp
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.browser.support_lab import free_port
from tests.tools.hub.support_reach import closed_above, reachable

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy" / "jupyterhub"
CONFIGURATION = DEPLOY / "jupyterhub_config.py"
SYSTEMD = Path("/run/systemd/system").is_dir()
# Where a class is set up, its rules speak of this group.
CLASS = any(group.gr_name == "students" for group in grp.getgrall())
IN_GROUP = ("--groups", "students") if CLASS else ()
PASSWORD = "a password for tests alone"
MEMORY = 2**30
START_SECONDS = 90

# Read after the shipped configuration, as a deployment's own settings are.
OVERLAY = """\
c.JupyterHub.bind_url = "http://127.0.0.1:{public}"
c.JupyterHub.hub_port = {hub}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api}"
c.JupyterHub.authenticator_class = "shared-password"
c.SharedPasswordAuthenticator.user_password = "{password}"
c.Authenticator.allowed_users = {students}
c.JupyterHub.cleanup_servers = True
c.SystemdSpawner.mem_limit = "1G"
"""
WITHOUT_SYSTEMD = """\
import students
c.JupyterHub.spawner_class = "jupyterhub.spawner.LocalProcessSpawner"
c.Spawner.pre_spawn_hook = lambda spawner: students.check_account(spawner.user.name)
"""

Found = TypeVar("Found")


def wait_for(
    condition: Callable[[], Found | None], what: str, seconds: float = START_SECONDS
) -> Found:
    """Return what `condition` gives once it gives something."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not happen within {seconds:.0f} s")
        time.sleep(0.05)
    return found


def what_is_missing() -> list[str]:
    """Return what this machine lacks to run the hub, each with what to do."""
    missing = []
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        missing.append("root, who alone can start a server under a student's account")
    for program in ("useradd", "userdel", "unshare", "setpriv"):
        if not shutil.which(program):
            missing.append(f"{program} (Debian, Ubuntu: passwd, util-linux)")
    wanted = ("jupyterhub", "jupyterhub_idle_culler", "systemdspawner")
    imports = f"import {', '.join(wanted)}"
    if subprocess.run([sys.executable, "-c", imports], capture_output=True).returncode:
        missing.append(f'{", ".join(wanted)}: python -m pip install -e ".[class]"')
    beside = DEPLOY / "node_modules" / ".bin" / "configurable-http-proxy"
    if not beside.exists() and not shutil.which("configurable-http-proxy"):
        missing.append("configurable-http-proxy: npm ci --prefix deploy/jupyterhub")
    places = (Path(sys.prefix), Path(sys.base_prefix), ROOT)
    if SYSTEMD and (closed := [str(path) for path in places if closed_above(path)]):
        missing.append(f"what every account can reach, which {', '.join(closed)} is not")
    return missing


@dataclass(frozen=True)
class Hub:
    """A running hub: its address, its folder, and the students who have accounts."""

    url: str
    folder: Path
    process: subprocess.Popen
    students: tuple[str, ...]

    def log(self) -> str:
        """Return what the hub and, without systemd, the students' servers have said."""
        return (self.folder / "hub.log").read_text(encoding="utf-8", errors="replace")

    def home(self, student: str) -> Path:
        return self.folder / "home" / student


@contextlib.contextmanager
def accounts(folder: Path, names: tuple[str, ...]) -> Iterator[None]:
    """Make an account for each student, with a home that others may read as some systems make it.

    Everything of theirs is gone afterwards: processes, account and home.
    """
    homes = folder / "home"
    homes.mkdir(mode=0o755)
    made = []
    try:
        for name in names:
            home = str(homes / name)
            make = ["useradd", "-m", "-K", "HOME_MODE=0755", "-d", home, *IN_GROUP]
            subprocess.run([*make, "-s", "/usr/sbin/nologin", name], check=True)
            made.append(name)
        yield
    finally:
        for name in made:
            end_processes_of(pwd.getpwnam(name).pw_uid)
            subprocess.run(["userdel", "-f", name], check=True, capture_output=True)


def processes_of(uid: int) -> list[int]:
    """Return the ids of an account's processes."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == uid:
                found.append(int(folder.name))
    return found


def end_processes_of(uid: int) -> None:
    """End everything that an account runs."""

    def nothing_left() -> bool:
        left = processes_of(uid)
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return not left

    wait_for(nothing_left, f"the end of the processes of account {uid}")


def course_copy(folder: Path) -> Path:
    """Copy the lectures and the tools: a test changes its copy, never the course."""
    for name in ("notebooks", "tools"):
        ignored = shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__")
        shutil.copytree(ROOT / name, folder / "course" / name, ignore=ignored)
    return folder / "course"


@contextlib.contextmanager
def running_hub(students: tuple[str, ...]) -> Iterator[Hub]:
    """Run the hub until the context ends."""
    # Not in /tmp, where a student's server sees a folder of its own.
    folder = Path(tempfile.mkdtemp(prefix="course-hub-", dir="/var/tmp"))
    folder.chmod(0o755)  # students come through it to their homes
    try:
        with accounts(folder, students):
            ports = {name: free_port() for name in ("public", "hub", "api")}
            overlay = OVERLAY.format(**ports, password=PASSWORD, students=set(students))
            settings = folder / "overlay.py"
            settings.write_text(overlay if SYSTEMD else overlay + WITHOUT_SYSTEMD)
            environment = {
                "PATH": os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ["PATH"]]),
                "LANG": "C.UTF-8",
                "COURSE_HUB_STATE": str(folder / "state"),
                "COURSE_HUB_SETTINGS": str(settings),
                "COURSE_FOLDER": str(course_copy(folder)),
            }
            command = [sys.executable, "-m", "jupyterhub", "-f", str(CONFIGURATION)]
            with (folder / "hub.log").open("wb") as log:
                process = subprocess.Popen(
                    reachable(command, [ROOT, DEPLOY, folder], folder),
                    env=environment, cwd=folder, stdout=log, stderr=log,
                )  # fmt: skip
            hub = Hub(f"http://127.0.0.1:{ports['public']}", folder, process, students)
            try:
                wait_for(lambda: is_up(hub), "the start of the hub")
                yield hub
            finally:
                stop(process)
    finally:
        shutil.rmtree(folder)


def is_up(hub: Hub) -> bool:
    """Return whether the hub answers through its proxy."""
    import httpx

    if hub.process.poll() is not None:
        raise RuntimeError(f"the hub ended with {hub.process.returncode}:\n{hub.log()[-3000:]}")
    with contextlib.suppress(httpx.HTTPError):
        return httpx.get(f"{hub.url}/hub/api/", timeout=5).status_code == 200
    return False


def stop(process: subprocess.Popen) -> None:
    """End the hub; it ends the proxy, the services and, by the overlay, the servers."""
    process.terminate()
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
