"""`make bench-gpu`: what it runs, when it stops, and what it says where there is no GPU."""

import json
import os
import re
import signal
import sys

import pytest

from tools import bench_gpu
from tools.setup import cli

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
