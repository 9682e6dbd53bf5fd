"""The measurements as a picture: speed over N, and memory over N."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks._rivals import LABELS

# Told apart without colour as well: the marker says who it is.
STYLE = {
    "ours": {"color": "#0072B2", "marker": "o"},
    "sdpa": {"color": "#E69F00", "marker": "s"},
    "flash": {"color": "#E69F00", "marker": "s"},
    "cudnn": {"color": "#009E73", "marker": "D"},
    "naive": {"color": "#555555", "marker": "^"},
}
PANELS = [("forward", False), ("forward", True), ("both", False), ("both", True)]


def save_plot(result: dict, path: Path) -> bool:
    """Write the picture; return whether there was a matplotlib to draw it with."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    widths = sorted({case["D"] for case in result["cases"]})
    columns = len(PANELS) + bool(result["memory"])
    figure = Figure(figsize=(3.4 * columns, 3.2 * len(widths)), dpi=100, layout="constrained")
    grid: Any = figure.subplots(len(widths), columns, squeeze=False)
    for axes_row, D in zip(grid, widths, strict=True):
        for axes, (what, causal) in zip(axes_row, PANELS, strict=False):
            draw_speed(axes, result["cases"], D, what, causal)
        if result["memory"]:
            draw_memory(axes_row[-1], result["memory"], D)
    figure.suptitle(f"Attention on {result['conditions']['device']}")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    figure.savefig(path, format="png", metadata={"Software": None})
    return True


def draw_speed(axes: Any, cases: list[dict], D: int, what: str, causal: bool) -> None:
    """Draw TFLOP/s over N, for the dtype and the heads that most cases have."""
    for rival, line in STYLE.items():
        points = sorted(
            (case["N"], case["results"][rival]["passes"][what]["tflops"])
            for case in usual(cases)
            if (case["D"], case["causal"]) == (D, causal)
            and what in case["results"].get(rival, {}).get("passes", {})
        )
        if points:
            axes.plot(*zip(*points, strict=True), label=LABELS[rival], **line)
    said = {"forward": "forward", "both": "forward+backward"}[what]
    axes.set_title(f"{said}, {'causal' if causal else 'full'}, D {D}", fontsize=10)
    axes.set_ylim(bottom=0)
    double_along_n(axes)
    axes.set_ylabel("TFLOP/s")
    axes.grid(alpha=0.3)


def draw_memory(axes: Any, memory: list[dict], D: int) -> None:
    """Draw the peak of the forward pass over N."""
    for rival, line in STYLE.items():
        points = sorted(
            (row["N"], row["extra"] / 1e6)
            for row in memory
            if (row["rival"], row["what"], row["D"]) == (rival, "forward", D) and row["extra"] > 0
        )
        if points:
            axes.plot(*zip(*points, strict=True), **line)
    if not axes.lines:
        axes.set_axis_off()
        return
    axes.set_title(f"peak memory, forward, D {D}", fontsize=10)
    axes.set_yscale("log")
    double_along_n(axes)
    axes.set_ylabel("MB beyond the inputs")
    axes.grid(alpha=0.3)


def double_along_n(axes: Any) -> None:
    """Let N double from tick to tick, written as it is."""
    sizes = sorted({int(n) for line in axes.lines for n in line.get_xdata()})
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(n) for n in sizes], rotation=45, fontsize=8)
    axes.set_xlabel("N")


def usual(cases: list[dict]) -> Iterator[dict]:
    """Yield the cases with the first one's dtype and heads, each shape once."""
    seen = set()
    for case in cases:
        kind = tuple(case[key] for key in ("B", "H", "G", "dtype"))
        shape = tuple(case[key] for key in ("N", "D", "causal"))
        if kind == tuple(cases[0][key] for key in ("B", "H", "G", "dtype")) and shape not in seen:
            seen.add(shape)
            yield case
