"""Peak memory beyond the inputs: of a fresh process on a CPU, of torch's allocator on a GPU.

    python -m benchmarks._memory '{"case": …, "rival": …, "what": …, "threads": 2}'

is that fresh process. It counts what stays in memory (the high-water mark VmHWM, Linux alone),
whoever took it: torch, its matrix library, its threads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import torch

from benchmarks._cases import Case
from benchmarks._rivals import CannotRun, attend_with

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 120
STATUS = Path("/proc/self/status")
WARM_UP_N = 64


def status_bytes(field: str) -> int:
    """Return a figure of /proc/self/status, such as VmRSS (resident now) or VmHWM (its peak)."""
    if not STATUS.exists():
        raise CannotRun("peak memory on a CPU is read from /proc, which only Linux has")
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(f"{field}:"))
    return 1024 * int(line.split()[1])


def peak_growth(call: Callable[[], object]) -> int:
    """Return by how many bytes a call raises this process's peak, its result still held.

    The peak may lie above what is resident now, left by an import; then the difference is filled
    first, or that much of the call's own memory would not be seen.
    """
    ballast = b"\1" * max(0, status_bytes("VmHWM") - status_bytes("VmRSS"))
    before = status_bytes("VmHWM")
    result = call()
    growth = status_bytes("VmHWM") - before
    del result, ballast
    return growth


def run_once(case: Case, rival: str, what: str, device: str) -> Callable[[], object]:
    """Return a call that computes one pass of a case and returns what the caller wants."""
    attend = attend_with(rival, case, device)
    inputs = case.inputs(device, gradients=what == "both")
    if what == "forward":
        return lambda: attend(*inputs)
    slope = torch.ones_like(inputs[0])

    def both() -> object:
        out = attend(*inputs)
        return out, torch.autograd.grad(out, inputs, slope)

    return both


def measure_here(case: Case, rival: str, what: str, threads: int) -> int:
    """Return the growth of this process, after a small call that loads what loads once."""
    torch.set_num_threads(threads)
    run_once(replace(case, N=WARM_UP_N), rival, what, "cpu")()
    call = run_once(case, rival, what, "cpu")
    return peak_growth(call)


def measure_in_subprocess(case: Case, rival: str, what: str, threads: int) -> dict[str, object]:
    """Return the growth of a fresh process, with the bytes of the result itself beside it."""
    status_bytes("VmHWM")  # says at once where there is none
    order = {"case": asdict(case), "rival": rival, "what": what, "threads": threads}
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "benchmarks._memory", json.dumps(order)]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise CannotRun(f"the process took longer than {SECONDS} s") from error
    if done.returncode != 0:
        last = ["it said nothing", *done.stderr.strip().splitlines()][-1]
        raise CannotRun(f"the process ended with status {done.returncode}: {last}")
    return row(case, rival, what, json.loads(done.stdout))


def measure_on_gpu(case: Case, rival: str, what: str) -> dict[str, object]:
    """Return what torch's allocator held at most, beyond what it held before the call."""
    call = run_once(case, rival, what, "cuda")
    call()  # what is compiled, loaded or tried out once is no part of it
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    call()
    torch.cuda.synchronize()
    return row(case, rival, what, torch.cuda.max_memory_allocated() - before)


def row(case: Case, rival: str, what: str, extra: int) -> dict[str, object]:
    """Return one line of the memory table, in bytes."""
    result = case.result_bytes(what)
    sizes = {"extra": extra, "result": result, "beyond_result": extra - result}
    return {**case.shape, "rival": rival, "what": what, **sizes}


def main(arguments: list[str]) -> int:
    """Measure what the first argument orders and print the bytes."""
    order = json.loads(arguments[0])
    case = Case(**{**order.pop("case"), "rivals": (order["rival"],)})
    print(measure_here(case, **order))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
