"""Which tiles are fastest on this GPU: every candidate for each kernel, beside those in use.

    python -m benchmarks.tiles --out OUT

The tiles of one kernel change at a time. Three rounds of all find the fastest; these then run
beside those in use, round after round, and so does the form that rounds a product and a sum once
(`tiled_triton.ROUNDING`). Writes tiles-gpu.json and
tiles-gpu.md. A variant whose result is wrong, or that does not fit the GPU, gets no figure.
`course_utils.kernels.configurations` holds the tiles in use.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from unittest.mock import patch

import torch

from benchmarks._cases import Case
from benchmarks._check import checked_error, reason
from benchmarks._goals import place
from benchmarks._report import PASSES
from benchmarks._tables import RESULTS, conditions, lines_of, replace_text, spread, table
from benchmarks._timing import Clock, Lap, clock_of, interleave, quartiles, ratio
from benchmarks.attention import device_name
from course_utils.kernels import configurations, flash_attend, tiled_triton
from course_utils.kernels.configurations import ORDER, Configuration
from tools.ending import end_with_parent

NAME = "tiles-gpu"
BLOCKS, WARPS, STAGES = (64, 128), (4, 8), (2, 3)
FINALISTS = 4  # of each kernel
ROUNDS = 15  # of the finalists, at least
PROCESSES = 8  # that compile at the same time
USUAL = {"dtype": "bfloat16", "B": 2, "H": 32, "G": 32, "rivals": ()}


@dataclass(frozen=True)
class Variant:
    """What differs from what is in use: the tiles of one kernel; without tiles see below."""

    kernel: str
    tiles: Configuration | None = None

    @property
    def passes(self) -> tuple[str, ...]:
        """Which passes it changes."""
        if self.tiles is None:
            return "forward", "backward"
        return ("forward",) if self.kernel == "forward" else ("backward",)

    @property
    def name(self) -> str:
        """The variant in a few words."""
        if self.tiles is None:
            return self.kernel
        m, n, warps, stages = self.tiles
        return f"{self.kernel} {m}x{n}, {warps} warps, {stages} stages"

    @contextmanager
    def applied(self, width: int) -> Iterator[None]:
        """Put it in place of what is used for heads so wide, on every kind of GPU."""
        with ExitStack() as stack:
            if self == FUSED:
                stack.enter_context(patch.dict(tiled_triton.ROUNDING, enable_fp_fusion=True))
            elif self.tiles is not None:
                at = ORDER.index(self.kernel)
                rows = {
                    key: (*row[:at], self.tiles, *row[at + 1 :])
                    for key, row in configurations.FIXED.items()
                    if key[1:] == (16, width)
                }
                stack.enter_context(patch.dict(configurations.FIXED, rows))
            yield


IN_USE, FUSED = Variant("in use"), Variant("products and sums fused")


def candidates() -> list[Variant]:
    """Return every variant there is."""
    every = product(ORDER, BLOCKS, BLOCKS, WARPS, STAGES)
    return [IN_USE, FUSED, *(Variant(kernel, Configuration(*tiles)) for kernel, *tiles in every)]


def cases(length: int) -> list[Case]:
    """Return the shapes: both widths, full and causal."""
    return [Case(length, D, causal, **USUAL) for D, causal in product((64, 128), (False, True))]


def compute(case: Case, variant: Variant, device: str) -> list[torch.Tensor]:
    """Return the output and the gradients."""
    inputs = case.inputs(device, gradients=True)
    with variant.applied(case.D):
        out = flash_attend(*inputs, causal=case.causal, backend="triton")
        return [out.detach(), *torch.autograd.grad(out, inputs, case.slope(device))]


def compile_ahead(task: tuple[Case, Variant]) -> None:
    """Leave what a variant compiles to in Triton's cache on the disk."""
    case, variant = task
    try:
        compute(case, variant, "cuda")
    except Exception:  # said when it is measured
        return


def compile_all(variants: list[Variant]) -> None:
    """Compile in several processes: it takes most of the time, and runs no kernel for long."""
    spawn = multiprocessing.get_context("spawn")
    tasks = list(product(cases(256), variants))
    with ProcessPoolExecutor(PROCESSES, mp_context=spawn, initializer=end_with_parent) as pool:
        list(pool.map(compile_ahead, tasks))


