"""The attention benchmark: its arithmetic, its checks and goals; how fast this is, no test asks."""

import doctest
import json
import math
import subprocess
import sys
from collections import namedtuple
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from benchmarks import _compile, _measure, _memory, _report, _rivals, attention
from benchmarks._cases import Case, cpu_cases, gpu_cases, quick_cases
from benchmarks._check import TOLERANCE, references, worst_error
from benchmarks._measure import Pace, measure_case
from benchmarks._plot import save_plot
from benchmarks._rivals import CannotRun, attend_naive, passes
from benchmarks._timing import WallClock
from tools.setup import tasks
from tools.setup.place import ROOT, Place

SMALL = Case(N=37, D=16, causal=True, dtype="float32", B=2, H=6, G=3, rivals=("ours", "sdpa"))
PACE = Pace(0.0, 3, 3)
linux = pytest.mark.skipif(not _memory.STATUS.exists(), reason="only Linux has /proc")


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """One quick run on the CPU: its exit status, its folder, and what it wrote."""
    out = tmp_path_factory.mktemp("results")
    status = attention.main(["--quick", "--threads", "1", "--out", str(out)])
    return status, out, json.loads((out / "attention-cpu.json").read_text(encoding="utf-8"))


def test_a_quick_run_says_where_and_with_what(quick):
    status, _, read = quick
    assert status == 0
    conditions = read["conditions"]
    assert conditions["command"] == "python -m benchmarks.attention --quick --threads 1 --out OUT"
    assert conditions["threads"] == "1" and conditions["torch"] == torch.__version__
    assert all(conditions.values()) and "cores" in conditions["machine"]


def test_a_quick_run_gives_every_rival_its_figures(quick):
    cases = quick[2]["cases"]
    assert [(c["N"], c["causal"], c["G"]) for c in cases] == [
        *((67, False, 4), (131, False, 4), (131, True, 4), (67, False, 2)),
    ]
    for case in cases:
        rivals = ["ours", *(["ours_mha"] if case["G"] < case["H"] else []), "sdpa", "naive"]
        assert list(case["results"]) == rivals and case["left_out"] == {}
        for rival, found in case["results"].items():
            assert 0 < found["error"] <= TOLERANCE["float32"] and found["first_seconds"] > 0
            assert list(found["passes"]) == ["forward", "backward", "both"]
            for timed in found["passes"].values():
                spreads = [timed["milliseconds"], timed.get("ours_takes_times")]
                assert (spreads[1] is None) is (rival == "ours")
                for spread in filter(None, spreads):
                    assert 0 < spread["q1"] <= spread["median"] <= spread["q3"] < math.inf
                assert timed["rounds"] == 3 and timed["tflops"] > 0


@linux
def test_a_quick_run_measures_memory(quick):
    rows = quick[2]["memory"]
    assert [row["N"] for row in rows] == [256, 512] and quick[2]["left_out"] == []
    for row in rows:
        assert row["result"] == 4 * 4 * row["N"] * 64  # float32, four heads of width 64
        assert row["beyond_result"] == row["extra"] - row["result"]


def test_a_quick_run_writes_the_tables_and_the_picture(quick):
    text = (quick[1] / "attention-cpu.md").read_text(encoding="utf-8")
    assert "flash_attend" in text and "| SDPA " in text and "| naive " in text
    assert text.index("## Time") < text.index(_report.GOALS_HEADING)
    assert "not measured" in text.split(_report.GOALS_HEADING)[1]
    assert (quick[1] / "attention-cpu.png").read_bytes().startswith(b"\x89PNG")
    assert not list(quick[1].glob("*.new"))


def test_where_the_result_is_ours_and_wrong_the_exit_status_says_so(tmp_path, monkeypatch, capsys):
    def top_left(rival, case, device):
        if rival == "ours":
            return lambda q, k, v: attend_naive(q, k, v, causal=not case.causal)
        return _rivals.attend_with(rival, case, device)

    monkeypatch.setattr(_measure, "attend_with", top_left)
    monkeypatch.setattr(attention, "quick_cases", lambda device: [SMALL])
    monkeypatch.setattr(attention, "memory_tasks", lambda device, quick: [])
    assert attention.main(["--quick", "--json", "--threads", "1", "--out", str(tmp_path)]) == 1
    (case,) = json.loads(capsys.readouterr().out)["cases"]
    assert list(case["results"]) == ["sdpa"]
    assert case["left_out"]["ours"].startswith("wrong: off by ")
    assert "ours_takes_times" not in case["results"]["sdpa"]["passes"]["forward"]


