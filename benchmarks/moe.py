"""What dispatching tokens to experts saves: the tokens that chose an expert, or all, k times over.

    python -m benchmarks.moe                 on the CPU, two threads
    python -m benchmarks.moe --threads 1

Three ways through one layer, side by side, round after round: ours; every expert on every token, k
times over, as a textbook's loop has it; and one feed-forward network of an expert's size, which is
what a dense model would have. Writes moe-cpu.json and moe-cpu.md into benchmarks/results. Exit
status 1 says that the first two disagree, or that dispatch is not twice as fast.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from benchmarks._report import conditions, lines_of, replace_text, spread, table
from benchmarks._timing import Spread, WallClock, interleave, ratio
from benchmarks.attention import RESULTS, device_name
from course_utils.layers.moe import MixtureOfExperts

TOLERANCE = 1e-5
GOAL = 2.0
NAME = "moe-cpu"
LABELS = {
    "dispatch": "MixtureOfExperts",
    "every expert": "every expert on every token, k times",
    "one network": "one feed-forward network",
}


@dataclass(frozen=True)
class Sizes:
    """Of the layer: N tokens of width C, experts of F hidden numbers."""

    tokens: int = 512
    width: int = 512
    hidden: int = 2048
    num_experts: int = 8
    k: int = 2


def every_expert(layer: MixtureOfExperts, x: Tensor) -> Tensor:
    """Return the layer's output by running each expert on all tokens, for each of the k places."""
    probabilities = layer.router(x).softmax(dim=-1)
    gates, chosen = probabilities.topk(layer.k)
    if layer.normalise:
        gates = gates / gates.sum(dim=-1, keepdim=True)
    out = torch.zeros_like(x)
    for place in range(layer.k):
        for number, expert in enumerate(layer.experts):
            asks = (chosen[..., place] == number)[..., None]
            out = out + expert(x) * gates[..., [place]] * asks
    return out


@torch.no_grad()
def measure(sizes: Sizes, seconds: float, at_least: int) -> dict:
    """Return times, FLOPs and the difference between the two ways through one layer."""
    torch.manual_seed(0)
    layer = MixtureOfExperts(
        sizes.width, sizes.hidden, sizes.num_experts, sizes.k, activation="relu"
    )
    x = torch.randn(1, sizes.tokens, sizes.width)
    calls = {
        "dispatch": lambda: layer(x)[0],
        "every expert": lambda: every_expert(layer, x),
        "one network": lambda: layer.experts[0](x),
    }
    difference = (calls["dispatch"]() - calls["every expert"]()).abs().max().item()
    flops = {name: count_flops(call) for name, call in calls.items()}
    jobs = {name: lambda lap, call=call: call() for name, call in calls.items()}
    laps = interleave(jobs, WallClock(), seconds=seconds, at_least=at_least, at_most=200)
    times = {name: [lap[0] for lap in rounds] for name, rounds in laps.items()}
    return {
        "sizes": asdict(sizes),
        "difference": difference,
        "flops": flops,
        "milliseconds": {
            name: Spread.of([1e3 * second for second in found]).rounded
            for name, found in times.items()
        },
        "times_dispatch": {
            name: ratio(found, times["dispatch"]).rounded for name, found in times.items()
        },
        "rounds": len(times["dispatch"]),
    }


def count_flops(call: Callable[[], object]) -> int:
    """Return the floating-point operations of the matrix products in a call."""
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def report(result: dict) -> str:
    """Return the measurements as a Markdown table, with the goal's verdict last."""
    sizes, flops = result["sizes"], result["flops"]
    rows = []
    for name, label in LABELS.items():
        ms, times = result["milliseconds"][name], result["times_dispatch"][name]
        work = flops[name] / flops["one network"]
        rows.append([label, f"{work:.2f}", f"{ms[0]:.3g}", *spread(times, ".2f")])
    head = ["who", "FLOPs, in networks", "ms", "times dispatch", "quartiles"]
    factor = result["times_dispatch"]["every expert"][0]
    return "\n".join(
        [
            "# A mixture of experts, measured",
            "",
            *(f"- {name}: {value}" for name, value in result["conditions"].items()),
            f"- sizes: {', '.join(f'{name} {value}' for name, value in sizes.items())}",
            f"- rounds: {result['rounds']}; largest difference {result['difference']:.1e}",
            "",
            *table(head, rows),
            "",
            f"Goal: every expert on every token takes at least {GOAL:g} times as long. "
            f"Measured {factor:.2f}: {'met' if factor >= GOAL else 'not met'}.",
        ]
    )


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="moe", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=2, help="on the CPU (2)")
    parser.add_argument("--quick", action="store_true", help="a tiny layer, three rounds")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder to write into")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.threads)
    if options.quick:
        result = measure(Sizes(tokens=67, width=16, hidden=32), 0.0, 3)
    else:
        result = measure(Sizes(), 20.0, 7)
    where = conditions("moe", arguments, ("torch",))
    where |= {"device": device_name("cpu"), "threads": str(options.threads)}
    result = {"conditions": where, **result}
    replace_text(options.out / f"{NAME}.json", lines_of(result))
    replace_text(options.out / f"{NAME}.md", report(result))
    print(report(result))
    fast = options.quick or result["times_dispatch"]["every expert"][0] >= GOAL
    return 0 if fast and result["difference"] <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
