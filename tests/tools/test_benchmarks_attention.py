"""The attention benchmark's arithmetic: rounds, ratios, checks, memory and goals."""

import json
import math
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from benchmarks import _measure, _memory, _rivals, attention
from benchmarks._cases import Case
from benchmarks._check import TOLERANCE, references, worst_error
from benchmarks._goals import GOALS
from benchmarks._report import time_section
from benchmarks._rivals import attend_naive, passes
from benchmarks._timing import Spread, WallClock, interleave, ratio
from course_utils.kernels import fast_cpu
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


def test_plain_tiles_are_without_the_fast_form(monkeypatch):
    taken = []
    monkeypatch.setattr(fast_cpu, "_many_scores", lambda q, k: taken.append(q.shape) or True)
    inputs = SMALL.inputs("cpu", gradients=True)
    for rival in ("plain", "ours"):
        out = _rivals.attend_with(rival, SMALL, "cpu")(*inputs)
        torch.autograd.grad(out.sum(), inputs)
        assert len(taken) == (rival == "ours")


@pytest.mark.parametrize("name", ["attention-cpu", "attention-cpu-busy", "attention-cpu-intel"])
def test_committed_results_give_the_committed_tables(name):
    results = ROOT / "benchmarks" / "results"
    table = "\n".join(time_section(written(results / f"{name}.json")["cases"]))
    assert table in (results / f"{name}.md").read_text(encoding="utf-8")


# Cases


def test_operations_of_the_products():
    case = Case(N=7, D=3, causal=False, dtype="float32", B=2, H=5, G=5, rivals=())
    two_products = 2 * (2 * 7 * 7 * 3) * 2 * 5
    assert case.operations("forward") == two_products
    assert case.operations("backward") == 2.5 * two_products
    assert replace(case, causal=True).operations("both") == 1.75 * two_products


def test_bytes_of_the_result():
    q, k, v = SMALL.inputs("cpu")
    assert SMALL.result_bytes("forward") == q.nbytes
    assert SMALL.result_bytes("both") == 2 * q.nbytes + k.nbytes + v.nbytes


def test_the_naive_form_where_it_fits():
    case = replace(SMALL, N=8192, B=1, H=8)
    assert case.naive_bytes("forward") == 2 * 8 * 8192**2 * 4
    assert passes("naive", case, 6e9) == ("forward",)
    assert passes("naive", case, 1e9) == ()
    assert passes("sdpa", case, 1e9) == ("forward", "both")


# Check


def wrong_by(spoil):
    inputs = SMALL.inputs("cpu", gradients=True)
    slope = _measure.slope_for(inputs[0])
    out = attend_naive(*inputs, causal=True)
    results = [out.detach(), *torch.autograd.grad(out, inputs, slope)]
    spoil(results)
    return worst_error(SMALL, results, references(SMALL, list(SMALL.inputs("cpu")), slope))


def wrong_row(value, *where):
    def spoil(results):
        results[0][where] = value

    return spoil


def scaled_gradient(results):
    results[2] *= 1.001


def rounded_output(results):
    results[0] = results[0].half().float()  # as many bits as TF32


def test_the_formula_passes_the_check():
    assert wrong_by(lambda results: None) < 1e-5


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


def test_every_job_runs_once_a_round():
    ran = []
    jobs = {name: lambda lap, name=name: ran.append(name) for name in "abc"}
    laps = interleave(jobs, WallClock(), seconds=0.0, at_least=12, at_most=12)
    rounds = [ran[i : i + 3] for i in range(0, 36, 3)]
    assert all(sorted(one) == ["a", "b", "c"] for one in rounds)
    assert len({tuple(one) for one in rounds}) > 3, "in changing order"
    assert {name: len(found) for name, found in laps.items()} == {"a": 12, "b": 12, "c": 12}


@pytest.mark.parametrize(
    ("seconds_a_job", "rounds", "coarse"),
    [(0.01, 20, 20), (0.5, 10, 10), (1.5, 7, 4), (2.5, 5, 3), (50.0, 3, 3)],
    ids=["at most", "until the time is up", "at least", "patience", "three"],
)
def test_the_number_of_rounds(seconds_a_job, rounds, coarse):
    time = [0.0]

    def job(lap):
        time[0] += seconds_a_job

    limits = {"seconds": 10.0, "at_least": 7, "at_most": 20, "now": lambda: time[0]}
    found = interleave({"naive": job, "ours": job}, WallClock(), coarse=("naive",), **limits)
    assert (len(found["ours"]), len(found["naive"])) == (rounds, coarse)


def test_a_ratio_is_taken_within_each_round():
    """A machine that becomes ten times slower half way changes no ratio."""
    ours, theirs = [2.0, 2.0, 20.0, 20.0], [1.0, 1.0, 10.0, 10.0]
    assert ratio(ours, theirs) == Spread(2.0, 2.0, 2.0)
    assert ratio([1.0, 3.0, 2.0], [1.0, 1.0, 1.0]) == Spread(2.0, 1.5, 2.5)