class TestCases:
    def test_operations_are_those_of_the_products(self):
        case = Case(N=7, D=3, causal=False, dtype="float32", B=2, H=5, G=5, rivals=())
        two_products = 2 * (2 * 7 * 7 * 3) * 2 * 5
        assert case.operations("forward") == two_products
        assert case.operations("backward") == 2.5 * two_products
        assert case.operations("both") == 3.5 * two_products
        assert replace(case, causal=True).operations("both") == 1.75 * two_products

    def test_the_result_is_the_output_and_the_gradients(self):
        q, k, v = SMALL.inputs("cpu")
        assert SMALL.result_bytes("forward") == q.nbytes
        assert SMALL.result_bytes("both") == 2 * q.nbytes + k.nbytes + v.nbytes

    def test_the_naive_form_is_left_out_where_it_would_be_too_large(self):
        case = replace(cpu_cases()[0], N=8192)
        assert passes("naive", case, "cpu", 6e9) == ("forward",)
        assert passes("naive", case, "cpu", 1e9) == ()
        assert passes("sdpa", case, "cpu", 1e9) == ("forward", "both")
        found = measure_case(replace(SMALL, rivals=("naive",)), "cpu", WallClock(), PACE, 0.0)
        assert found["results"] == {} and found["left_out"]["naive"].endswith("0.0 GB")

    def test_what_has_a_goal_comes_first_and_is_there(self):
        first = cpu_cases()[:8]
        assert {(c.N, c.causal) for c in first} == {
            (N, causal) for N in (1024, 2048, 4096, 8192) for causal in (False, True)
        }
        assert all((c.B, c.H, c.D, c.dtype) == (1, 8, 64, "float32") for c in first)
        assert [c.N for c in first] == sorted(c.N for c in first)
        flex = [c for c in cpu_cases() if "flex" in c.rivals]
        assert flex == cpu_cases()[-2:] and [c.N for c in flex] == [1024, 2048]
        heavy = gpu_cases()[:12]
        assert {(c.N, c.D) for c in heavy} == {
            (N, D) for N in (4096, 8192, 16384) for D in (64, 128)
        }
        assert all(c.B * c.H >= 64 and c.dtype == "bfloat16" for c in heavy)

    @pytest.mark.parametrize("cases", [cpu_cases, gpu_cases])
    def test_both_machines_measure_every_kind(self, cases):
        every = cases()
        assert {c.D for c in every} == {64, 128} and min(c.N for c in every) == 512
        assert {c.causal for c in every} == {True, False}
        assert any(c.G < c.H and "ours_mha" in c.rivals for c in every)
        assert any("flex" in c.rivals for c in every) and {"bfloat16", "float16"} <= {
            c.dtype for c in every
        }
        assert all(c.rivals[0] == "ours" for c in every) and len(set(every)) == len(every)


class TestCheck:
    def results(self, spoil=lambda out: out):
        inputs = SMALL.inputs("cpu", gradients=True)
        slope = _measure.slope_for(inputs[0])
        out = attend_naive(*inputs, causal=True)
        results = [spoil(out), *torch.autograd.grad(out, inputs, slope)]
        return results, references(SMALL, list(SMALL.inputs("cpu")), slope)

    def test_the_formula_itself_passes(self):
        assert worst_error(SMALL, *self.results()) < 1e-5

    def test_rows_at_a_time_give_the_whole(self, monkeypatch):
        whole = self.results()[1]
        monkeypatch.setattr("benchmarks._check.ROWS", 5)
        for some, all_at_once in zip(self.results()[1], whole, strict=True):
            for a, b in zip(some, all_at_once, strict=True):
                torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("where", [(0, 0, 0), (1, 5, 36)], ids=["first", "last"])
    @pytest.mark.parametrize("value", [1.0, math.nan])
    def test_one_wrong_row_is_seen(self, where, value):
        def spoil(out):
            out = out.detach().clone()
            out[where] = value
            return out

        assert not worst_error(SMALL, *self.results(spoil)) <= TOLERANCE["bfloat16"]

    def test_a_wrong_gradient_is_seen(self):
        results, expected = self.results()
        results[2] = results[2] * 1.001
        assert worst_error(SMALL, results, expected) > TOLERANCE["float32"]

    def test_a_product_rounded_to_tf32_is_seen(self):
        results, expected = self.results(lambda out: out.half().float())  # as many bits
        assert worst_error(SMALL, results, expected) > TOLERANCE["float32"]

    def test_a_kernel_that_is_not_there_is_left_out_and_the_others_are_measured(self):
        case = replace(SMALL, rivals=("ours", "cudnn", "flash"), G=6)
        found = measure_case(case, "cpu", WallClock(), PACE, 1e9)
        assert set(found["results"]) == {"ours", "flash"}
        assert "RuntimeError" in found["left_out"]["cudnn"]

    def test_flex_without_a_compiler_says_so(self, monkeypatch):
        monkeypatch.setattr("benchmarks._rivals.shutil.which", lambda name: None)
        with pytest.raises(CannotRun, match="needs a C\\+\\+ compiler"):
            _rivals.attend_with("flex", SMALL, "cpu")
        assert passes("flex", SMALL, "cpu", 1e9) == ("forward",)
        assert passes("flex", SMALL, "cuda", 1e9) == ("forward", "both")


