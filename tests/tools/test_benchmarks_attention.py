"""The attention benchmark's arithmetic: ratios, checks and memory."""

import json
import math
import subprocess
import sys

import pytest
import torch

from benchmarks import _measure, _memory, _rivals, attention
from benchmarks._cases import Case
from benchmarks._check import TOLERANCE, worst_error
from benchmarks._report import time_section
from benchmarks._rivals import attend_naive
from benchmarks._timing import ratio
from course_utils.threads import one_thread
from tools.setup.place import ROOT

SMALL = Case(N=37, D=16, causal=True, dtype="float32", B=2, H=6, G=3, rivals=("ours", "sdpa"))
linux = pytest.mark.skipif(not _memory.STATUS.exists(), reason="only Linux has /proc")


def run(out, *options):
    """Measure on the CPU, and leave torch's threads as they were."""
    with one_thread():
        return attention.main(["--quick", "--threads", "1", "--out", str(out), *options])


def written(file):
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """What one quick run on the CPU wrote."""
    out = tmp_path_factory.mktemp("results")
    assert run(out) == 0
    assert "## Time" in (out / "attention-cpu.md").read_text(encoding="utf-8")
    return written(out / "attention-cpu.json")


def test_a_quick_run_measures_every_rival(quick):
    assert torch.__version__.startswith(quick["conditions"]["torch"])  # perhaps with its build
    assert [(c["N"], c["causal"], c["G"]) for c in quick["cases"]] == [
        *((67, False, 4), (131, False, 4), (131, True, 4), (67, False, 2)),
    ]
    for case in quick["cases"]:
        more = ["ours_mha"] if case["G"] < case["H"] else []
        rivals = ["ours", *more, "plain", "sdpa", "naive"]
        assert list(case["results"]) == rivals and case["left_out"] == {}
        for found in case["results"].values():
            assert 0 < found["error"] <= TOLERANCE["float32"]
            assert list(found["passes"]) == ["forward", "backward", "both"]


@linux
def test_a_quick_run_measures_memory(quick):
    assert [row["N"] for row in quick["memory"]] == [256, 512] and quick["left_out"] == []
    for row in quick["memory"]:
        assert row["result"] == 4 * 4 * row["N"] * 64  # float32, four heads of width 64
        assert row["beyond_result"] == row["extra"] - row["result"]


def test_a_wrong_result_gets_no_figure(tmp_path, monkeypatch):
    def top_left(rival, case, device):
        if rival == "ours":
            return lambda q, k, v: attend_naive(q, k, v, causal=not case.causal)
        return _rivals.attend_with(rival, case, device)

    monkeypatch.setattr(_measure, "attend_with", top_left)
    monkeypatch.setattr(attention, "quick_cases", lambda device: [SMALL])
    monkeypatch.setattr(attention, "memory_tasks", lambda device, quick: [])
    assert run(tmp_path) == 1
    (case,) = written(tmp_path / "attention-cpu.json")["cases"]
    assert list(case["results"]) == ["sdpa"]
    assert case["left_out"]["ours"].startswith("wrong: off by ")


@pytest.mark.parametrize("name", ["attention-cpu", "attention-cpu-busy", "attention-cpu-intel"])
def test_committed_results_give_the_committed_tables(name):
    results = ROOT / "benchmarks" / "results"
    result = written(results / f"{name}.json")
    table = "\n".join(time_section(result["cases"], result["conditions"]["device"]))
    assert table in (results / f"{name}.md").read_text(encoding="utf-8")


def test_times_are_held_to_both_peaks_of_a_known_gpu():
    """By hand: 2³⁰ weights, half of them seen; 512 operations each forward, 1280 backward.

    Over 989.4e12 operations and 132 · 16 · 1.83e9 exponentials a second.
    """
    shape = Case(N=4096, D=128, causal=True, dtype="float16", B=2, H=32, G=32, rivals=()).shape
    passes = {"forward": {"ms": [1.0, 1.0, 1.0]}, "backward": {"ms": [2.0, 2.0, 2.0]}}
    case = {**shape, "results": {"ours": {"passes": passes}}}
    *_, forward, backward = time_section([case], "NVIDIA H100 80GB HBM3")
    assert [cell.strip() for cell in forward.split("|")[6:9]] == ["275", "28%", "14%"]
    assert [cell.strip() for cell in backward.split("|")[6:9]] == ["344", "35%", "7%"]
    head = next(line for line in time_section([case], "a GPU of tomorrow") if "TFLOP/s |" in line)
    assert "peak" not in head


# Check


def wrong_by(spoil):
    inputs = SMALL.inputs("cpu", gradients=True)
    out = attend_naive(*inputs, causal=True)
    results = [out.detach(), *torch.autograd.grad(out, inputs, SMALL.slope("cpu"))]
    spoil(results)
    return worst_error(SMALL, "cpu", results)


def wrong_row(value, *where):
    def spoil(results):
        results[0][where] = value

    return spoil


def scaled_gradient(results):
    results[2] *= 1.001


def rounded_output(results):
    results[0] = results[0].half().float()  # as many bits as TF32


@pytest.mark.parametrize(
    "spoil",
    [
        wrong_row(1.0, 0, 0, 0),
        wrong_row(math.nan, 1, 5, 36),
        scaled_gradient,
        rounded_output,
    ],
)
def test_the_check_sees_a_wrong_result(spoil):
    assert not wrong_by(spoil) <= TOLERANCE["float32"]


# Times


def test_a_ratio_is_taken_within_each_round():
    """A machine that becomes ten times slower half way changes no ratio."""
    ours, theirs = [2.0, 2.0, 20.0, 20.0], [1.0, 1.0, 10.0, 10.0]
    assert ratio(ours, theirs) == [2.0, 2.0, 2.0]
    assert ratio([1.0, 3.0, 2.0], [1.0, 1.0, 1.0]) == [2.0, 1.5, 2.5]


# Memory

SIZE = 50_000_000


@linux
def test_an_allocation_of_known_size():
    """Asked twice: the second time a higher peak has been before."""
    measure = f"print(peak_growth(lambda: ones({SIZE}, dtype=int8)))"
    lines = [
        "from torch import int8, ones",
        "from benchmarks._memory import peak_growth",
        "ones(7)",  # a build for CUDA maps some of its code at the first call
        *(measure, f"ones({4 * SIZE})", measure),
    ]
    command = [sys.executable, "-c", "\n".join(lines)]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    fresh, after = map(int, answer.stdout.split())
    # The counters lag behind by some pages.
    assert abs(fresh - SIZE) < 2e6 and abs(after - SIZE) < 2e6
