"""What the Triton kernels become on GPUs that are not here: no later change may break it."""

import importlib.util
import json

import pytest

pytest.importorskip("triton", reason="Triton is not installed")

from course_utils.kernels import inspect
from course_utils.kernels.inspect import TARGETS, KernelReport

SIXTEEN_BITS = ("float16", "bfloat16")


# All kernels for each GPU, causal and float16; on Hopper the others as well.
HOPPER = {"target": "sm_90", "forms": ["causal"], "head_widths": [64]}
ASKED = {target: [{"target": target, "forms": ["causal"]}] for target in TARGETS}
ASKED["sm_90"] += [HOPPER | {"dtypes": ["float32"], "kernels": ["forward"]}]
ASKED["sm_90, more"] = [
    {"target": "sm_90", "forms": ["full"]},
    HOPPER | {"dtypes": ["bfloat16"], "kernels": ["forward"]},
    HOPPER | {"dtypes": ["float32"]},
]
COMPILED = """
import json
from dataclasses import asdict
from course_utils.kernels.inspect import inspect_kernels
print(json.dumps([asdict(one) for asked in ASKED for one in inspect_kernels(**asked)]))
"""


@pytest.fixture(
    scope="module",
    params=["sm_90", *(pytest.param(n, marks=pytest.mark.slow) for n in ASKED if n != "sm_90")],
)
def reports(request, fresh_python):
    done = fresh_python(f"ASKED = {ASKED[request.param]!r}{COMPILED}")
    assert done.returncode == 0, done.stderr
    return [KernelReport(**fields) for fields in json.loads(done.stdout)]


def test_every_kernel_compiles_for_every_gpu(reports):
    assert {one.kernel for one in reports} == set(inspect.KERNELS)
    assert {one.head_width for one in reports} == {64, 128}
    assert all(one.registers > 0 for one in reports)


def test_nothing_spills_at_head_width_64(reports):
    assert [one for one in reports if one.head_width == 64 and one.spills] == []


def test_shared_memory_within_the_limit(reports):
    for one in reports:
        assert 0 < one.shared <= one.shared_limit


def test_16_bits_use_tensor_cores(reports):
    for one in reports:
        if one.dtype in SIXTEEN_BITS:
            # Two products at least in a loop, and two loops.
            assert one.matrix_instructions >= 4 and not one.serialized, one
            assert one.instruction == TARGETS[one.target][0]


def test_float32_is_multiplied_in_full_precision(reports):
    """NVIDIA's tensor cores would round float32 to 10 bits of mantissa."""
    for one in reports:
        if one.dtype == "float32" and one.target.startswith("sm_"):
            assert one.matrix_instructions == 0


# Of each kernel: the powers of two in its code, and how many of them are taken of the result of a
# multiplication and an addition in one. Registers are written once in this assembly.
POWERS = r"""
import re
from course_utils.kernels import tiled_triton
from course_utils.kernels.configurations import Configuration, constants_of

for fused in (None, True):
    if fused:
        tiled_triton.ROUNDING = {"enable_fp_fusion": True}
    for name in tiled_triton.KERNELS:
        tiles = Configuration(64, 64, warps=4, stages=2)
        constants = constants_of(name, tiles, D=64, group=1, causal=True, T=64)
        code = tiled_triton.compile_ahead(
            name, "sm_90", constants, dtype="fp16", warps=tiles.warps, stages=tiles.stages
        ).asm["ptx"]
        at_once = set(re.findall(r"\bfma\.rn\S*\.f32\s+(%\w+),", code))
        powers = re.findall(r"\bex2\.approx\S*\.f32\s+%\w+, (%\w+);", code)
        print(fused, name, len(powers), sum(one in at_once for one in powers))
"""


def test_scores_are_rounded_before_m(fresh_python):
    """Else 2**(score - m) of a huge score is 2 to the power of what rounding m took away.

    As launched no power is taken of a fused result; where fusing is allowed, nearly all are.
    """
    done = fresh_python(POWERS)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == 6, done.stderr
    for fused, kernel, powers, of_fused in lines:
        assert int(powers) > 0, kernel
        assert (int(of_fused) == 0) == (fused == "None"), (fused, kernel, of_fused)


def test_without_triton_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"needs Triton; on Linux .* brings it"):
        inspect.inspect_kernels()
