"""The measurements in words, and the conditions they were made under."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks._cases import Case
from benchmarks._goals import place
from benchmarks._rivals import LABELS
from course_utils.kernels.gpus import GPU, GPUS

SHAPE = ("N", "D", "causal", "dtype", "B", "H", "G", "split")
PASSES = {"forward": "forward", "backward": "backward", "both": "forward+backward"}


def conditions(module: str, arguments: list[str], packages: tuple[str, ...]) -> dict[str, str]:
    """Return what was run, where and with what."""
    shown = ["OUT" if Path(word).is_absolute() else word for word in arguments]
    return {
        "command": " ".join([f"python -m benchmarks.{module}", *shown]),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        **{package: version_of(package) for package in packages},
    }


def version_of(package: str) -> str:
    """Return which version of a package is installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def replace_text(path: Path, text: str) -> None:
    """Write a file whole or not at all: a run may be stopped at any time."""
    new = path.with_suffix(".new")
    new.write_text(text + "\n", encoding="utf-8")
    new.replace(path)


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return a Markdown table with its columns padded, numbers to the right.

    >>> table(["N", "ms"], [["8", "12.5"]])
    ['| N |   ms |', '| - | ---: |', '| 8 | 12.5 |']
    """
    right = [
        all(row[i][:1].isdigit() or row[i] in ("", "-") for row in rows) for i in range(len(head))
    ]
    right[0] = False
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    rule = ["-" * (w - 1) + ":" if r else "-" * w for w, r in zip(widths, right, strict=True)]
    lines = []
    for row in [head, rule, *rows]:
        cells = zip(row, widths, right, strict=True)
        padded = [cell.rjust(w) if r else cell.ljust(w) for cell, w, r in cells]
        lines.append(f"| {' | '.join(padded)} |")
    return lines


def report(result: dict) -> str:
    """Return everything that was measured, the goals last."""
    lines = ["# Attention, measured", ""]
    lines += [f"- {name}: {value}" for name, value in result["conditions"].items()]
    lines += ["", *time_section(result["cases"], result["conditions"]["device"])]
    if result["memory"]:
        lines += ["", *memory_section(result["memory"])]
    lines += left_out_section(result)
    return "\n".join([*lines, "", *goals_section(result["goals"])])


def time_section(cases: list[dict], device: str) -> list[str]:
    """Return the table of times: one line for each rival and pass of a case."""
    gpu = next((each for each in GPUS.values() if each.driver_name == device), None)
    rows = []
    for case in cases:
        heads = f"B {case['B']} H {case['H']} G {case['G']} D {case['D']} {place(case)}"
        for rival, found in case["results"].items():
            for what, timed in found["passes"].items():
                seconds, shape = timed["ms"][0] / 1e3, shape_of(case)
                numbers = [*spread(timed["ms"], ".3g")]
                numbers += [f"{shape.operations(what) / seconds / 1e12:.3g}"]
                numbers += shares(shape, what, seconds, gpu)
                numbers += spread(timed.get("ours_takes_times"), ".2f")
                rows.append([heads, LABELS[rival], PASSES[what], *numbers])
    of_peak = ["of peak", "of exp's peak"] if gpu else []
    head = ["case", "who", "pass", "ms", "quartiles", "TFLOP/s", *of_peak]
    head += ["ours takes", "quartiles"]
    about_peak = (
        f" The {gpu.name} at its boost clock: {gpu.tensor_flops / 1e12:.0f} TFLOP/s in 16 bits, "
        f"{gpu.special_rate / 1e12:.1f} · 10¹² exponentials a second, of which each pass needs at "
        "least one a weight."
        if gpu
        else ""
    )
    return [
        "## Time",
        "",
        "Medians over rounds in which each ran once. TFLOP/s counts 4·N²·D operations a head "
        "forward, 2.5 times that backward, half of it where causal. 'Ours takes': our time over "
        "theirs in the same round, so below 1 we are faster. Split: heads side by side in memory, "
        "as a layer hands them over." + about_peak,
        "",
        *table(head, rows),
    ]


def shape_of(case: dict) -> Case:
    """Return the shape of a case as the results hold it."""
    return Case(**{k: v for k, v in case.items() if k in SHAPE}, rivals=())


def shares(shape: Case, what: str, seconds: float, gpu: GPU | None) -> list[str]:
    """Return which part of a GPU's peaks was reached: of its products, of its exponentials."""
    if gpu is None:
        return []
    products = shape.operations(what) / gpu.tensor_flops
    exponentials = shape.exponentials(what) / gpu.special_rate
    return [f"{least / seconds:.0%}" for least in (products, exponentials)]


def spread(values: list[float] | None, digits: str) -> list[str]:
    """Return a median and its quartiles in words, or dashes."""
    if values is None:
        return ["-", "-"]
    median, q1, q3 = (format(value, digits) for value in values)
    return [median, f"{q1} to {q3}"]


def memory_section(memory: list[dict]) -> list[str]:
    """Return the table of peak memory."""
    rows = [
        [
            f"B {row['B']} H {row['H']} D {row['D']} {place(row)}",
            LABELS[row["rival"]],
            PASSES[row["what"]],
            *(f"{row[key] / 1e6:.1f}" for key in ("extra", "result")),
            f"{row['beyond_result'] / 1e6:.1f}",
        ]
        for row in memory
    ]
    head = ["case", "who", "pass", "peak MB", "result MB", "beyond it MB"]
    return [
        "## Memory",
        "",
        "Peak beyond the inputs, in MB of 10⁶ bytes. The result is the output and, backward, the "
        "gradients. On a CPU: by how much a fresh process grows.",
        "",
        *table(head, rows),
    ]


def left_out_section(result: dict) -> list[str]:
    """Return who was left out of what, and why."""
    reasons: dict[str, list[str]] = {}
    for case in result["cases"]:
        for rival, reason in case["left_out"].items():
            where = f"D {case['D']} G {case['G']} {place(case)}"
            reasons.setdefault(f"{LABELS[rival]}: {reason}", []).append(where)
    lines = [f"- {what} ({'; '.join(where)})" for what, where in reasons.items()]
    lines += [f"- {text}" for text in result["left_out"]]
    return ["", "## Left out", "", *lines] if lines else []


def goals_section(goals: list[dict]) -> list[str]:
    """Return the table of goals; what is measured is the worst case."""
    verdicts = {True: "met", False: "not met", None: "not measured"}
    rows = [
        [
            goal["text"],
            f"{goal['bound']:g}",
            "-" if goal["worst"] is None else f"{goal['worst']:.2f}",
            goal["where"],
            verdicts[goal["met"]],
        ]
        for goal in goals
    ]
    head = ["times as long as", "at most", "worst", "where", ""]
    return ["## Goals", "", *table(head, rows)]


def lines_of(result: dict) -> str:
    """Return results as JSON with a line for each entry of a list, or of a table of tables.

    >>> print(lines_of({"cases": [{"N": 7}, {"N": 11}], "goals": []}))
    {
    "cases": [
    {"N": 7},
    {"N": 11}
    ],
    "goals": []
    }
    """
    parts = []
    for name, value in result.items():
        text = json.dumps(value)
        if value and isinstance(value, list):
            text = "[\n" + ",\n".join(map(json.dumps, value)) + "\n]"
        elif isinstance(value, dict) and all(isinstance(each, dict) for each in value.values()):
            lines = [f"{json.dumps(key)}: {json.dumps(each)}" for key, each in value.items()]
            text = "{\n" + ",\n".join(lines) + "\n}"
        parts.append(f'"{name}": {text}')
    return "{\n" + ",\n".join(parts) + "\n}"
