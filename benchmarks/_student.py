"""A student without a hub: their own server and kernels, with the settings the class has."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from benchmarks._kernel import Kernel

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "deploy" / "jupyterhub" / "student"
TOKEN = "of-this-measurement-alone"
START_SECONDS = 180
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class Memory:
    """A process's memory in MiB.

    Args:
        rss: all that is mapped and in memory, shared pages counted whole.
        pss: shared pages divided by the number of processes that share them.
        uss: pages that no other process has.
        data: what the process may write into, which RLIMIT_DATA limits; not all is in memory.
    """

    rss: float
    pss: float
    uss: float
    data: float


def memory_of(process: int) -> Memory:
    """Return what the system's kernel says about a process.

    Raises:
        OSError: where there is no such process, or the system is not Linux.
    """
    folder = Path("/proc") / str(process)
    mib: dict[str, float] = {}
    for file in ("smaps_rollup", "status"):
        for line in (folder / file).read_text().splitlines():
            name, _, value = line.partition(":")
            if value.endswith(" kB"):
                mib[name] = float(value.split()[0]) / 1024
    uss = mib["Private_Clean"] + mib["Private_Dirty"]
    return Memory(mib["Rss"], mib["Pss"], uss, mib["VmData"])


class Student:
    """A running server over a copy of the lectures; everything goes when the context ends."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="class-"))
        shutil.copytree(ROOT / "notebooks", self.folder / "notebooks")
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.port = server.getsockname()[1]  # nobody listens on it
        self.kernels: list[Kernel] = []
        private = {
            f"JUPYTER_{name.upper()}_DIR": str(self.folder / name)
            for name in ("config", "data", "runtime")
        }
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [
                sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root",
                "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={self.port}",
                "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}",
                f"--ServerApp.root_dir={self.folder / 'notebooks'}",
            ],
            env={
                **os.environ,
                **private,
                **dict.fromkeys(THREADS, "2"),
                "OMP_WAIT_POLICY": "PASSIVE",
                "JUPYTER_CONFIG_PATH": str(SETTINGS),
                "PYTHONPATH": str(ROOT),
                "TQDM_DISABLE": "1",
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def __enter__(self) -> Student:
        """Return the student, who is stopped at the end."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the server and its kernels."""
        for kernel in self.kernels:
            kernel.socket.close()
        self.process.terminate()  # a server ends its kernels first
        self.process.wait(60)
        shutil.rmtree(self.folder)

    def wait_until_up(self) -> None:
        """Wait for the server to answer.

        Raises:
            RuntimeError: if it ended or did not answer.
        """
        while True:
            try:
                self.ask("GET", "status")
                return
            except (urllib.error.URLError, ConnectionError):
                waited = time.perf_counter() - self.started
                if self.process.poll() is not None or waited > START_SECONDS:
                    raise RuntimeError(f"a server must start, got none in {waited:.0f} s") from None
                time.sleep(0.02)

    def ask(self, method: str, path: str, body: dict | None = None) -> dict:
        """Ask the server's API."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"token {TOKEN}"},
        )
        with urllib.request.urlopen(request, timeout=START_SECONDS) as answer:
            return json.load(answer)

    def start_kernel(self) -> tuple[Kernel, int]:
        """Return a new kernel and its process."""
        name = self.ask("POST", "kernels", {"name": "python3", "path": ""})["id"]
        address = f"ws://127.0.0.1:{self.port}/api/kernels/{name}/channels"
        kernel = Kernel(address, token=TOKEN)
        self.kernels.append(kernel)
        process = int(kernel.run("import os; print(os.getpid())").text)
        return kernel, process
