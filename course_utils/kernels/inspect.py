"""Compile the Triton kernels for GPUs that are not here, and say what came out.

``python -m course_utils.kernels.inspect --target sm_90`` prints a line for each kernel with the
tiles used there: registers of a thread, bytes it spills to memory, shared memory against what
the GPU has, tensor-core instructions in the code. Needs Triton, but no GPU.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

from course_utils.kernels.inspect_one import (
    DTYPES,
    TARGETS,
    KernelReport,
    inspect_one,
    triton_side,
)

__all__ = ["KernelReport", "inspect_kernels", "main", "report_table"]

KERNELS = ("forward", "backward_queries", "backward_keys")
HEAD_WIDTHS = (64, 128)
_FORMS = {"full": False, "causal": True}
_MISSING = (
    "compiling the kernels needs Triton; on Linux with x86-64, "
    '`python -m pip install "triton>=3.6,<3.8"` brings it'
)


def inspect_kernels(
    target: str = "sm_90",
    *,
    head_widths: Sequence[int] = HEAD_WIDTHS,
    dtypes: Sequence[str] = ("float16",),
    kernels: Sequence[str] = KERNELS,
    forms: Sequence[str] = tuple(_FORMS),
) -> tuple[KernelReport, ...]:
    """Compile kernels for a GPU that need not be there, a second or two each the first time.

    Where ``TRITON_INTERPRET`` is set, which leaves nothing to compile, a fresh Python does it.

    Args:
        target: ``"sm_80"`` (A100), ``"sm_90"`` (H100, H200), ``"sm_100"`` (B200), ``"sm_120"``
            (RTX 50) or ``"gfx942"`` (MI300).
        head_widths: of 64 and 128.
        dtypes: of ``"float16"``, ``"bfloat16"`` and ``"float32"``.
        kernels: of ``"forward"``, ``"backward_queries"`` and ``"backward_keys"``.
        forms: of ``"full"`` and ``"causal"``.

    Raises:
        ValueError: for a name or a width that is not among these.
        RuntimeError: if Triton is missing, or cannot compile.

    >>> inspect_kernels("sm_75")
    Traceback (most recent call last):
    ValueError: target must be one of sm_80, sm_90, sm_100, sm_120, gfx942, got 'sm_75'
    """
    __tracebackhide__ = True
    _check_known("target", [target], TARGETS)
    _check_known("head_widths", head_widths, HEAD_WIDTHS)
    _check_known("dtypes", dtypes, DTYPES)
    _check_known("kernels", kernels, KERNELS)
    _check_known("forms", forms, _FORMS)
    if importlib.util.find_spec("triton") is None:
        raise RuntimeError(_MISSING)
    if "TRITON_INTERPRET" in os.environ or triton_side().INTERPRETED or triton_side().MIXED:
        return _inspect_elsewhere(
            target=[target], head_width=head_widths, dtype=dtypes, kernel=kernels, form=forms
        )
    return tuple(
        inspect_one(target, kernel, dtype, width, _FORMS[form])
        for width, dtype, form, kernel in product(head_widths, dtypes, forms, kernels)
    )


def report_table(reports: Iterable[KernelReport]) -> str:
    """Return reports as a table of plain text, a line to a kernel.

    >>> report_table(()).split()[:4]
    ['target', 'kernel', 'dtype', 'D']
    """
    rows = [(
        "target", "kernel", "dtype", "D", "form", "tile", "warps", "stages", "registers",
        "spilled", "shared", "tensor cores",
    )]  # fmt: skip
    for one in reports:
        cores = f"{one.matrix_instructions} {one.instruction}" if one.matrix_instructions else "-"
        rows.append((
            one.target,
            one.kernel,
            one.dtype,
            str(one.head_width),
            "causal" if one.causal else "full",
            f"{one.block_m}x{one.block_n}",
            str(one.warps),
            str(one.stages),
            str(one.registers),
            f"{one.spills} B",
            f"{one.shared / 1024:.1f} of {one.shared_limit / 1024:.0f} KiB",
            cores + ", serialized" * one.serialized,
        ))  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the reports that the command line asks for; return the exit status.

    >>> main(["--json", "--target", "sm_90", "--kernel"])
    []
    0
    """
    chosen = _parser().parse_args(arguments)
    try:
        reports = [
            report
            for target in chosen.target
            for report in inspect_kernels(
                target,
                head_widths=chosen.head_width,
                dtypes=chosen.dtype,
                kernels=chosen.kernel,
                forms=chosen.form,
            )
        ]
    except (ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 2
    if chosen.json:
        print(json.dumps([asdict(report) for report in reports], indent=1))
    else:
        print(report_table(reports))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m course_utils.kernels.inspect",
        description="Compile the Triton kernels for GPUs that need not be here; say what came out.",
    )
    for name, known, default in (
        ("target", TARGETS, tuple(TARGETS)),
        ("head-width", HEAD_WIDTHS, HEAD_WIDTHS),
        ("dtype", DTYPES, ("float16",)),
        ("kernel", KERNELS, KERNELS),
        ("form", _FORMS, tuple(_FORMS)),
    ):
        listed = ", ".join(map(str, known))
        default_said = "all" if len(default) == len(known) else ", ".join(map(str, default))
        parser.add_argument(
            f"--{name}",
            nargs="*",
            type=type(default[0]),
            default=list(default),
            help=f"of {listed}; by default {default_said}",
        )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def _check_known(name: str, given: Sequence[Any], known: Iterable[Any]) -> None:
    __tracebackhide__ = True
    for one in given:
        if one not in tuple(known):
            raise ValueError(f"{name} must be one of {', '.join(map(str, known))}, got {one!r}")


def _inspect_elsewhere(**options: Sequence[Any]) -> tuple[KernelReport, ...]:
    """Let a Python that never saw TRITON_INTERPRET compile, and read its reports."""
    __tracebackhide__ = True
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    folders = [str(Path(__file__).parents[2]), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    command = [sys.executable, "-m", "course_utils.kernels.inspect", "--json"]
    for name, values in options.items():
        command += [f"--{name.replace('_', '-')}", *map(str, values)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the kernels must compile in a fresh Python; it said: {done.stderr}")
    return tuple(KernelReport(**fields) for fields in json.loads(done.stdout))


if __name__ == "__main__":
    sys.exit(main())