SIZE = 50_000_000


def growth_in_a_fresh_process(call, before=""):
    """Measure as the benchmark does: an old process has free memory, which no call makes grow."""
    lines = [
        "from torch import int8, ones",
        "from benchmarks._memory import peak_growth",
        before,
        f"print(peak_growth(lambda: {call}))",
    ]
    command = [sys.executable, "-c", "\n".join(lines)]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    return int(answer.stdout)


@linux
class TestMemory:
    def test_an_allocation_of_known_size_is_seen(self):
        growth = growth_in_a_fresh_process(f"ones({SIZE}, dtype=int8)")
        assert abs(growth - SIZE) < 2e6  # the counters lag behind by some pages

    def test_an_earlier_peak_hides_nothing(self):
        growth = growth_in_a_fresh_process(f"ones({SIZE}, dtype=int8)", before=f"ones({4 * SIZE})")
        assert abs(growth - SIZE) < 2e6

    def test_what_is_freed_on_the_way_counts_too(self):
        growth = growth_in_a_fresh_process(f"ones({SIZE}, dtype=int8).sum()")
        assert growth > SIZE - 2e6

    def test_a_fresh_process_sees_the_matrix_of_the_naive_form(self):
        case = replace(SMALL, N=1021, B=1, H=8, G=8, causal=False)
        row = _memory.measure_in_subprocess(case, "naive", "forward", 1)
        matrix = 8 * 1021**2 * 4
        assert 2 * matrix < row["extra"] < 2.2 * matrix
        assert row["beyond_result"] == row["extra"] - 8 * 1021 * 16 * 4

    def test_a_process_that_fails_says_why(self):
        with pytest.raises(CannotRun, match=r"status 1: .*must divide"):
            _memory.measure_in_subprocess(replace(SMALL, G=4), "ours", "forward", 1)


def test_without_proc_there_is_a_reason_and_no_figure(monkeypatch):
    monkeypatch.setattr(_memory, "STATUS", Path("/no/such/file"))
    with pytest.raises(CannotRun, match="only Linux has"):
        _memory.measure_in_subprocess(SMALL, "ours", "forward", 1)


def test_a_budget_starts_nothing_that_would_not_fit(monkeypatch):
    time = [0.0]
    monkeypatch.setattr(attention.time, "monotonic", lambda: time[0])
    budget = attention.Budget(100.0)
    with budget.spending(8.0):
        time[0] += 30.0
    assert budget.allows(8.0) and not budget.allows(8.0, at_least=71.0)
    time[0] = 71.0
    assert not budget.allows(8.0) and not budget.allows(80.0)


def test_a_small_task_still_fits_after_a_large_one(monkeypatch):
    time = [0.0]
    monkeypatch.setattr(attention.time, "monotonic", lambda: time[0])
    budget = attention.Budget(100.0)
    with budget.spending(8.0):
        time[0] += 80.0
    assert budget.allows(1.0) and not budget.allows(2.0)
    assert not budget.allows(1.0, at_least=20.0)


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_split_heads_lie_side_by_side_and_hold_the_same_numbers():
    plain, split = SMALL.inputs("cpu"), replace(SMALL, split=True).inputs("cpu", gradients=True)
    for a, b in zip(plain, split, strict=True):
        assert torch.equal(a, b) and b.is_leaf and b.requires_grad
        assert a.is_contiguous() and b.transpose(1, 2).is_contiguous()
    assert replace(SMALL, split=True).name == f"{SMALL.name} split"
    assert sum(case.split for case in cpu_cases()) == 2