def test_a_ratio_to_who_sat_out():
    entrant = _measure.Entrant(lambda q, k, v: q, (), ("forward",), 0.0)
    laps = {"ours forward": [[1.0], [2.0], [90.0]], "naive forward": [[2.0], [4.0]]}
    found = _measure.summary("naive", dict.fromkeys(("ours", "naive"), entrant), laps)
    assert found["passes"]["forward"]["ours_takes_times"][0] == 0.5


def test_backward_and_both_come_from_laps():
    entrant = _measure.Entrant(lambda q, k, v: q, (), ("forward", "both"), 0.0)
    laps = {"x forward": [[1.0], [2.0]], "x both": [[3.0, 5.0], [4.0, 6.0]]}
    found = _measure.seconds_by_pass("x", entrant, laps)
    assert found == {"forward": [1.0, 2.0], "backward": [5.0, 6.0], "both": [8.0, 10.0]}


def test_a_budget_starts_only_what_fits(monkeypatch):
    time = [0.0]
    monkeypatch.setattr(attention.time, "monotonic", lambda: time[0])
    budget = attention.Budget(100.0)
    for seconds, more in ((30.0, True), (20.0, True), (19.0, True), (2.0, False)):
        with budget.spending():
            time[0] += seconds
        assert budget.allows() == more


# Memory

SIZE = 50_000_000


@linux
@pytest.mark.parametrize("before", ["", f"ones({4 * SIZE})"], ids=["fresh", "after a peak"])
def test_an_allocation_of_known_size(before):
    lines = [
        "from torch import int8, ones",
        "from benchmarks._memory import peak_growth",
        "ones(7)",  # a build for CUDA maps some of its code at the first call
        before,
        f"print(peak_growth(lambda: ones({SIZE}, dtype=int8)))",
    ]
    command = [sys.executable, "-c", "\n".join(lines)]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert abs(int(answer.stdout) - SIZE) < 2e6  # the counters lag behind by some pages


@linux
def test_the_naive_forms_matrix_is_seen():
    case = replace(SMALL, N=1021, B=1, H=8, G=8, causal=False)
    row = _memory.measure_in_subprocess(case, "naive", "forward", 1)
    matrix = 8 * 1021**2 * 4
    assert 2 * matrix < row["extra"] < 2.2 * matrix
    assert row["beyond_result"] == row["extra"] - 8 * 1021 * 16 * 4


# Goals


def made_up(times, **shape):
    """A case in which ours takes so many times as long: {rival: {pass: ratio}}."""
    case = {"B": 1, "H": 8, "G": 8, "N": 2048, "D": 64, "dtype": "float32", "causal": False}
    results = {
        rival: {"passes": {what: {"ours_takes_times": [r, 0, 9]} for what, r in found.items()}}
        for rival, found in times.items()
    }
    return {**case, **shape, "results": {"ours": {"passes": {}}, **results}, "left_out": {}}


def met(device, cases):
    return [goal.judge(cases)["met"] for goal in GOALS[device]]


def test_cpu_goals_met_and_not():
    fast = [
        made_up({"sdpa": {"forward": 1.04, "both": 1.14}}, N=1024),
        made_up({"sdpa": {"forward": 0.7}, "naive": {"forward": 1 / 3, "both": 0.2}}),
    ]
    assert met("cpu", fast) == [True] * 4
    slow = {"sdpa": {"forward": 1.11, "both": 1.16}, "naive": {"forward": 0.34, "both": 0.4}}
    assert met("cpu", [made_up(slow)]) == [False] * 4
    others = [{"N": 64}, {"D": 128}, {"G": 2}, {"dtype": "bfloat16"}]
    assert met("cpu", [made_up(slow, **other) for other in others]) == [None] * 4


def test_the_worst_case_decides():
    cases = [
        made_up({"sdpa": {"forward": 0.5}}),
        made_up({"sdpa": {"forward": 1.2}}, N=4096, causal=True),
    ]
    judged = GOALS["cpu"][0].judge(cases)
    assert (judged["met"], judged["worst"]) == (False, 1.2)
    assert judged["where"] == "N 4096 causal float32"


@pytest.mark.parametrize(("slower", "N", "verdict"), [(1, 8192, True), (2, 8192, False),
                                                      (2, 2048, None)])  # fmt: skip
def test_gpu_goals(slower, N, verdict):
    times = {"flash": {"forward": 0.83, "backward": 1.05}, "cudnn": {"forward": 1.1}}
    times |= {"ours_mha": {"forward": 1.0, "backward": 0.99}}
    slow = {
        rival: {what: slower * x for what, x in found.items()} for rival, found in times.items()
    }
    shape = {"B": 2, "H": 32, "G": 32, "N": N, "dtype": "bfloat16"}
    assert met("cuda", [made_up(slow, **shape, D=D) for D in (64, 128)]) == [verdict] * 8
