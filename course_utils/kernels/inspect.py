"""Compile the Triton kernels for GPUs that are not here, and say what came out.

``python -m course_utils.kernels.inspect sm_90`` prints a line for each kernel with the tiles used
there: registers of a thread, bytes it spills to memory, shared memory against what the GPU has,
tensor-core instructions in the code. Needs Triton, but no GPU.
"""

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from course_utils.checks import check_choice
from course_utils.kernels.configurations import constants_of, tiles_for
from course_utils.kernels.gpus import SHARED_PER_BLOCK

__all__ = ["KernelReport", "inspect_kernels", "main", "report_table"]

KERNELS = ("forward", "backward_queries", "backward_keys")
HEAD_WIDTHS = (64, 128)
# The letters that Triton has for them.
DTYPES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}
FORMS = {"full": False, "causal": True}
# How a GPU multiplies matrices, and what matches that in its machine code.
TARGETS = {
    "sm_80": ("mma.sync", r"\bHMMA\b"),
    "sm_90": ("wgmma", r"\bHGMMA\b"),
    "sm_100": ("tcgen05", r"\bUTCHMMA\b"),
    "sm_120": ("mma.sync", r"\bHMMA\b"),
    "gfx942": ("mfma", r"\bv_mfma_"),
}


@dataclass(frozen=True)
class KernelReport:
    """What one kernel became.

    ``registers`` and ``spills`` (bytes) are per thread, ``shared`` and ``shared_limit`` (bytes) per
    program. ``matrix_instructions`` counts ``instruction`` in the code, not how often it runs; it
    is 0 where float32 is multiplied in full precision without tensor cores. ``serialized`` says
    that each of them waits for the one before, and the rest of the program with it.
    """

    target: str
    kernel: str
    dtype: str
    head_width: int
    causal: bool
    block_m: int
    block_n: int
    warps: int
    stages: int
    registers: int
    spills: int
    shared: int
    shared_limit: int
    instruction: str
    matrix_instructions: int
    serialized: bool


def inspect_kernels(
    target: str = "sm_90",
    *,
    head_widths: Sequence[int] = HEAD_WIDTHS,
    dtypes: Sequence[str] = ("float16",),
    kernels: Sequence[str] = KERNELS,
    forms: Sequence[str] = tuple(FORMS),
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
        ValueError: for a target that is not among these.
        RuntimeError: if Triton is missing, or cannot compile.

    >>> inspect_kernels("sm_75")
    Traceback (most recent call last):
    ValueError: target must be one of sm_80, sm_90, sm_100, sm_120, gfx942, got 'sm_75'
    """
    __tracebackhide__ = True
    check_choice("target", target, tuple(TARGETS))
    if importlib.util.find_spec("triton") is None:
        raise RuntimeError(
            "compiling the kernels needs Triton; on Linux with x86-64, "
            '`python -m pip install "triton>=3.6,<3.8"` brings it'
        )
    asked = list(product(head_widths, dtypes, forms, kernels))
    triton_side = _triton_side()
    if "TRITON_INTERPRET" in os.environ or triton_side.INTERPRETED or triton_side.MIXED:
        return _inspect_elsewhere([[target, *one] for one in asked])
    return tuple(_inspect_one(target, *one) for one in asked)


def _inspect_one(target: str, head_width: int, dtype: str, form: str, kernel: str) -> KernelReport:
    """Compile one kernel, with the tiles used on that GPU, and report on it."""
    instruction, pattern = TARGETS[target]
    tiles = tiles_for(kernel, instruction, 32 if dtype == "float32" else 16, head_width)
    causal = FORMS[form]
    constants = constants_of(kernel, tiles, D=head_width, group=1, causal=causal, T=tiles.block_m)
    compiled = _triton_side().compile_ahead(
        kernel, target, constants, dtype=DTYPES[dtype], warps=tiles.warps, stages=tiles.stages
    )
    read = _read_amd if target.startswith("gfx") else _read_nvidia
    registers, spills, code = read(compiled)
    found = len(re.findall(pattern, code))
    waits = len(re.findall(r"\bWARPGROUP\.DEPBAR\b", code))  # for wgmma
    return KernelReport(
        target,
        kernel,
        dtype,
        head_width,
        causal,
        *tiles,
        registers=registers,
        spills=spills,
        shared=compiled.metadata.shared,
        shared_limit=SHARED_PER_BLOCK[target],
        instruction=instruction,
        matrix_instructions=found,
        serialized=waits >= found > 0,
    )


def _inspect_elsewhere(asked: list[list]) -> tuple[KernelReport, ...]:
    """Let a Python that never saw TRITON_INTERPRET compile, and read its reports."""
    __tracebackhide__ = True
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    folders = [str(Path(__file__).parents[2]), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    code = (
        "import json; from dataclasses import asdict; from course_utils.kernels import inspect; "
        f"print(json.dumps([asdict(inspect._inspect_one(*one)) for one in {asked!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"the kernels must compile in a fresh Python; it said: {done.stderr}")
    return tuple(KernelReport(**fields) for fields in json.loads(done.stdout))


def _triton_side() -> Any:
    """Return the module that holds the kernels; needs Triton."""
    return importlib.import_module("course_utils.kernels.tiled_triton")


def _read_nvidia(compiled: Any) -> tuple[int, int, str]:
    """Return registers, bytes on the stack, which hold what was spilled, and the machine code."""
    tool = _triton_side().CUOBJDUMP
    if not tool.exists():
        raise RuntimeError(f"reading compiled kernels needs cuobjdump; this Triton lacks {tool}")
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "kernel.cubin"
        cubin.write_bytes(compiled.asm["cubin"])
        usage, code = (
            subprocess.run([tool, what, cubin], capture_output=True, text=True, check=True).stdout
            for what in ("-res-usage", "-sass")
        )
    return _number(r"REG:(\d+)", usage), _number(r"STACK:(\d+)", usage), code


def _read_amd(compiled: Any) -> tuple[int, int, str]:
    """Return vector registers, bytes of scratch memory, which hold what was spilled, the code."""
    code = compiled.asm["amdgcn"]
    scratch = _number(r"\.private_segment_fixed_size: *(\d+)", code)
    return _number(r"\.vgpr_count: *(\d+)", code), scratch, code


def _number(pattern: str, text: str) -> int:
    match = re.search(pattern, text)
    if match is None:
        raise RuntimeError(f"a compiled kernel must say {pattern}, got {text[:200]!r}")
    return int(match[1])


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


def main(targets: Sequence[str]) -> int:
    """Print the reports for these GPUs, or for all of them; return the exit status."""
    try:
        for target in targets or TARGETS:
            print(report_table(inspect_kernels(target)))
    except (ValueError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
