"""`make bench-gpu`: what it runs, when it stops, and what it says where there is no GPU."""

import json
import os
import re
import shutil
import signal
import sys
import time

import pytest

from tools import bench_gpu
from tools.bench_gpu import finish, start
from tools.setup import cli
from tools.setup.place import ROOT, CommandError, Place

FACTS = {"device": "a device, 80 GiB", "torch": "2.11.0"}
RESULT = {
    "cases": [{"left_out": {}}, {"left_out": {"ours": "wrong: off by 1.0e+00", "flex": "no"}}],
    "left_out": ["for want of time: a case"],
}
TABLES = "# Attention, measured\n\n## Goals\n\n| one | 1.1 | 1.23 | N 4096 | met |\n"
PASSES = "print('1 passed in 0.01s')"
POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no process groups to end")


@pytest.fixture
def out(tmp_path, monkeypatch):
    """The folder that OUT names, not there yet."""
    monkeypatch.setenv("OUT", str(tmp_path / "new" / "out"))
    return tmp_path / "new" / "out"


@pytest.fixture
def bench(out, monkeypatch):
    """Run it as on a machine with a GPU, whose suite and benchmark are a few lines of Python."""

    def run(suite, benchmark, shards=1):
        command = [sys.executable, "-S", "-c", benchmark]
        monkeypatch.setattr(bench_gpu, "SHARDS", shards)
        monkeypatch.setattr(bench_gpu, "PROBE", f"print({json.dumps(FACTS)!r})")
        monkeypatch.setattr(bench_gpu, "suite_command", lambda: [sys.executable, "-c", suite])
        monkeypatch.setattr(bench_gpu, "benchmark_command", lambda out, seconds: command)
        return cli.run(["bench-gpu"])

    interrupt = signal.getsignal(signal.SIGINT)
    yield run
    signal.signal(signal.SIGINT, interrupt)


def writes(out):
    """Return a benchmark that writes RESULT and TABLES."""
    texts = {bench_gpu.RESULT: json.dumps(RESULT), bench_gpu.TABLES: TABLES}
    return "\n".join(f"open({str(out / name)!r}, 'w').write({texts[name]!r})" for name in texts)


def test_the_table_comes_last_and_all_is_in_the_folder(bench, out, capsys):
    assert bench(PASSES, writes(out)) == 0
    said = capsys.readouterr().out
    table = (out / "summary.md").read_text(encoding="utf-8")
    assert said.endswith(table) and "device: a device" in said
    for line in (
        "1 passed in 0.01s",
        "- cases measured: 2, left out: 1",
        "- flash_attend left out: wrong: off by 1.0e+00",
        "| one | 1.1 | 1.23 | N 4096 | met |",
    ):
        assert line in table


def test_a_failed_suite_does_not_stop_the_benchmark(bench, out, capsys, monkeypatch):
    """Of two processes one ends well, one with a failure."""
    suite = (
        "import os\nif os.environ['SHARD'] == '0/2':\n    print('FAILED a.py::y[1 2] - no')\n"
        "    print('1 failed in 0.02s')\n    raise SystemExit(1)\nprint('2 passed in 0.03s')"
    )
    monkeypatch.setattr(bench_gpu.os, "cpu_count", lambda: 2)
    assert bench(suite, writes(out), shards=2) == 1
    said = capsys.readouterr().out
    assert "1 failed in 0.02s" in said and "FAILED a.py::y[1 2]" in said and "| one | 1.1 |" in said


def test_a_failed_benchmark_shows_no_older_result(bench, out, capsys):
    out.mkdir(parents=True)
    (out / bench_gpu.RESULT).write_text(json.dumps(RESULT))
    (out / bench_gpu.TABLES).write_text(TABLES)
    assert bench(PASSES, "raise SystemExit('it broke')") == 1
    said = capsys.readouterr().out
    assert "benchmark: ended with status 1" in said and "| one |" not in said
    assert "it broke" in (out / "bench-gpu.log").read_text()


