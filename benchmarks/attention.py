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
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from benchmarks._busy import core_taken
from benchmarks._cases import Case, cpu_cases, gpu_cases, quick_cases
from benchmarks._check import reason
from benchmarks._goals import GOALS
from benchmarks._measure import measure_case
from benchmarks._memory import measure_memory
from benchmarks._report import report
from benchmarks._tables import RESULTS, conditions, lines_of, replace_text
from benchmarks._timing import clock_of
from course_utils.kernels.fast_cpu import faster_by_onednn

NAMES = {"cpu": "attention-cpu", "cuda": "attention-gpu"}
PACES = {
    "cpu": {"seconds": 2.0, "at_least": 7, "at_most": 40},
    "cuda": {"seconds": 0.6, "at_least": 9, "at_most": 100},
    "quick": {"seconds": 0.0, "at_least": 3, "at_most": 3},
}


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
    found = conditions("attention", arguments, ("torch", "triton", "numpy"))
    found |= {"device": device_name(options.device), "threads": str(options.threads)}
    if options.device == "cuda":
        return found | {"cuda": str(torch.version.cuda)}
    products = "oneDNN" if faster_by_onednn(torch.float32) else "torch's own"
    return found | {"our float32 products": products}


def device_name(device: str) -> str:
    """Return what a processor calls itself."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    name = next(filter(None, [*models, platform.processor()]), "CPU")
    return f"{name} ({torch.backends.cpu.get_cpu_capability()})"


def memory_tasks(device: str, quick: bool) -> list[tuple[Case, str, str]]:
    """Return whose memory is measured: (case, rival, pass)."""
    if quick:
        return [(replace(quick_cases(device)[2], N=N), "ours", "forward") for N in (256, 512)]
    base = replace((cpu_cases if device == "cpu" else gpu_cases)()[0], causal=True)
    other = "sdpa" if device == "cpu" else "flash"
    sizes = {"ours": (8192, 4096, 2048), other: (8192,), "naive": (2048,)}
    return [
        (replace(base, N=N), who, what)
        for what in ("forward", "both")
        for who in sizes
        for N in sizes[who]
    ]


def tasks(options: argparse.Namespace) -> list[tuple[str, str, Callable[[], dict]]]:
    """Return what is measured, in order: where it goes in the results, its name, how."""
    device, quick = options.device, options.quick
    full = cpu_cases if device == "cpu" else gpu_cases
    clock, pace = clock_of(device), PACES["quick" if quick else device]
    times = [
        ("cases", case.name, partial(measure_case, case, device, clock, pace))
        for case in (quick_cases(device) if quick else full())
    ]
    memory = [
        ("memory", f"memory of {rival}, {what}, {case.name}",
         partial(measure_memory, case, rival, what, device, options.threads))
        for case, rival, what in memory_tasks(device, quick)
    ]  # fmt: skip
    if options.busy:
        return times
    # On a GPU what has a goal comes first: times.
    return [*memory, *times] if device == "cpu" else [*times, *memory]


def measure(result: dict, options: argparse.Namespace) -> None:
    """Measure everything into `result`, as far as the time reaches, and save after each part.

    A part starts only if the longest so far would still fit; one that fails must not end the run.
    """
    end, longest = time.monotonic() + options.budget, 0.0
    for section, name, task in tasks(options):
        start = time.monotonic()
        if start + longest >= end:
            result["left_out"].append(f"for want of time: {name}")
            continue
        try:
            result[section].append(task())
        except Exception as error:
            result["left_out"].append(f"{name}: {reason(error)}")
        longest = max(longest, time.monotonic() - start)
        print(f"measured {name}", file=sys.stderr, flush=True)
        save(result, options)


def save(result: dict, options: argparse.Namespace) -> None:
    """Write what there is so far: a run that is stopped leaves what it has measured."""
    result["goals"] = [goal.judge(result["cases"]) for goal in GOALS[options.device]]
    path = options.out / f"{NAMES[options.device]}{'-busy' if options.busy else ''}.json"
    replace_text(path, lines_of(result))
    replace_text(path.with_suffix(".md"), report(result))


def main(arguments: list[str]) -> int:
    """Measure, write and print; return the exit status."""
    options = parse(arguments)
    torch.set_num_threads(options.threads)
    result = {"conditions": conditions_of(arguments, options), "goals": [],
              "left_out": [], "memory": [], "cases": []}  # fmt: skip
    with core_taken() if options.busy else nullcontext():
        measure(result, options)
    save(result, options)
    print(report(result))
    ours_failed = any("ours" in case["left_out"] for case in result["cases"])
    return 1 if ours_failed or not result["cases"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
