"""What a student costs on a shared server.

    python -m benchmarks.classroom            tables
    python -m benchmarks.classroom --json     the same as JSON

Each student is what the hub starts: a JupyterLab server with the class's settings, and a kernel on
two threads. Memory is read from the system's kernel (Linux): what students share, such as torch's
code, is counted once.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benchmarks._kernel import Kernel
from benchmarks._report import conditions, lines_of, table
from benchmarks._student import Memory, Student, memory_of
from tools.notebook_file import lecture_file, read_cells

SHARING = 3  # students whose memory is read at once
SERVER_GIB, RESERVED_GIB = 24, 2
HEAVIEST = "07"
PACKAGES = ("torch", "jupyterlab", "jupyter-server", "ipykernel", "ipywidgets", "numpy")

IMPORTS = "import torch, course_utils.explorers"


@dataclass(frozen=True)
class Cost:
    """What each of several students has in memory at one moment, in MiB, and what they share."""

    moment: str
    server: Memory
    kernel: Memory
    own: float
    shared: float

    @property
    def students(self) -> int:
        """How many fit: (24 GiB - 2 GiB reserved - shared) / own."""
        return int((1024 * (SERVER_GIB - RESERVED_GIB) - self.shared) / self.own)


def typical(readings: list[Memory]) -> Memory:
    """Return the medians of several processes' memory.

    >>> typical([Memory(1, 1, 1, 1), Memory(3, 3, 3, 3)]).pss
    2.0
    """
    rows = [asdict(reading) for reading in readings]
    return Memory(**{name: median(row[name] for row in rows) for name in rows[0]})


def cost(moment: str, processes: list[tuple[int, int]], alike: int = SHARING) -> Cost:
    """Read the memory of each student's server and kernel; the first `alike` have done the same."""
    servers = [memory_of(server) for server, _ in processes]
    kernels = [memory_of(kernel) for _, kernel in processes]
    everything = [*servers, *kernels]
    own = median(s.uss + k.uss for s, k in list(zip(servers, kernels, strict=True))[:alike])
    shared = sum(m.pss for m in everything) - sum(m.uss for m in everything)
    return Cost(moment, typical(servers[:alike]), typical(kernels[:alike]), own, shared)


def run_lecture(kernel: Kernel, number: str) -> None:
    """Run a lecture whole.

    Raises:
        RuntimeError: if a cell does otherwise than it should.
    """
    for cell in read_cells(lecture_file(number)):
        error = kernel.run(cell.source).error if cell.kind == "code" else ""
        if bool(error) != ("raises-exception" in cell.tags):
            raise RuntimeError(f"lecture {number}, {cell.name}: {error or 'no error'}")


def measure_costs(everyone: str, one: str) -> list[Cost]:
    """Return the costs along a student's way.

    Args:
        everyone: the lecture that every student runs.
        one: the lecture that the first student runs after it, while the others rest.
    """
    costs: list[Cost] = []
    with ExitStack() as stack:
        kernels: list[Kernel] = []
        processes: list[tuple[int, int]] = []
        for _ in range(SHARING):
            student = stack.enter_context(Student())
            student.wait_until_up()
            kernel, process = student.start_kernel()
            kernels.append(kernel)
            processes.append((student.process.pid, process))
        costs.append(cost("an empty kernel", processes))
        for kernel in kernels:
            kernel.run(IMPORTS)
        costs.append(cost("torch and the figures imported", processes))
        for kernel in kernels:
            run_lecture(kernel, everyone)
        costs.append(cost(f"lecture {everyone} run whole", processes))
        run_lecture(kernels[0], one)
        costs.append(cost(f"lecture {one} run whole, too", processes, alike=1))
    return costs


def report(result: dict) -> str:
    """Return everything that was measured, in words."""
    lines = [f"{name}: {value}" for name, value in result["conditions"].items()]
    rows = [
        [
            c["moment"],
            *(f"{c[who][kind]:.0f}" for who in ("server", "kernel") for kind in ("rss", "pss")),
            f"{c['own']:.0f}",
            f"{c['shared']:.0f}",
            f"{c['kernel']['data']:.0f}",
            f"{c['students']}",
        ]
        for c in result["costs"]
    ]
    head = ["after", "server RSS", "PSS", "kernel RSS", "PSS", "own", "shared", "writable", "fit"]
    lines += [
        "",
        f"MiB, {SHARING} students at once. Own: what one student adds (USS of server "
        f"and kernel). Shared: once for all. Fit: students in {SERVER_GIB} GiB, of which "
        f"{RESERVED_GIB} stay with the system and the hub.",
        "",
        *table(head, rows),
    ]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args(arguments)
    if not Path("/proc/self/smaps_rollup").exists():
        print("benchmarks.classroom reads memory from /proc, which only Linux has")
        return 0
    load = os.getloadavg()[0]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    costs = measure_costs("01", HEAVIEST)
    result = {
        "conditions": conditions("classroom", arguments, PACKAGES)
        | {"memory": f"{memory:.0f} GiB", "load before": f"{load:.1f} processes wanted a core"},
        "costs": [{**asdict(each), "students": each.students} for each in costs],
    }
    print(lines_of(result) if options.json else report(result))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
