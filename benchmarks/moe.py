"""What dispatching tokens to experts saves: the tokens that chose an expert, or all, k times over.

    python -m benchmarks.moe                 on the CPU, two threads
    python -m benchmarks.moe --threads 1

Three ways through one layer, side by side, round after round: ours; every expert on every token, k
times over, as a textbook's loop has it; and one feed-forward network of an expert's size, which is
what a dense model would have. Writes moe-cpu.md into benchmarks/results. Exit status 1 says that
the first two disagree.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from benchmarks._tables import RESULTS, conditions, replace_text, spread, table
from benchmarks._timing import interleave, quartiles, ratio, wall_clock
from benchmarks.attention import device_name
from course_utils.layers.moe import MixtureOfExperts

TOLERANCE = 1e-5
# N tokens of width C, experts of F hidden numbers, how many of them, and how many for a token.
SIZES, QUICK = (512, 512, 2048, 8, 2), (67, 16, 32, 8, 2)


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


def count_flops(call: Callable[[], object]) -> int:
    """Return the floating-point operations of the matrix products in a call."""
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


@torch.no_grad()
def measure(sizes: tuple[int, ...], seconds: float) -> tuple[list[str], float]:
    """Return a table of the ways through one layer, and how far the first two are apart."""
    torch.manual_seed(0)
    tokens, width, hidden, experts, k = sizes
    layer = MixtureOfExperts(width, hidden, experts, k, activation="relu")
    x = torch.randn(1, tokens, width)
    ways: dict[str, Callable[[], Tensor]] = {
        "MixtureOfExperts": lambda: layer(x)[0],
        "every expert on every token, k times": lambda: every_expert(layer, x),
        "one feed-forward network": lambda: layer.experts[0](x),
    }
    dispatch, textbook, network = ways.values()
    difference = (dispatch() - textbook()).abs().max().item()
    jobs = {name: lambda lap, way=way: way() for name, way in ways.items()}
    rounds = interleave(jobs, wall_clock, seconds=seconds, at_least=7, at_most=200)
    times = {name: [lap for (lap,) in laps] for name, laps in rounds.items()}
    rows = [
        [
            name,
            f"{count_flops(way) / count_flops(network):.2f}",
            f"{1e3 * quartiles(times[name])[0]:.3g}",
            *spread(ratio(times[name], times["MixtureOfExperts"]), ".2f"),
        ]
        for name, way in ways.items()
    ]
    head = ["who", "FLOPs, in networks", "ms", "times dispatch", "quartiles"]
    return table(head, rows), difference


def main(arguments: list[str]) -> int:
    """Measure, write and print; return the exit status."""
    parser = argparse.ArgumentParser(prog="moe", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=2, help="on the CPU (2)")
    parser.add_argument("--quick", action="store_true", help="a tiny layer, for a moment")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder to write into")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    rows, difference = measure(*((QUICK, 0.0) if options.quick else (SIZES, 20.0)))
    where = conditions("moe", arguments, ("torch",))
    where |= {"device": device_name("cpu"), "threads": str(options.threads)}
    lines = ["# A mixture of experts, measured", ""]
    lines += [f"- {name}: {value}" for name, value in where.items()]
    sizes = ", ".join(map(str, QUICK if options.quick else SIZES))
    lines += [f"- tokens, width, hidden, experts, k: {sizes}"]
    lines += [f"- largest difference {difference:.1e}", "", *rows]
    replace_text(options.out / "moe-cpu.md", "\n".join(lines))
    print("\n".join(lines))
    return 0 if difference <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