def jobs_of(
    case: Case, variants: list[Variant], what: str, device: str
) -> dict[Variant, Callable[[Lap], object]]:
    """Return what is timed: one pass of each variant that changes it."""
    inputs = case.inputs(device, gradients=what == "backward")
    attend = partial(flash_attend, causal=case.causal, backend="triton")
    out = attend(*inputs)
    slope = case.slope(device)

    def forward(variant: Variant, lap: Lap) -> object:
        with variant.applied(case.D):
            return attend(*inputs)

    def backward(variant: Variant, lap: Lap) -> object:
        with variant.applied(case.D):
            return torch.autograd.grad(out, inputs, slope, retain_graph=True)

    call = forward if what == "forward" else backward
    return {v: partial(call, v) for v in variants if what in v.passes}


def check_all(case: Case, variants: list[Variant], device: str) -> dict[Variant, str]:
    """Return for each variant that is wrong or cannot run the reason."""
    left_out = {}
    for variant in variants:
        try:
            checked_error(case, device, compute(case, variant, device))
        except Exception as failure:  # whatever it is, the others go on
            left_out[variant] = reason(failure)
    return left_out


def finalists(jobs: dict[Variant, Callable], clock: Clock) -> list[Variant]:
    """Return what is in use, the fused form, and the fastest few of each kernel."""
    heats = interleave(jobs, clock, seconds=0.0, at_least=3, at_most=3)
    pace = {variant: min(laps[0] for laps in heats[variant]) for variant in jobs}
    kept = [variant for variant in jobs if variant.tiles is None]
    for kernel in ORDER:
        of_kernel = [variant for variant in jobs if variant.tiles and variant.kernel == kernel]
        kept += sorted(of_kernel, key=pace.__getitem__)[:FINALISTS]
    return kept


def measure_pass(
    case: Case, variants: list[Variant], what: str, *, device: str, seconds: float
) -> list[dict]:
    """Return a row for each finalist: its milliseconds, and how long it takes beside those in use.

    Where the tiles in use are a candidate as well, its distance from 1 is the noise.
    """
    clock = clock_of(device)
    jobs = jobs_of(case, variants, what, device)
    best = {variant: jobs[variant] for variant in finalists(jobs, clock)}
    laps = interleave(best, clock, seconds=seconds, at_least=ROUNDS, at_most=60)
    times = {variant: [lap[0] for lap in rounds] for variant, rounds in laps.items()}
    rows = [
        {
            **case.shape,
            "what": what,
            "variant": variant.name,
            "ms": quartiles([1e3 * second for second in taken]),
            "takes_times": ratio(taken, times[IN_USE]),
        }
        for variant, taken in times.items()
    ]
    return sorted(rows, key=lambda row: row["takes_times"][0])


def report(result: dict) -> str:
    """Return the rows as a table, and who was left out."""
    rows = [
        [
            f"D {row['D']} {place(row)}",
            PASSES[row["what"]],
            row["variant"],
            *spread(row["ms"], ".3g"),
            *spread(row["takes_times"], ".3f"),
        ]
        for row in result["rows"]
    ]
    head = ["case", "pass", "variant", "ms", "quartiles", "times those in use", "quartiles"]
    lines = ["# Tiles, measured", ""]
    lines += [f"- {name}: {value}" for name, value in result["conditions"].items()]
    return "\n".join([*lines, "", *table(head, rows), "", *result["left_out"]])


def main(arguments: list[str]) -> int:
    """Measure, write and print; return the exit status."""
    parser = argparse.ArgumentParser(prog="tiles", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder to write into")
    parser.add_argument("--length", type=int, default=8192, help="N (8192)")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: for tests")
    parser.add_argument("--seconds", type=float, default=2.0, help="a pass of a shape (2)")
    options = parser.parse_args(arguments)
    device = options.device
    if device == "cuda" and not torch.cuda.is_available():
        print("benchmarks.tiles needs a GPU that torch can use; nothing was measured")
        return 0
    found = conditions("tiles", arguments, ("torch", "triton"))
    result = {"conditions": found | {"device": device_name(device)}, "left_out": [], "rows": []}
    variants = candidates()
    if device == "cuda":
        compile_all(variants)
    for case in cases(options.length):
        left_out = check_all(case, variants, device)
        result["left_out"] += [f"- {v.name}, {case.name}: {why}" for v, why in left_out.items()]
        right = [variant for variant in variants if variant not in left_out]
        for what in ("forward", "backward"):
            rows = measure_pass(case, right, what, device=device, seconds=options.seconds)
            result["rows"] += rows
            replace_text(options.out / f"{NAME}.json", lines_of(result))
            replace_text(options.out / f"{NAME}.md", report(result))
    print(report(result))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
