"""The measurements in words, and the conditions they were made under."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks._goals import Goal, place, slopes
from benchmarks._rivals import LABELS

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


def report(result: dict, goals: list[Goal]) -> str:
    """Return everything that was measured, the goals last."""
    lines = ["# Attention, measured", ""]
    lines += [f"- {name}: {value}" for name, value in result["conditions"].items()]
    lines += ["", *time_section(result["cases"])]
    if result["memory"]:
        lines += ["", *memory_section(result["memory"])]
    lines += left_out_section(result)
    if result["configurations"]:
        lines += ["", "## Configurations that the autotuner chose", ""]
        lines += [f"- {line}" for line in result["configurations"]]
    return "\n".join([*lines, "", *goals_section(goals)])


def time_section(cases: list[dict]) -> list[str]:
    """Return the table of times: one line for each rival and pass of a case."""
    rows = []
    for case in cases:
        heads = f"B {case['B']} H {case['H']} G {case['G']} D {case['D']} {place(case)}"
        for rival, found in case["results"].items():
            for what, timed in found["passes"].items():
                rows.append([heads, LABELS[rival], PASSES[what], *figures(timed)])
    head = ["case", "who", "pass", "ms", "quartiles", "TFLOP/s", "ours takes", "quartiles"]
    return [
        "## Time",
        "",
        "Medians over rounds in which each ran once. TFLOP/s counts 4·N²·D operations a head "
        "forward, 2.5 times that backward, half of it where causal. 'Ours takes': our time over "
        "theirs in the same round, so below 1 we are faster. Split: heads side by side in memory, "
        "as a layer hands them over.",
        "",
        *table(head, rows),
    ]


def figures(timed: dict) -> list[str]:
    """Return the numbers of one line of the table of times."""
    ms, times = timed["milliseconds"], timed.get("ours_takes_times")
    numbers = [f"{ms['median']:.3g}", f"{ms['q1']:.3g} to {ms['q3']:.3g}", f"{timed['tflops']:.3g}"]
    if times is None:
        return [*numbers, "-", "-"]
    return [*numbers, f"{times['median']:.2f}", f"{times['q1']:.2f} to {times['q3']:.2f}"]


def memory_section(memory: list[dict]) -> list[str]:
    """Return the table of peak memory and the slopes over N."""
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
    lines = [
        "## Memory",
        "",
        "Peak beyond the inputs, in MB of 10⁶ bytes. The result is the output and, backward, the "
        "gradients. On a CPU: by how much a fresh process grows.",
        "",
        *table(head, rows),
    ]
    fitted = [
        s for rival in dict.fromkeys(r["rival"] for r in memory) for s in slopes(memory, rival)
    ]
    if fitted:
        lines += ["", "Log-log slope of the peak over N:", ""]
        for s in fitted:
            said = f"{LABELS[s['rival']]}, {PASSES[s['what']]}, {s['sizes']}"
            lines.append(f"- {said}: {s['slope']:.2f}")
    return lines


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


def goals_section(goals: list[Goal]) -> list[str]:
    """Return the table of goals; what is measured is the worst case."""
    rows = [
        [
            goal.text,
            f"{goal.bound:g}",
            "-" if goal.worst is None else f"{goal.worst:.2f}",
            goal.where,
            goal.verdict,
        ]
        for goal in goals
    ]
    return ["## Goals", "", *table(["goal", "bound", "worst", "where", ""], rows)]
