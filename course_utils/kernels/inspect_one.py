"""Compile one Triton kernel for a GPU that need not be here, and read what came out."""

import importlib
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_utils.kernels.configurations import Problem, constants_of, fixed

__all__ = ["DTYPES", "TARGETS", "KernelReport", "Target", "inspect_one", "triton_side"]

# The letters that Triton has for them.
DTYPES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}


@dataclass(frozen=True)
class Target:
    """A GPU: bytes of shared memory that a program may use, and how it multiplies matrices."""

    shared_limit: int
    instruction: str
    pattern: str  # matches that instruction in the machine code


# Limits: CUDA C++ Programming Guide, "Technical specifications per compute capability" (a program
# may use all but 1 KiB of 164, 228, 228 and 100 KiB); AMD CDNA 3 instruction set, 64 KiB.
TARGETS = {
    "sm_80": Target(163 * 1024, "mma.sync", r"\bHMMA\b"),
    "sm_90": Target(227 * 1024, "wgmma", r"\bHGMMA\b"),
    "sm_100": Target(227 * 1024, "tcgen05", r"\bUTCHMMA\b"),
    "sm_120": Target(99 * 1024, "mma.sync", r"\bHMMA\b"),
    "gfx942": Target(64 * 1024, "mfma", r"\bv_mfma_"),
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


def triton_side() -> Any:
    """Return the module that holds the kernels; needs Triton.

    >>> "forward" in triton_side().KERNELS
    True
    """
    return importlib.import_module("course_utils.kernels.tiled_triton")


def inspect_one(
    target: str, kernel: str, dtype: str, head_width: int, causal: bool
) -> KernelReport:
    """Compile one kernel, with the tiles used on that GPU, and report on it.

    Raises:
        KeyError: for a GPU that is not among ``TARGETS``.
        RuntimeError: if Triton's disassembler is missing, or Triton interprets here.

    >>> inspect_one("sm_75", "forward", "float16", 64, causal=True)
    Traceback (most recent call last):
    KeyError: 'sm_75'
    """
    gpu = TARGETS[target]
    bits = 32 if dtype == "float32" else 16
    tiles = fixed(Problem(kernel, gpu.instruction, bits, head_width, causal, long=False))
    constants = constants_of(kernel, tiles, D=head_width, group=1, causal=causal, T=tiles.block_m)
    compiled = triton_side().compile_ahead(
        kernel, target, constants, dtype=DTYPES[dtype], warps=tiles.warps, stages=tiles.stages
    )
    read = _read_amd if target.startswith("gfx") else _read_nvidia
    registers, spills, code = read(compiled)
    found = len(re.findall(gpu.pattern, code))
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
        shared_limit=gpu.shared_limit,
        instruction=gpu.instruction,
        matrix_instructions=found,
        serialized=waits >= found > 0,
    )


def _read_nvidia(compiled: Any) -> tuple[int, int, str]:
    """Return registers, bytes on the stack, which hold what was spilled, and the machine code."""
    tool = triton_side().CUOBJDUMP
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
