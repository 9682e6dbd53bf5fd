"""Test and measure the compiled kernels on a machine with a GPU, in one command.

It runs with the Python that starts it: torch, triton, numpy and pytest are all it needs, and
nothing is installed. Everything it finds is written into the folder that OUT names.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.ending import leave_in_order
from tools.setup.place import ROOT, WINDOWS, CommandError, Place, say

SECONDS = 470  # in all: eight minutes, less what Python takes to start and to end
SUITE_SECONDS = 210
PROBE_SECONDS = 120  # importing torch for CUDA from a cold disk
SPARE = 10  # between the benchmark's own limit and the one that ends it
GRACE = 5.0  # for writing down how far it came, once a step is asked to stop
FOLDER = Path("benchmarks") / "results" / "gpu"
LOG, SUITE_LOG, SUMMARY = "bench-gpu.log", "kernel-suite.log", "summary.md"
RESULT, TABLES = "attention-gpu.json", "attention-gpu.md"
SHARDS = 8  # at most: processes that share the suite, since compiling is what takes long
NAMED = 12  # tests that failed, by name, in the table
# The last line that this prints is JSON with facts, or says what is missing.
PROBE = """
import json, platform, sys
import numpy, pytest, torch, triton

if not torch.cuda.is_available():
    sys.exit(f"torch {torch.__version__} finds no GPU, or no driver for it")
properties = torch.cuda.get_device_properties(0)
print(json.dumps({
    "python": platform.python_version(),
    **{module.__name__: module.__version__ for module in (torch, triton, numpy, pytest)},
    "cuda": torch.version.cuda or torch.version.hip,
    "device": f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB",
}))
"""


def bench_gpu(place: Place, arguments: list[str]) -> int:
    """Run the suite, then the benchmark, and print a short table; 0 if both worked."""
    end = time.monotonic() + SECONDS
    # What a shell runs in the background ignores Ctrl-C, by which steps are asked to stop.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    leave_in_order()
    out = results_folder(place)
    (out / LOG).unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="course-gpu-", ignore_cleanup_errors=True) as cache:
        variables = variables_for(Path(cache))
        facts = probe(variables, out / LOG)
        for name in (SUITE_LOG, SUMMARY, RESULT, TABLES):
            (out / name).unlink(missing_ok=True)  # of an earlier run
        say("".join(f"{name}: {value}\n" for name, value in facts.items()))
        say(f"Results go to {out}. The compiled kernels' tests:")
        suite = run_suite(variables, out, Path(cache), min(SUITE_SECONDS, SECONDS / 2))
        tests = describe((out / SUITE_LOG).read_text(encoding="utf-8", errors="replace"))
        say("\n  ".join(["", *tests]) + "\nThe benchmark:")
        left = max(end - time.monotonic(), 2 * SPARE)
        command = benchmark_command(out, left - SPARE)
        benchmark = finish([start(command, variables, out / LOG)], left)
    lines = [f"# make bench-gpu on {facts['device']}, torch {facts['torch']}", ""]
    lines += [f"- kernel suite, compiled, {suite}:", *(f"  - {line}" for line in tests)]
    lines += [f"- benchmark: {benchmark}", *measured(out)]
    table = "\n".join(lines)
    (out / SUMMARY).write_text(table + "\n", encoding="utf-8")
    say(f"\n{table}")
    return int(suite != "done" or benchmark != "done")


def start(command: list[str], variables: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Start a step in a process group of its own; all it says goes to the end of `log`."""
    with log.open("ab") as said:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def finish(processes: list[subprocess.Popen[bytes]], seconds: float) -> str:
    """Wait for processes for at most `seconds` in all, and say how they ended.

    What is left of them and their groups is asked to stop, by Ctrl-C, and killed after a time of
    grace.
    """
    end = time.monotonic() + seconds
    try:
        wait(processes, end)
        late = any(process.poll() is None for process in processes)
    finally:
        for what in (signal.SIGINT, getattr(signal, "SIGKILL", signal.SIGTERM)):
            signal_groups(processes, what)
            wait(processes, time.monotonic() + GRACE)
    if late:
        return f"stopped at its limit of {seconds:.0f} s"
    status = next((process.returncode for process in processes if process.returncode), 0)
    return f"ended with status {status}" if status else "done"


def wait(processes: list[subprocess.Popen[bytes]], end: float) -> None:
    """Wait for processes until `end` (of the monotonic clock)."""
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=max(end - time.monotonic(), 0.0))


def signal_groups(processes: list[subprocess.Popen[bytes]], what: signal.Signals) -> None:
    """Send a signal to the groups of processes; Windows has none, so there they are ended."""
    for process in processes:
        with contextlib.suppress(OSError):  # it has ended by itself
            if WINDOWS:
                process.kill()
            else:
                os.killpg(process.pid, what)


