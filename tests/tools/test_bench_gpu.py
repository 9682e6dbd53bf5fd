"""`make bench-gpu`: what it runs, when it stops, and what it says where there is no GPU."""

import json
import os
import re
import shutil
import sys
from functools import partial

import pytest

from tests.core.support_steps import hear
from tools.setup import bench_gpu, cli
from tools.setup.bench_gpu import (
    compile_command,
    count_tests,
    failures,
    not_run,
    start_shard,
    suite_command,
)
from tools.setup.place import ROOT, CommandError, Place
from tools.setup.steps import GRACE, Runner

FACTS = {"device": "a device, 80 GiB", "torch": "2.11.0"}
RESULT = {
    "configurations": ["forward 64: 128 x 64"],
    "cases": [{"left_out": {}}, {"left_out": {"ours": "wrong: off by 1.0e+00", "flex": "no"}}],
    "left_out": ["for want of time: a case"],
    "goals": [
        {"text": "one", "bound": 1.1, "worst": 1.234, "where": "N 4096", "met": True},
        {"text": "two", "bound": 0.9, "worst": 0.5, "where": "N 8192", "met": False},
        {"text": "three", "bound": 0.7, "worst": None, "where": "", "met": None},
    ],
}


@pytest.fixture
def out(tmp_path, monkeypatch):
    """The folder that OUT names, not there yet."""
    monkeypatch.setenv("OUT", str(tmp_path / "new" / "out"))
    return tmp_path / "new" / "out"


@pytest.fixture
def pretend(out, monkeypatch):
    """A machine with a GPU, whose suite and benchmark are a few lines of Python each."""

    monkeypatch.setattr(bench_gpu, "SHARDS", 1)

    def start(suite, benchmark, *arguments):
        monkeypatch.setattr(bench_gpu, "PROBE", f"print({json.dumps(FACTS)!r})")
        monkeypatch.setattr(bench_gpu, "suite_command", lambda: [sys.executable, "-c", suite])
        monkeypatch.setattr(bench_gpu, "compile_command", compiler)
        command = [sys.executable, "-c", benchmark]
        monkeypatch.setattr(bench_gpu, "benchmark_command", lambda out, seconds: command)
        return cli.run(["bench-gpu", *arguments])

    return start


def compiler(index):
    return [sys.executable, "-c", f"print('compiler {index}')"]


def wrote(out):
    file = str(out / bench_gpu.RESULT)
    return f"import pathlib; pathlib.Path({file!r}).write_text({json.dumps(RESULT)!r})"


def test_the_table_comes_last_and_everything_is_in_the_folder(pretend, out, capsys):
    assert pretend("print('a.py::x PASSED [100%]')", wrote(out)) == 0
    said = capsys.readouterr().out
    table = (out / "summary.md").read_text(encoding="utf-8")
    assert said.endswith(table)
    assert said.index("device: a device") < said.index(table)
    assert "kernel suite, compiled: 1 passed in" in table
    assert "chosen tiles: forward 64: 128 x 64" in table
    assert "cases measured: 2, left out: 1" in table
    assert "flash_attend left out: wrong: off by 1.0e+00" in table
    assert "| one | 1.1 | 1.23 | N 4096 | met |" in table
    assert "| two | 0.9 | 0.50 | N 8192 | not met |" in table
    assert "| three | 0.7 | - |  | not measured |" in table
    names = [path.name for path in out.iterdir()]
    assert len(names) <= 8 and all(re.fullmatch(r"[A-Za-z0-9._-]+", name) for name in names)


def test_a_failed_suite_is_said_and_the_benchmark_runs_all_the_same(pretend, out, capsys):
    suite = "print('a.py::x PASSED [ 50%]\\na.py::y[1 2] FAILED [100%]'); raise SystemExit(1)"
    assert pretend(suite, wrote(out)) == 1
    said = capsys.readouterr().out
    assert "1 passed, 1 failed in" in said and "pytest ended with status 1" in said
    assert "failed: a.py::y[1 2]" in said and "| one | 1.1 |" in said


