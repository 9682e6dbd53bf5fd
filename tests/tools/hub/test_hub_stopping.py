"""A server that nobody uses is stopped. Last: it stops them all."""

import subprocess
import sys
from pathlib import Path

import pytest

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


def shipped_culler(hub):
    """Return the environment of the culler that the hub started, with its token."""
    for folder in Path("/proc").glob("[0-9]*"):
        command = (folder / "cmdline").read_bytes() if (folder / "cmdline").exists() else b""
        if b"jupyterhub_idle_culler" in command and parent_of(folder) == hub.process.pid:
            text = (folder / "environ").read_bytes().decode()
            return dict(line.split("=", 1) for line in text.split("\0") if "=" in line)
    raise AssertionError("the configuration starts a culler")


def parent_of(process):
    status = (process / "status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("PPid:")))


def cull(hub, done):
    """Let the shipped culler stop what has been idle for a second, until that is done."""
    culler = [sys.executable, "-m", "jupyterhub_idle_culler", "--timeout=1", "--cull-every=1"]
    running = subprocess.Popen(culler, env=shipped_culler(hub), stderr=subprocess.DEVNULL)
    try:
        wait_for(done, "the end of idle servers", 120)
    finally:
        running.kill()
        running.wait()


def test_idle_server_is_stopped(hub, ben):
    ben.open_server()
    uid = hub.home(ben.name).stat().st_uid
    cull(hub, lambda: not processes_of(uid))
    assert (hub.home(ben.name) / NOTEBOOKS / "00_start_here.ipynb").exists(), "the copy stays"


def test_all_that_it_ran_ends_too(hub, units, ben):
    ben.open_server()
    uid = hub.home(ben.name).stat().st_uid
    kernel = ben.start_kernel()
    start = "subprocess.Popen({}, start_new_session=True)"
    lines = [start.format(["sleep", "9999"]), start.format(["python", "-c", BOMB]), "print('lit')"]
    lit = "\n".join(["import subprocess", *lines])
    assert kernel.run(lit).text.strip() == "lit"
    kernel.socket.close()
    wait_for(lambda: len(processes_of(uid)) > 100, "the bomb's growth")
    cull(hub, lambda: not processes_of(uid))
