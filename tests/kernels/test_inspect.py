"""What the Triton kernels become on GPUs that are not here: no later change may break it."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="Triton is not installed")

from course_utils.kernels import inspect, inspect_one
from course_utils.kernels.configurations import Problem, candidates, fixed
from course_utils.kernels.inspect_one import TARGETS, KernelReport

ROOT = Path(__file__).resolve().parents[2]
SIXTEEN_BITS = ("float16", "bfloat16")


@pytest.fixture(scope="module", params=list(TARGETS))
def reports(request):
    """All kernels for one GPU: causal, for float16; on Hopper everything of 16 bits at D 64."""
    found = inspect.inspect_kernels(request.param, forms=["causal"])
    if request.param == "sm_90":
        found += inspect.inspect_kernels(request.param, forms=["full"])
        found += inspect.inspect_kernels(
            request.param, forms=["causal"], head_widths=[64], dtypes=["bfloat16", "float32"]
        )
    return found


def test_every_kernel_compiles_for_every_gpu(reports):
    assert {one.kernel for one in reports} == set(inspect.KERNELS)
    assert {one.head_width for one in reports} == {64, 128}
    assert all(one.registers > 0 for one in reports)


def test_nothing_spills_at_head_width_64(reports):
    assert [one for one in reports if one.head_width == 64 and one.spills] == []


def test_shared_memory_is_within_the_limit_of_the_gpu(reports):
    for one in reports:
        assert 0 < one.shared <= one.shared_limit


def test_16_bits_are_multiplied_by_tensor_cores_without_waiting_each_time(reports):
    for one in reports:
        if one.dtype in SIXTEEN_BITS:
            # Two products at least in a loop, and two loops.
            assert one.matrix_instructions >= 4 and not one.serialized, one
            assert one.instruction == TARGETS[one.target].instruction


def test_float32_is_multiplied_in_full_precision(reports):
    """NVIDIA's tensor cores would round float32 to 10 bits of mantissa."""
    for one in reports:
        if one.dtype == "float32" and one.target.startswith("sm_"):
            assert one.matrix_instructions == 0


def test_hopper_measures_tiles_whose_fixed_ones_are_among_them(reports):
    for one in reports:
        gpu = TARGETS[one.target]
        bits = 16 if one.dtype in SIXTEEN_BITS else 32
        work = Problem(one.kernel, gpu.instruction, bits, one.head_width, one.causal, False)
        shipped = (one.block_m, one.block_n, one.warps, one.stages)
        assert fixed(work) == shipped == candidates(work)[0]


# How it is asked, and what it says when it cannot


def test_the_command_line_prints_what_the_function_returns(capsys):
    one = dict(kernels=["forward"], forms=["causal"], head_widths=[64])
    expected = inspect.inspect_kernels("sm_90", **one)
    arguments = [
        "--target",
        "sm_90",
        "--kernel",
        "forward",
        "--form",
        "causal",
        "--head-width",
        "64",
    ]
    assert inspect.main([*arguments, "--json"]) == 0
    assert [KernelReport(**fields) for fields in json.loads(capsys.readouterr().out)] == [*expected]
    assert inspect.main(arguments) == 0
    head, line = capsys.readouterr().out.splitlines()
    (report,) = expected
    assert head.split()[:3] == ["target", "kernel", "dtype"]
    assert f"{report.shared / 1024:.1f} of 227 KiB" in line
    assert line.split()[-2:] == [str(report.matrix_instructions), "wgmma"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"target": "sm_75"}, "target must be one of sm_80, sm_90, sm_100, sm_120, gfx942, got"),
        ({"head_widths": [96]}, "head_widths must be one of 64, 128, got 96"),
        ({"dtypes": ["float64"]}, "dtypes must be one of float16, bfloat16, float32, got"),
        ({"kernels": ["backward"]}, "kernels must be one of forward, backward_queries, backward_k"),
        ({"forms": ["square"]}, "forms must be one of full, causal, got 'square'"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_what_is_not_there_is_named(wrong, said):
    with pytest.raises(ValueError) as caught:
        inspect.inspect_kernels(**wrong)
    assert str(caught.value).startswith(said)


def test_the_command_line_ends_with_the_message_alone(capsys):
    assert inspect.main(["--target", "sm_75"]) == 2
    assert capsys.readouterr().err == (
        "target must be one of sm_80, sm_90, sm_100, sm_120, gfx942, got 'sm_75'\n"
    )


def test_without_triton_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"needs Triton; on Linux .* brings it"):
        inspect.inspect_kernels()


def test_a_fresh_python_that_fails_is_quoted(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(RuntimeError, match="must compile in a fresh Python; it said"):
        inspect.inspect_kernels("sm_90", kernels=["forward"])


def test_without_the_disassembler_it_says_which_is_missing(monkeypatch, tmp_path):
    missing = tmp_path / "cuobjdump"
    monkeypatch.setattr(inspect_one.triton_side(), "CUOBJDUMP", missing)
    with pytest.raises(RuntimeError, match=f"needs cuobjdump; this Triton lacks {missing}"):
        inspect_one._read_nvidia(None)


def test_a_kernel_is_never_compiled_where_it_is_interpreted():
    """The code that an interpreted kernel would give is that of something else, or none."""
    code = (
        "from course_utils.kernels.tiled_triton import compile_ahead as c; c('forward', 'sm_90', "
    )
    code += "{}, dtype='fp16', warps=4, stages=2)"
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert b"compiling needs a process in which TRITON_INTERPRET was never set" in done.stderr
