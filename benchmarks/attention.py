"""How fast attention is here and what memory it takes: ours, the naive form, torch's own.

    python -m benchmarks.attention                     on the CPU, two threads
    python -m benchmarks.attention --torch-products    the same as other processors compute it
    python -m benchmarks.attention --busy              beside a program that takes a core
    python -m benchmarks.attention --device cuda       on a GPU

Writes attention-cpu, attention-cpu-torch-products or attention-gpu into benchmarks/results, as
.json and .md. Everything that is compared runs side by side, round after round; a rival whose
result is wrong gets no figure. Exit status 1 says that ours was wrong or could not run. A goal that
is missed is reported and is no error: the goals were set for one machine each.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path

import torch

from benchmarks._busy import core_taken
from benchmarks._cases import NAIVE_LIMIT, Case, cpu_cases, gpu_cases, quick_cases
from benchmarks._goals import Goal, cpu_goals, gpu_goals
from benchmarks._measure import Pace, measure_case, reason
from benchmarks._memory import measure_in_subprocess, measure_on_gpu
from benchmarks._report import conditions, replace_text, report
from benchmarks._rivals import CannotRun, passes, too_large
from benchmarks._timing import Clock, CudaClock, WallClock
from course_utils.kernels.onednn import faster_product

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
        "--torch-products",
        action="store_true",
        help="on the CPU: without oneDNN, as where torch's own products are the faster; only times",
    )
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
    return "torch's own" if faster_product(torch.device("cpu"), torch.float32) is None else "oneDNN"


class Budget:
    """Seconds that may be spent; a task starts only if the longest of late would still fit.

    A task with less `work` (operations, of whatever unit) than one of late is taken to need
    proportionally less than that one: after the largest case there is still time for small ones.
    """

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds
        self.spent: deque[tuple[float, float]] = deque(maxlen=4)  # (work, seconds)

    @contextmanager
    def spending(self, work: float) -> Iterator[None]:
        """Note how long a task takes."""
        start = time.monotonic()
        yield
        self.spent.append((work, time.monotonic() - start))

    def allows(self, work: float, *, at_least: float = 0.0) -> bool:
        """Whether another task may start, one that takes `at_least` so many seconds."""
        likely = [seconds * min(1.0, work / done) for done, seconds in self.spent]
        return time.monotonic() + max([at_least, *likely]) < self.end


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


def room(device: str) -> float:
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
        work = case.operations("both")
        if not budget.allows(work, at_least=2 * pace.seconds):
            result["left_out"].append(f"for want of time: {case.name}")
            continue
        with budget.spending(work):
            case_result = measure_case(case, options.device, clock, pace, room(options.device))
            result["cases"].append(case_result)
        said = f"{budget.spent[-1][1]:.1f} s for {case.name}, {', '.join(case.rivals)}"
        print(said, file=sys.stderr, flush=True)
        yield


def measure_memory(result: dict, options: argparse.Namespace, budget: Budget):
    """Measure peak memory into `result`, and yield after each."""
    for case, rival, what in memory_tasks(options.device, options.quick):
        said = f"memory of {rival}, {what}, {case.name}"
        work = case.operations(what)
        if not budget.allows(work):
            result["left_out"].append(f"for want of time: {said}")
            continue
        try:
            with budget.spending(work):
                row = measure_peak(case, rival, what, options)
            result["memory"].append(row)
        except Exception as error:  # one figure that cannot be had must not end the run
            result["left_out"].append(f"{said}: {reason(error)}")
        yield


def measure_peak(case: Case, rival: str, what: str, options: argparse.Namespace) -> dict:
    """Return one line of the memory table, or raise CannotRun."""
    if what not in passes(rival, case, room(options.device)):
        raise CannotRun(too_large(case, what))
    if options.device == "cuda":
        return measure_on_gpu(case, rival, what)
    return measure_in_subprocess(case, rival, what, options.threads)


def measured(result: dict, cases: list[Case], options: argparse.Namespace, budget: Budget):
    """Measure everything, and yield after each part, what has a goal first."""
    times = measure_times(result, cases, options=options, budget=budget)
    if options.torch_products or options.busy:
        return times
    memory = measure_memory(result, options, budget)
    # On a GPU memory has no goal, and is measured with the tiles that the times have chosen.
    return chain(memory, times) if options.device == "cpu" else chain(times, memory)


def configurations() -> list[str]:
    """Return what measuring the Triton kernels has chosen in this process, a line for each."""
    kernels = sys.modules.get("course_utils.kernels.configurations")
    if kernels is None:
        return []

    def words(fields: dict[str, object]) -> str:
        return ", ".join(f"{name} {value}" for name, value in fields.items())

    chosen = kernels.chosen_configurations().items()
    return [f"{words(problem._asdict())}: {words(best._asdict())}" for problem, best in chosen]


def save(result: dict, options: argparse.Namespace) -> list[Goal]:
    """Write what there is so far: a run that is stopped leaves what it has measured."""
    goals = cpu_goals if options.device == "cpu" else lambda cases, _: gpu_goals(cases)
    judged = goals(result["cases"], result["memory"])
    if options.device == "cuda":
        result["configurations"] = configurations()
    result["goals"] = [asdict(goal) for goal in judged]
    part = "-torch-products" if options.torch_products else ""
    part += "-busy" if options.busy else ""
    path = options.out / f"{NAMES[options.device]}{part}.json"
    replace_text(path, json.dumps(result, indent=1))
    replace_text(path.with_suffix(".md"), report(result, judged))
    return judged


def main(arguments: list[str]) -> int:
    """Measure, write and print; return the exit status."""
    options = parse(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.threads)
    torch.backends.mkldnn.enabled = not options.torch_products
    budget = Budget(options.budget)
    result = {"conditions": conditions_of(arguments, options), "goals": [], "configurations": [],
              "left_out": [], "memory": [], "cases": []}  # fmt: skip
    full = cpu_cases() if options.device == "cpu" else gpu_cases()
    cases = quick_cases(options.device) if options.quick else full
    with core_taken() if options.busy else nullcontext():
        for _ in measured(result, cases, options, budget):
            save(result, options)
    goals = save(result, options)
    print(report(result, goals))
    ours_failed = any("ours" in case["left_out"] for case in result["cases"])
    return 1 if ours_failed or not result["cases"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