def test_a_suite_without_a_test_is_no_success(pretend, out, capsys):
    assert pretend("", wrote(out)) == 1
    assert "kernel suite, compiled: no test ran" in capsys.readouterr().out


def test_a_failed_benchmark_is_said_and_older_results_are_not_shown(pretend, out, capsys):
    out.mkdir(parents=True)
    (out / "attention-gpu.json").write_text(json.dumps(RESULT))
    assert pretend("print('a.py::x PASSED [100%]')", "raise SystemExit('it broke')") == 1
    said = capsys.readouterr().out
    assert "benchmark: ended with status 1, see bench-gpu.log" in said and "| one |" not in said
    assert "it broke" in (out / "bench-gpu.log").read_text()


def test_steps_see_compiled_kernels_and_a_cache_of_their_own(pretend, out, monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    names = ("TRITON_INTERPRET", "TRITON_CACHE_DIR", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTHONPATH")
    pretend(f"import os; print([os.environ.get(name) for name in {names}])", "")
    interpret, cache, no_plugins, path = eval((out / "kernel-suite.log").read_text())
    assert interpret is None and no_plugins == "1"
    assert path.split(os.pathsep) == [str(ROOT), "elsewhere"]
    assert cache.endswith("triton") and not os.path.exists(os.path.dirname(cache))


def test_kernels_are_compiled_beside_the_suite(pretend, out):
    assert pretend("print('a.py::x PASSED [100%]')", wrote(out)) == 0
    said = (out / "bench-gpu.log").read_text().splitlines()
    assert sorted(line for line in said if line.startswith("compiler")) == [
        f"compiler {index}" for index in range(bench_gpu.COMPILERS)
    ]
    command = compile_command(3)
    assert command[1:] == ["-m", "benchmarks._compile", "3", str(bench_gpu.COMPILERS)]


def test_a_suite_that_hangs_leaves_time_for_the_benchmark(pretend, out, capsys, monkeypatch):
    def start_and_hear(runner, index, count, log):
        return hear(start_shard(runner, index, count, log), log, "PASSED")

    monkeypatch.setattr(bench_gpu, "SUITE_SECONDS", 1.0)
    monkeypatch.setattr(bench_gpu, "start_shard", start_and_hear)
    suite = (
        "print('collected 9 items\\na.py::x PASSED [ 50%]', flush=True); "
        "import time; time.sleep(600)"
    )
    assert pretend(suite, wrote(out)) == 1
    said = capsys.readouterr().out
    assert "1 passed in" in said and "stopped at its limit of 1 s; 8 did not run" in said
    assert "| one | 1.1 |" in said


def test_all_limits_together_stay_below_eight_minutes():
    assert bench_gpu.SECONDS + GRACE <= 8 * 60
    # The suite takes at most half of what the probe leaves.
    assert (bench_gpu.SECONDS - bench_gpu.PROBE_SECONDS) / 2 >= 170


def test_without_a_gpu_it_says_so_and_measures_nothing(out, capsys, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    pytest.importorskip("triton")
    out.mkdir(parents=True)
    (out / bench_gpu.RESULT).write_text("of an earlier run, on a GPU")
    assert cli.run(["bench-gpu"]) == 1
    said = capsys.readouterr()
    assert "needs a GPU that torch can use" in said.err and "Nothing was measured" in said.err
    assert re.search(r"torch \S+ (finds no GPU|is built without GPU support)", said.err)
    assert (out / bench_gpu.RESULT).exists()
    assert "Traceback" not in said.err + said.out


def test_a_missing_package_is_named(out, capsys, monkeypatch):
    monkeypatch.setattr(bench_gpu, "PROBE", bench_gpu.PROBE.replace('"torch"', '"no_such_torch"'))
    assert cli.run(["bench-gpu"]) == 1
    assert re.search(r"Python 3\.\d+\.\d+ has no no_such_torch", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("compiler", "named", "said"),
    [
        ("", None, "no gcc, clang or cc on the PATH; name one in CC"),
        ("cc", "no-such-cc", "none by the name in CC (no-such-cc)"),
        ("cc", None, None),
        ("another", "another", None),
    ],
)
def test_a_missing_compiler_is_said(tmp_path, out, monkeypatch, compiler, named, said):
    """Beside a torch and a triton of a few lines, which find a GPU."""
    for name in ("triton", "numpy", "pytest"):
        (tmp_path / f"{name}.py").write_text("__version__ = '1'")
    (tmp_path / "torch.py").write_text(
        "from types import SimpleNamespace as N\n"
        "__version__, version = '2.11', N(cuda='13.0', hip=None)\n"
        "device = N(name='a GPU', total_memory=2**30)\n"
        "cuda = N(is_available=lambda: True, get_device_properties=lambda index: device)\n"
    )
    (tmp_path / "bin").mkdir()
    if compiler:
        (tmp_path / "bin" / compiler).touch(mode=0o755)
    variables = {"PATH": str(tmp_path / "bin"), "PYTHONPATH": str(tmp_path)}
    variables |= {"CC": named} if named else {}
    log = tmp_path / "log"
    probe = partial(bench_gpu.probe, Runner(tmp_path, variables), log)
    if said is None:
        assert probe()["compiler"].endswith(compiler)
    else:
        with pytest.raises(CommandError, match=re.escape(said)):
            probe()


def test_a_probe_that_breaks_is_one_sentence(out, capsys, monkeypatch):
    monkeypatch.setattr(bench_gpu, "PROBE", "raise OSError('libcuda is broken')")
    assert cli.run(["bench-gpu"]) == 1
    said = capsys.readouterr().err
    assert "Asking torch for a GPU failed: OSError: libcuda is broken" in said


@pytest.mark.parametrize("last", ["", "below"])
def test_a_folder_that_cannot_be_made_is_refused(tmp_path, monkeypatch, capsys, last):
    (tmp_path / "file").touch()
    monkeypatch.setenv("OUT", str(tmp_path / "file" / last))
    assert cli.run(["bench-gpu"]) == 1
    assert "OUT must name a folder that can be written; " in capsys.readouterr().err


def test_without_out_the_results_lie_beside_the_others(tmp_path, monkeypatch):
    monkeypatch.delenv("OUT", raising=False)
    folder = bench_gpu.results_folder(Place(tmp_path))
    assert folder == tmp_path / "benchmarks" / "results" / "gpu" and folder.is_dir()


def test_the_suite_needs_pytest_alone(tmp_path):
    """The course's own settings ask for plug-ins and a conftest that a bare machine lacks."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "conftest.py").write_text("import no_such_package")
    tests = tmp_path / "tests" / "kernels"
    tests.mkdir(parents=True)
    (tests / "test_broken.py").write_text("import no_such_package")
    (tests / "test_one.py").write_text(
        "import warnings, pytest, beside\n"
        "@pytest.mark.gpu\ndef test_right(): warnings.warn('not an error here')\n"
        "@pytest.mark.parametrize('pair', ['a b'])\ndef test_wrong(pair): assert False\n"
    )
    (tmp_path / "beside.py").touch()
    log = tmp_path / "log"
    (tests / "test_inspect.py").write_text("def test_anywhere(): assert False")
    (tmp_path / "cache").mkdir()
    variables = bench_gpu.environment(tmp_path / "cache", tmp_path)
    outcome = Runner(tmp_path, variables).run(suite_command(), log, 120)
    said = log.read_text()
    assert outcome.status == 1 and "no_such_package" in said
    assert count_tests(said) == {"passed": 1, "failed": 1}
    assert failures(said) == ["failed: tests/kernels/test_one.py::test_wrong[a b]"]


@pytest.fixture
def small_suite(tmp_path):
    """Seven tests below the real conftest: two files, the second one with Triton's."""
    tests = tmp_path / "tests" / "kernels"
    tests.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "kernels" / "conftest.py", tests)
    many = "import pytest\n@pytest.mark.parametrize('x', range({}))\ndef test_{}(x): pass\n"
    (tests / "test_a.py").write_text(many.format(4, "plain"))
    (tests / "test_b.py").write_text(many.format(3, "triton"))
    variables = bench_gpu.environment(tmp_path / "cache", tmp_path)
    return Runner(tmp_path, {**variables, "CUDA_VISIBLE_DEVICES": ""})


def test_shards_are_the_suite_together_and_triton_comes_first(small_suite, tmp_path, monkeypatch):
    monkeypatch.setattr(bench_gpu, "shards", lambda: 3)
    monkeypatch.setattr(bench_gpu, "compile_command", compiler)
    outcome = bench_gpu.run_suite(small_suite, tmp_path, tmp_path, 120)
    log = (tmp_path / bench_gpu.SUITE_LOG).read_text()
    assert outcome.worked and count_tests(log) == {"passed": 7} and not_run(log) == 0
    ran = re.findall(r"^tests/kernels/test_\w\.py::test_(\w+\[\d\]) PASSED", log, re.MULTILINE)
    first = (tmp_path / "shard-0.log").read_text()
    assert not_run(first) == 4  # what the other two ran
    assert ran == [
        *("triton[0]", "plain[0]", "plain[3]"),
        *("triton[1]", "plain[1]"),
        *("triton[2]", "plain[2]"),
    ]


@pytest.mark.parametrize("asked", ["3/3", "1", "a/b", "-1/2", "/"])
def test_a_shard_that_is_none_is_refused(small_suite, tmp_path, asked):
    runner = Runner(tmp_path, {**small_suite.variables, "SHARD": asked})
    assert runner.run(suite_command(), tmp_path / "log", 120).status == 4
    assert f"SHARD must be i/n with 0 <= i < n, got '{asked}'" in (tmp_path / "log").read_text()


def test_a_shard_that_breaks_off_is_seen(tmp_path, monkeypatch):
    """One ends well, one crashes: the suite has failed, and what is missing is counted."""
    code = (
        "import os; print('collected 5 items / 3 deselected / 2 selected'); "
        "print('a.py::x PASSED [ 50%]', flush=True); "
        "os.environ['SHARD'] == '1/2' and os._exit(3); "
        "print('a.py::y PASSED [100%]')"
    )
    monkeypatch.setattr(bench_gpu, "shards", lambda: 2)
    monkeypatch.setattr(bench_gpu, "suite_command", lambda: [sys.executable, "-c", code])
    monkeypatch.setattr(bench_gpu, "compile_command", compiler)
    suite = bench_gpu.run_suite(Runner(tmp_path, dict(os.environ)), tmp_path, tmp_path, 60)
    said = bench_gpu.describe(suite, (tmp_path / bench_gpu.SUITE_LOG).read_text(), 60)
    assert re.match(r"3 passed in \d+ s; pytest ended with status 3; 2 did not run", said)
    assert "test_inspect.py left out: it needs no GPU" in said


def test_verdicts_are_counted_once():
    log = (
        "tests/a.py::x PASSED [ 33%]\ntests/a.py::y[PASSED] FAILED [ 66%]\n"
        "tests/a.py::z XFAIL [100%]\n"
        "=== short test summary info ===\nFAILED tests/a.py::y[PASSED] - assert 1 == 2\n"
    )
    assert count_tests(log) == {"passed": 1, "failed": 1, "xfailed": 1}
    assert failures(log) == ["failed: tests/a.py::y[PASSED]"]
    assert not_run("collected 7 items / 2 errors / 4 deselected / 3 selected\n" + log) == 4


def test_many_failures_are_named_up_to_a_dozen():
    log = "\n".join(f"a.py::test_{i} FAILED [ {i}%]" for i in range(20))
    assert len(failures(log)) == 13 and failures(log)[-1] == "and 8 more"


def test_what_make_says_names_the_folder(capsys):
    cli.run(["help"])
    assert "OUT names the folder that bench-gpu writes into" in capsys.readouterr().out


def test_results_folder_errors_are_the_readers_to_mend(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("OUT", str(tmp_path / "file"))
    with pytest.raises(CommandError, match="File exists"):
        bench_gpu.results_folder(Place(tmp_path))