def run_suite(variables: dict[str, str], out: Path, scratch: Path, limit: float) -> str:
    """Run the kernels' tests in several processes; their logs become one, also if cut off."""
    count = min(SHARDS, os.cpu_count() or 1)
    logs = [scratch / f"shard-{index}.log" for index in range(count)]
    # tests/kernels/conftest.py reads SHARD.
    own = [{**variables, "SHARD": f"{index}/{count}"} for index in range(count)]
    tests = [start(suite_command(), *pair) for pair in zip(own, logs, strict=True)]
    try:
        return finish(tests, limit)
    finally:
        (out / SUITE_LOG).write_bytes(b"\n".join(log.read_bytes() for log in logs if log.exists()))


def results_folder(place: Place) -> Path:
    """Return the folder that OUT names, made if need be; benchmarks/results/gpu without OUT."""
    named = os.environ.get("OUT", "")
    out = Path(named).expanduser().absolute() if named else place.root / FOLDER
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(
            f"OUT must name a folder that can be written; {out} cannot ({error.strerror})."
        ) from error
    return out


def variables_for(cache: Path) -> dict[str, str]:
    """Return the steps' environment: this course first, compiled kernels kept for this run."""
    variables = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    variables["TRITON_CACHE_DIR"] = str(cache / "triton")
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables["PYTHONPATH"] = os.pathsep.join(path)
    variables["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # what else is there must not meddle
    variables["PYTHONUNBUFFERED"] = "1"  # the log of a step that is killed is whole
    return variables


def probe(variables: dict[str, str], log: Path) -> dict:
    """Return the device and the versions, or say what is missing."""
    ended = finish([start([sys.executable, "-c", PROBE], variables, log)], PROBE_SECONDS)
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    if ended != "done":
        raise CommandError(
            f"bench-gpu needs a GPU that torch can use, triton, numpy and pytest: "
            f"{[ended, *lines][-1]}. Nothing was measured. `make bench` measures the CPU."
        )
    return json.loads(lines[-1])


def suite_command() -> list[str]:
    """Return how pytest runs the kernels' tests where only pytest is installed.

    The settings in pyproject.toml are for the whole course: they name plug-ins, a conftest and a
    version that such a machine need not have, so an empty file takes their place. What compiles
    for GPUs that are not there, or tests a benchmark, needs none, and `make test` runs it anywhere.
    """
    return [
        *(sys.executable, "-m", "pytest", "tests/kernels"),
        *(f"--ignore=tests/kernels/{name}" for name in ("test_inspect.py", "test_tile_search.py")),
        *("-c", os.devnull, "--rootdir=."),
        *("--confcutdir=tests/kernels", "-q", "-rfE", "--tb=short", "--durations=15"),
        *("--color=no", "-p", "no:cacheprovider", "--continue-on-collection-errors"),
    ]


def benchmark_command(out: Path, seconds: float) -> list[str]:
    """Return how the benchmark runs within its share of the time."""
    module = [sys.executable, "-m", "benchmarks.attention", "--device", "cuda"]
    return [*module, "--budget", f"{seconds:.0f}", "--out", str(out)]


def describe(log: str) -> list[str]:
    r"""Return how each process of the suite ended, and the first tests that failed.

    >>> describe("..F\nFAILED a.py::x - AssertionError\n1 failed, 2 passed in 0.07s\n")
    ['1 failed, 2 passed in 0.07s', 'FAILED a.py::x - AssertionError']
    """
    ends = re.findall(r"^(?:=+ )?(\d+ \w+.* in [\d.]+s|no tests ran in .*s)", log, re.MULTILINE)
    failed = re.findall(r"^(?:FAILED|ERROR) .*", log, re.MULTILINE)
    more = [f"and {len(failed) - NAMED} more"] if len(failed) > NAMED else []
    return [*(ends or ["no test ran"]), *failed[:NAMED], *more]


def measured(out: Path) -> list[str]:
    """Return what the benchmark has left: who was left out, the goals."""
    if not (out / TABLES).exists():  # written last
        return [f"- see {LOG}"]
    result = json.loads((out / RESULT).read_text(encoding="utf-8"))
    reasons = [case["left_out"].get("ours") for case in result["cases"]]
    return [
        *(f"- flash_attend left out: {why}" for why in dict.fromkeys(reasons) if why),
        f"- cases measured: {len(result['cases'])}, left out: {len(result['left_out'])}",
        (out / TABLES).read_text(encoding="utf-8").partition("## Goals\n")[2].rstrip(),
    ]
