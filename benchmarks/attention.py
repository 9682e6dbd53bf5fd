"""How fast attention is here and what memory it takes: ours, the naive form, torch's own.

    python -m benchmarks.attention                     on the CPU, two threads
    python -m benchmarks.attention --busy              beside a program that takes a core
    python -m benchmarks.attention --device cuda       on a GPU

Writes attention-cpu, attention-cpu-busy or attention-gpu into benchmarks/results, as .json and .md.
"Plain tiles" are ours without `course_utils.kernels.fast_cpu`. Everything that is compared runs
side by side, round after round; a rival whose result is wrong gets no figure. Exit status 1 says
that ours was wrong or could not run. A goal that is missed is reported and is no error: the goals
were set for one machine each.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path

import torch

from benchmarks._busy import core_taken
from benchmarks._cases import NAIVE_LIMIT, Case, cpu_cases, gpu_cases, quick_cases
from benchmarks._goals import GOALS
from benchmarks._measure import Pace, measure_case, reason
from benchmarks._memory import measure_in_subprocess, measure_on_gpu
from benchmarks._report import conditions, lines_of, replace_text, report
from benchmarks._rivals import CannotRun, passes, too_large
from benchmarks._timing import Clock, CudaClock, WallClock
from course_utils.kernels.fast_cpu import faster_by_onednn

RESULTS = Path(__file__).resolve().parent / "results"
NAMES = {"cpu": "attention-cpu", "cuda": "attention-gpu"}
PACES = {"cpu": Pace(2.0, 7, 40), "cuda": Pace(0.6, 9, 100)}
QUICK = Pace(0.0, 3, 3)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="attention", description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=NAMES, default="cpu")
    parser.add_argument("--threads", type=int, default=2, help="on the CPU (2)")
    parser.add_argument("--budget", type=float, default=450, help="seconds in all (450)")
    parser.add_argument(
        "--busy", action="store_true", help="beside a program that takes a core; only times"
    )
    parser.add_argument("--quick", action="store_true", help="a few tiny shapes")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder to write into")
    return parser.parse_args(arguments)


def conditions_of(arguments: list[str], options: argparse.Namespace) -> dict[str, str]:
    """Where and with what this was measured."""
    found = conditions("attention", arguments, ("torch", "triton", "numpy"))
    found |= {"device": device_name(options.device), "threads": str(options.threads)}
    if options.device == "cpu":
        return found | {"our float32 products": float32_products()}
    return found | {"cuda": str(torch.version.cuda)}


def device_name(device: str) -> str:
    """Return what a processor calls itself."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    name = next(filter(None, [*models, platform.processor()]), "CPU")
    return f"{name} ({torch.backends.cpu.get_cpu_capability()})"


def float32_products() -> str:
    """Say who multiplies our tiles of float32."""
    return "oneDNN" if faster_by_onednn(torch.float32) else "torch's own"


class Budget:
    """Seconds that may be spent; a task starts only if the longest so far would still fit."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds
        self.longest = 0.0

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Note how long a task takes."""
        start = time.monotonic()
        yield
        self.longest = max(self.longest, time.monotonic() - start)

    def allows(self) -> bool:
        """Whether another task may start."""
        return time.monotonic() + self.longest < self.end


def memory_tasks(device: str, quick: bool) -> list[tuple[Case, str, str]]:
    """Return whose memory is measured: (case, rival, pass), the goals first."""
    if quick:
        case = quick_cases(device)[-2]
        return [(replace(case, N=N), "ours", "forward") for N in (256, 512)]
    base = replace((cpu_cases if device == "cpu" else gpu_cases)()[0], causal=True)
    other = "sdpa" if device == "cpu" else "flash"
    sizes = {"ours": (32768, 16384, 8192), "naive": (8192, 4096, 2048)}
    tasks = [(N, who, "forward") for who in sizes for N in sizes[who]]
    sizes = {"ours": (8192, 4096, 2048), other: (8192, 4096, 2048), "naive": (4096, 2048, 1024)}
    tasks += [(N, other, "forward") for N in sizes[other]]
    tasks += [(N, who, "both") for who in sizes for N in sizes[who]]
    return [(replace(base, N=N), who, what) for N, who, what in tasks]