@pytest.mark.parametrize(
    ("device", "order"),
    [("cpu", ["memory", "times", "flex"]), ("cuda", ["times", "memory", "flex"])],
)
def test_what_must_be_compiled_comes_last(device, order, monkeypatch):
    def times(result, cases, *, options, budget):
        for case in cases:
            result.append("flex" if "flex" in case.rivals else "times")
            yield

    def memory(result, options, budget):
        yield result.append("memory")

    monkeypatch.setattr(attention, "measure_times", times)
    monkeypatch.setattr(attention, "measure_memory", memory)
    cases, done = cpu_cases() if device == "cpu" else gpu_cases(), []
    options = SimpleNamespace(device=device, torch_products=False)
    for _ in attention.measured(done, cases, options, None):
        pass
    assert [name for name, _ in groupby(done)] == order and len(done) == len(cases) + 1


def test_torch_s_own_products_are_measured_on_demand(tmp_path, capsys):
    options = ["--torch-products", "--quick", "--threads", "1", "--out", str(tmp_path)]
    assert attention.main(options) == 0
    assert torch.backends.mkldnn.enabled
    read = json.loads((tmp_path / "attention-cpu-torch-products.json").read_text(encoding="utf-8"))
    assert read["conditions"]["our float32 products"] == "torch's own"
    assert len(read["cases"]) == len(quick_cases("cpu")) and not read["memory"]
    assert "--torch-products" in capsys.readouterr().out


def test_who_multiplies_is_said(monkeypatch):
    for product, said in ((None, "torch's own"), (torch.mm, "oneDNN")):
        monkeypatch.setattr(attention, "faster_product", lambda device, dtype, it=product: it)
        assert attention.float32_products() == said


def test_without_time_everything_is_said_to_be_left_out(tmp_path, capsys, three_threads):
    assert attention.main(["--quick", "--budget", "0", "--out", str(tmp_path)]) == 1
    assert torch.get_num_threads() == 3
    read = json.loads((tmp_path / "attention-cpu.json").read_text())
    assert len(read["left_out"]) == len(quick_cases("cpu")) + 2
    assert all(said.startswith("for want of time: ") for said in read["left_out"])
    assert "## Left out" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--threads", "0"], "--threads must be at least 1, got 0"),
        (["--device", "cuda"], "needs a CUDA device, and torch finds none here"),
        (["--device", "cuda", "--torch-products"], "--torch-products is for the CPU"),
    ],
)
def test_what_cannot_be_run_is_refused_in_words(arguments, said, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: "--torch-products" in arguments)
    with pytest.raises(SystemExit):
        attention.main(arguments)
    assert said in capsys.readouterr().err


def test_the_chosen_tiles_are_a_line_each(monkeypatch):
    problem = namedtuple("Problem", "kernel block_d")("forward", 64)
    best = namedtuple("Configuration", "block_m block_n")(128, 64)
    kernels = SimpleNamespace(chosen_configurations=lambda: {problem: best})
    monkeypatch.setitem(sys.modules, "course_utils.kernels.configurations", kernels)
    assert attention.configurations() == ["kernel forward, block_d 64: block_m 128, block_n 64"]
    monkeypatch.delitem(sys.modules, "course_utils.kernels.configurations")
    assert attention.configurations() == []


def test_what_is_compiled_beforehand_is_every_head_width_and_mask_once():
    shares = [_compile.share(index, 3) for index in range(3)]
    assert sorted((case.D, case.causal) for cases in shares for case in cases) == [
        *((64, False), (64, True), (128, False), (128, True)),
    ]
    assert all(case in gpu_cases() for cases in shares for case in cases)


def test_without_matplotlib_there_is_no_picture(quick, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert not save_plot(quick[2], tmp_path / "x.png")
    assert not (tmp_path / "x.png").exists()


def test_make_bench_runs_every_benchmark_and_no_helper(monkeypatch):
    ran = []
    monkeypatch.setattr(tasks, "run", lambda place, *command: ran.append(command) or 0)
    assert tasks.bench(Place(ROOT), ["--json"]) == 0
    names = ["attention", "classroom", "explorers", "lectures", "moe"]
    assert ran == [("-m", f"benchmarks.{name}", "--json") for name in names]


def test_the_examples_in_docstrings():
    found = doctest.testmod(_report)
    assert found.attempted > 0 and found.failed == 0
