"""A server that nobody uses is stopped, with all that its student ran. Last: it stops them all."""

import subprocess
import sys
from pathlib import Path

import pytest
from cgroups import find_trees

from tests.tools.hub.support_hub import processes_of, wait_for
from tests.tools.hub.support_student import NOTEBOOKS

pytestmark = pytest.mark.hub


# Whichever is ended, the others replace it.
BOMB = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""


def environment_of(process):
    """Return the environment that a process was started with."""
    text = Path(f"/proc/{process}/environ").read_bytes().decode()
    return dict(line.split("=", 1) for line in text.split("\0") if "=" in line)


def shipped_culler(hub):
    """Return the environment of the culler that the hub started, with its token."""
    for folder in Path("/proc").glob("[0-9]*"):
        command = (folder / "cmdline").read_bytes() if (folder / "cmdline").exists() else b""
        if b"jupyterhub_idle_culler" in command:
            found = environment_of(folder.name)
            if found.get("JUPYTERHUB_API_URL", "").startswith("http") and ours(folder.name, hub):
                return found
    raise AssertionError("the configuration starts a culler")


def ours(process, hub):
    """Return whether a process was started by this hub."""
    status = (Path("/proc") / process / "status").read_text()
    parent = next(line.split()[1] for line in status.splitlines() if line.startswith("PPid:"))
    return int(parent) == hub.process.pid


def test_idle_servers_are_stopped_with_all_that_they_ran(hub, ben):
    home = hub.home(ben.name)
    uid = home.stat().st_uid
    ben.open_server()
    kernel = ben.start_kernel()
    sleeper = "Popen(['sleep', '9999'], start_new_session=True)"
    stray = f"from subprocess import Popen; print({sleeper}.pid)"
    assert int(kernel.run(stray).text) in processes_of(uid)
    bomb = f"Popen([sys.executable, '-c', {BOMB!r}], start_new_session=True)"
    assert kernel.run(f"import sys; {bomb}; print('lit')").text.strip() == "lit"
    kernel.socket.close()
    wait_for(lambda: len(processes_of(uid)) > 100, "the bomb's growth")

    culler = [sys.executable, "-m", "jupyterhub_idle_culler", "--timeout=1", "--cull-every=1"]
    running = subprocess.Popen(culler, env=shipped_culler(hub), stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: not processes_of(uid), "the end of all that the student ran", 120)
    finally:
        running.kill()
        running.wait()
    group = find_trees().student(uid)
    assert not any(folder.exists() for folder in group.folders.values())
    assert (home / NOTEBOOKS / "00_start_here.ipynb").exists(), "the copy stays"