def memory_for_naive(device: str) -> float:
    """Return what the naive form may take: on a CPU no more than half of what is free."""
    info = Path("/proc/meminfo")
    if device != "cpu" or not info.exists():
        return NAIVE_LIMIT
    lines = dict(line.split(":") for line in info.read_text().splitlines())
    return min(NAIVE_LIMIT, 1024 * int(lines["MemAvailable"].split()[0]) / 2)


def measure_times(result: dict, cases: list[Case], *, options: argparse.Namespace, budget: Budget):
    """Measure case after case into `result`, and yield after each."""
    clock: Clock = WallClock() if options.device == "cpu" else CudaClock()
    pace = QUICK if options.quick else PACES[options.device]
    for case in cases:
        if not budget.allows():
            result["left_out"].append(f"for want of time: {case.name}")
            continue
        with budget.spending():
            case_result = measure_case(
                case, options.device, clock, pace, memory_for_naive(options.device)
            )
            result["cases"].append(case_result)
        print(f"measured {case.name}", file=sys.stderr, flush=True)
        yield


def measure_memory(result: dict, options: argparse.Namespace, budget: Budget):
    """Measure peak memory into `result`, and yield after each."""
    for case, rival, what in memory_tasks(options.device, options.quick):
        said = f"memory of {rival}, {what}, {case.name}"
        if not budget.allows():
            result["left_out"].append(f"for want of time: {said}")
            continue
        try:
            with budget.spending():
                row = measure_peak(case, rival, what, options)
            result["memory"].append(row)
        except Exception as error:  # one figure that cannot be had must not end the run
            result["left_out"].append(f"{said}: {reason(error)}")
        yield


def measure_peak(case: Case, rival: str, what: str, options: argparse.Namespace) -> dict:
    """Return one line of the memory table, or raise CannotRun."""
    if what not in passes(rival, case, memory_for_naive(options.device)):
        raise CannotRun(too_large(case, what))
    if options.device == "cuda":
        return measure_on_gpu(case, rival, what)
    return measure_in_subprocess(case, rival, what, options.threads)


def measured(result: dict, cases: list[Case], options: argparse.Namespace, budget: Budget):
    """Measure everything, and yield after each part, what has a goal first."""
    times = measure_times(result, cases, options=options, budget=budget)
    if options.busy:
        return times
    memory = measure_memory(result, options, budget)
    # On a GPU memory has no goal, and is measured with the tiles that the times have chosen.
    return chain(memory, times) if options.device == "cpu" else chain(times, memory)


def save(result: dict, options: argparse.Namespace) -> None:
    """Write what there is so far: a run that is stopped leaves what it has measured."""
    result["goals"] = [goal.judge(result["cases"]) for goal in GOALS[options.device]]
    path = options.out / f"{NAMES[options.device]}{'-busy' if options.busy else ''}.json"
    replace_text(path, lines_of(result))
    replace_text(path.with_suffix(".md"), report(result))


def main(arguments: list[str]) -> int:
    """Measure, write and print; return the exit status."""
    options = parse(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.threads)
    budget = Budget(options.budget)
    result = {"conditions": conditions_of(arguments, options), "goals": [],
              "left_out": [], "memory": [], "cases": []}  # fmt: skip
    full = cpu_cases() if options.device == "cpu" else gpu_cases()
    cases = quick_cases(options.device) if options.quick else full
    with core_taken() if options.busy else nullcontext():
        for _ in measured(result, cases, options, budget):
            save(result, options)
    save(result, options)
    print(report(result))
    ours_failed = any("ours" in case["left_out"] for case in result["cases"])
    return 1 if ours_failed or not result["cases"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