def test_steps_compile_and_have_a_cache_of_their_own(bench, out, monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    names = ("TRITON_INTERPRET", "TRITON_CACHE_DIR", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTHONPATH")
    bench(f"import os; print([os.environ.get(name) for name in {names}])", "")
    interpret, cache, no_plugins, path = eval((out / "kernel-suite.log").read_text())
    assert interpret is None and no_plugins == "1"
    assert path.split(os.pathsep) == [str(ROOT), "elsewhere"]
    assert not os.path.exists(os.path.dirname(cache))


@POSIX
@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_IGN])
def test_a_suite_that_hangs_leaves_time_for_the_rest(bench, out, capsys, monkeypatch, handler):
    """It may write down how far it came, also where a shell runs all of it in the background."""
    signal.signal(signal.SIGINT, handler)
    monkeypatch.setattr(bench_gpu, "SUITE_SECONDS", 3.0)
    suite = "import time\ntry:\n    time.sleep(600)\nexcept KeyboardInterrupt:\n    print('half')\n"
    assert bench(suite, writes(out)) == 1
    said = capsys.readouterr().out
    assert "stopped at its limit of 3 s" in said and "| one | 1.1 |" in said
    assert "half" in (out / bench_gpu.SUITE_LOG).read_text()


def test_without_a_gpu_earlier_results_stay(out, capsys, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    pytest.importorskip("triton")
    out.mkdir(parents=True)
    (out / bench_gpu.RESULT).write_text("of an earlier run, on a GPU")
    assert cli.run(["bench-gpu"]) == 1
    said = capsys.readouterr().err
    assert re.search(r"torch \S+ finds no GPU", said) and "Nothing was measured" in said
    assert (out / bench_gpu.RESULT).exists()


def test_results_lie_where_out_says_or_beside_the_others(tmp_path, monkeypatch):
    monkeypatch.delenv("OUT", raising=False)
    folder = bench_gpu.results_folder(Place(tmp_path))
    assert folder == tmp_path / "benchmarks" / "results" / "gpu" and folder.is_dir()
    (tmp_path / "file").touch()
    monkeypatch.setenv("OUT", str(tmp_path / "file" / "below"))
    with pytest.raises(CommandError, match="OUT must name a folder that can be written; "):
        bench_gpu.results_folder(Place(tmp_path))


def test_the_suite_needs_pytest_alone_and_is_shared(tmp_path, monkeypatch):
    """The course's own settings ask for plug-ins and a conftest that a bare machine lacks."""
    monkeypatch.setattr(bench_gpu, "ROOT", tmp_path)
    monkeypatch.setattr(bench_gpu.os, "cpu_count", lambda: 2)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "conftest.py").write_text("import no_such_package")
    tests = tmp_path / "tests" / "kernels"
    tests.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "kernels" / "conftest.py", tests)
    (tests / "support_problems.py").write_text("def is_telling(params): return True")
    (tests / "test_inspect.py").write_text("def test_anywhere(): assert False")
    (tests / "test_one.py").write_text(
        "import warnings, pytest\n"
        "@pytest.mark.parametrize('x', range(2))\ndef test_triton(x): pass\n"
        "def test_right(): warnings.warn('not an error here')\n"
        "@pytest.mark.parametrize('pair', ['a b'])\ndef test_wrong(pair): assert False\n"
    )
    variables = {**bench_gpu.variables_for(tmp_path / "cache"), "CUDA_VISIBLE_DEVICES": ""}
    assert bench_gpu.run_suite(variables, tmp_path, tmp_path, 120) == "ended with status 1"
    said = bench_gpu.describe((tmp_path / bench_gpu.SUITE_LOG).read_text())
    assert [re.findall(r"(\d) (passed|failed)", line) for line in said[:2]] == [
        [("2", "passed")],
        [("1", "failed"), ("1", "passed")],
    ]
    assert said[2].startswith("FAILED tests/kernels/test_one.py::test_wrong[a b]")


STUBBORN = """
import fcntl, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
if len(sys.argv) > 1:
    held = open("lock", "w")
    fcntl.flock(held, fcntl.LOCK_EX)
    print("begun", flush=True)
else:
    subprocess.Popen([sys.executable, __file__, "child"])
time.sleep(600)
"""


@POSIX
def test_a_step_over_its_limit_ends_with_all_it_has_started(tmp_path, monkeypatch):
    import fcntl

    monkeypatch.setattr(bench_gpu, "GRACE", 0.1)
    monkeypatch.setattr(bench_gpu, "ROOT", tmp_path)
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    log = tmp_path / "log"
    process = start([sys.executable, str(tmp_path / "stubborn.py")], dict(os.environ), log)
    while "begun" not in log.read_text():
        assert process.poll() is None, log.read_text()
        time.sleep(0.02)
    assert "stopped at its limit" in finish([process], 0.1) and process.returncode == -9
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # given up by the child only when it ends
