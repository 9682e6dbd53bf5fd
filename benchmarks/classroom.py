"""What a student costs on a shared server.

    python -m benchmarks.classroom            tables
    python -m benchmarks.classroom --json     the same as JSON

Each student has what the hub starts: a JupyterLab server with the class's settings, and a kernel on
two threads. Memory is read from the system's kernel (Linux): what students share, such as torch's
code, is counted once.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from jupyter_client.manager import KernelManager

from benchmarks._tables import conditions, lines_of, table
from tools.notebook_file import lecture_file, read_cells

ROOT = Path(__file__).resolve().parent.parent
SHARING = 3  # students whose memory is read at once
SERVER_GIB, RESERVED_GIB = 24, 2
EVERYONE, HEAVIEST = "01", "07"  # the lecture that all run, and what one runs after it
PACKAGES = ("torch", "jupyterlab", "jupyter-server", "ipykernel", "ipywidgets", "numpy")
IMPORTS = "import torch, course_utils.explorers"
SECONDS = 180  # until a server answers
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "2")


@dataclass(frozen=True)
class Student:
    """A server's process, and a kernel with its client."""

    server: int
    kernel: int
    client: Any

    def run(self, code: str) -> str:
        """Run a cell and return the name of its error, empty without one."""
        answer = self.client.execute_interactive(code, output_hook=lambda message: None)
        return answer["content"].get("ename", "")


@contextmanager
def student() -> Iterator[Student]:
    """Start a server and a kernel with the class's settings; both end with the context."""
    with tempfile.TemporaryDirectory(prefix="class-") as folder, ExitStack() as stack:
        private = {f"JUPYTER_{name}_DIR": f"{folder}/{name}" for name in ("CONFIG", "DATA")}
        variables = {
            **os.environ, **private, **THREADS, "OMP_WAIT_POLICY": "PASSIVE",
            "JUPYTER_CONFIG_PATH": str(ROOT / "deploy" / "jupyterhub" / "student"),
            "PYTHONPATH": str(ROOT), "TQDM_DISABLE": "1",
        }  # fmt: skip
        shutil.copytree(ROOT / "notebooks", f"{folder}/notebooks")
        server = stack.enter_context(running_server(f"{folder}/notebooks", variables))
        kernel = KernelManager(kernel_name="python3")
        kernel.start_kernel(env=variables, cwd=f"{folder}/notebooks")
        stack.callback(kernel.shutdown_kernel, now=True)
        client = kernel.client()
        client.start_channels()
        stack.callback(client.stop_channels)
        client.wait_for_ready(timeout=SECONDS)
        yield Student(server.pid, kernel.provisioner.pid, client)


@contextmanager
def running_server(folder: str, variables: dict[str, str]) -> Iterator[subprocess.Popen]:
    """Run JupyterLab over a folder; it answers when the context begins."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]  # nobody listens on it
    options = [
        "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", "--ServerApp.port_retries=0",
        f"--ServerApp.port={port}", f"--ServerApp.root_dir={folder}",
    ]  # fmt: skip
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *options],
        env=variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + SECONDS
    try:
        while socket.socket().connect_ex(("127.0.0.1", port)):
            if server.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"a server must start within {SECONDS} s, got none")
            time.sleep(0.1)
        yield server
    finally:
        server.terminate()
        server.wait(60)


def memory_of(process: int) -> tuple[float, float]:
    """Return MiB of a process: pages that no other has, and its part of those that others share."""
    mib: dict[str, float] = {}
    for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
        name, _, value = line.partition(":")
        if value.endswith(" kB"):
            mib[name] = float(value.split()[0]) / 1024
    own = mib["Private_Clean"] + mib["Private_Dirty"]
    return own, mib["Pss"] - own


def cost(moment: str, students: list[Student], alike: int = SHARING) -> dict[str, Any]:
    """Return what each student has in memory now, what is shared, and how many would fit.

    (24 GiB - 2 GiB reserved - shared) / own, in MiB; the first `alike` have done the same.
    """
    servers = [memory_of(each.server) for each in students]
    kernels = [memory_of(each.kernel) for each in students]
    own = median([s + k for (s, _), (k, _) in zip(servers, kernels, strict=True)][:alike])
    shared = sum(part for _, part in [*servers, *kernels])
    fit = int((1024 * (SERVER_GIB - RESERVED_GIB) - shared) / own)
    return {"moment": moment, "own": round(own, 1), "shared": round(shared, 1), "students": fit}


def run_lecture(student: Student, number: str) -> None:
    """Run a lecture whole; raise RuntimeError if a cell does otherwise than it should."""
    for cell in read_cells(lecture_file(number)):
        error = student.run(cell.source) if cell.kind == "code" else ""
        if bool(error) != ("raises-exception" in cell.tags):
            raise RuntimeError(f"lecture {number}, {cell.name}: {error or 'no error'}")


def measure_costs() -> list[dict[str, Any]]:
    """Return the costs along a student's way; at the end the first goes on, the others rest."""
    with ExitStack() as stack:
        students = [stack.enter_context(student()) for _ in range(SHARING)]
        costs = [cost("an empty kernel", students)]
        for each in students:
            each.run(IMPORTS)
        costs.append(cost("torch and the figures imported", students))
        for each in students:
            run_lecture(each, EVERYONE)
        costs.append(cost(f"lecture {EVERYONE} run whole", students))
        run_lecture(students[0], HEAVIEST)
        costs.append(cost(f"lecture {HEAVIEST} run whole, too", students, alike=1))
    return costs


def report(result: dict) -> str:
    """Return everything that was measured, in words."""
    rows = [
        [each["moment"], f"{each['own']:.0f}", f"{each['shared']:.0f}", f"{each['students']}"]
        for each in result["costs"]
    ]
    about = (
        f"MiB, {SHARING} students at once. Own: what one student adds (server and kernel). Shared: "
        f"once for all. Fit: students in {SERVER_GIB} GiB, of which {RESERVED_GIB} stay with the "
        "system and the hub."
    )
    where = [f"{name}: {value}" for name, value in result["conditions"].items()]
    return "\n".join([*where, "", about, "", *table(["after", "own", "shared", "fit"], rows)])


def main(arguments: list[str]) -> int:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args(arguments)
    if not Path("/proc/self/smaps_rollup").exists():
        print("benchmarks.classroom reads memory from /proc, which only Linux has")
        return 0
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    where = conditions("classroom", arguments, PACKAGES) | {
        "memory": f"{memory:.0f} GiB",
        "load before": f"{os.getloadavg()[0]:.1f} processes wanted a core",
    }
    result = {"conditions": where, "costs": measure_costs()}
    print(lines_of(result) if options.json else report(result))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
