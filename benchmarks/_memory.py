"""Peak memory beyond the inputs: of a fresh process on a CPU, of torch's allocator on a GPU.

A process counts what stays in memory (the high-water mark VmHWM, Linux alone), whoever took it:
torch, its matrix library, its threads.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks._cases import Case
from benchmarks._check import CannotRun
from benchmarks._rivals import attend_with

SECONDS = 120
STATUS = Path("/proc/self/status")
WARM_UP_N = 64


def measure_memory(case: Case, rival: str, what: str, device: str, threads: int) -> dict:
    """Return one line of the memory table, in bytes."""
    if device == "cpu":
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            asked = pool.apply_async(grown_here, (case, rival, what, threads))
            extra = asked.get(SECONDS)
    else:
        extra = allocated_on_gpu(case, rival, what)
    result = case.result_bytes(what)
    sizes = {"extra": extra, "result": result, "beyond_result": extra - result}
    return {**case.shape, "rival": rival, "what": what, **sizes}


def grown_here(case: Case, rival: str, what: str, threads: int) -> int:
    """Return the growth of this process, after a small call that loads what loads once."""
    torch.set_num_threads(threads)
    call_of(replace(case, N=WARM_UP_N), rival, what, "cpu")()
    return peak_growth(call_of(case, rival, what, "cpu"))


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


def status_bytes(field: str) -> int:
    """Return a figure of /proc/self/status, such as VmRSS (resident now) or VmHWM (its peak)."""
    if not STATUS.exists():
        raise CannotRun("peak memory on a CPU is read from /proc, which only Linux has")
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(f"{field}:"))
    return 1024 * int(line.split()[1])


def call_of(case: Case, rival: str, what: str, device: str) -> Callable[[], object]:
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


def allocated_on_gpu(case: Case, rival: str, what: str) -> int:
    """Return what torch's allocator held at most, beyond what it held before the call."""
    call = call_of(case, rival, what, "cuda")
    call()  # what is compiled, loaded or tried out once is no part of it
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    call()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before
