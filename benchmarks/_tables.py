"""The conditions that something was measured under, and tables of what was."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"


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
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def replace_text(path: Path, text: str) -> None:
    """Write a file whole or not at all: a run may be stopped at any time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(text + "\n", encoding="utf-8")
    new.replace(path)


def spread(values: list[float] | None, digits: str) -> list[str]:
    """Return a median and its quartiles in words, or dashes."""
    if values is None:
        return ["-", "-"]
    median, q1, q3 = (format(value, digits) for value in values)
    return [median, f"{q1} to {q3}"]


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return a Markdown table with its columns padded, numbers to the right.

    >>> table(["N", "ms"], [["8", "12.5"]])
    ['| N |   ms |', '| - | ---: |', '| 8 | 12.5 |']
    """
    right = [
        i > 0 and all(row[i][:1].isdigit() or row[i] in ("", "-") for row in rows)
        for i in range(len(head))
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    rule = ["-" * (w - 1) + ":" if r else "-" * w for w, r in zip(widths, right, strict=True)]
    lines = []
    for row in [head, rule, *rows]:
        cells = zip(row, widths, right, strict=True)
        lines.append(f"| {' | '.join(c.rjust(w) if r else c.ljust(w) for c, w, r in cells)} |")
    return lines


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
