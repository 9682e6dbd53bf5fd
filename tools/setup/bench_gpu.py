"""Test and measure the compiled kernels on a machine with a GPU, in one command.

It runs with the Python that starts it: torch, triton, numpy and pytest are all it needs, and
nothing is installed. Everything it finds is written into the folder that OUT names.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from .place import CommandError, Place, say
from .steps import Outcome, Runner, ended, finish, stop

SECONDS = 470  # in all: eight minutes, less what Python takes to start and to end
SUITE_SECONDS = 210
PROBE_SECONDS = 120  # importing torch for CUDA from a cold disk
SPARE = 10  # between the benchmark's own limit and the one that ends it
FOLDER = Path("benchmarks") / "results" / "gpu"
LOG, SUITE_LOG, SUMMARY = "bench-gpu.log", "kernel-suite.log", "summary.md"
RESULT, TABLES, PICTURE = "attention-gpu.json", "attention-gpu.md", "attention-gpu.png"
COMPILERS = 4
SHARDS = 8  # at most: processes that share the suite, since compiling is what takes long
# Compiles for GPUs that are not there: it needs none, and `make test` runs it anywhere.
ANYWHERE = "tests/kernels/test_inspect.py"
NAMED = 12  # tests that failed, by name, in the table
STATUSES = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
# One test's line in pytest's log: `… PASSED [ 7%]`.
VERDICT = re.compile(
    r"^(\S.*) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b.*\[ *\d+%\]", re.MULTILINE
)
COLLECTED = re.compile(r"^(?:collecting \.\.\. )?collected (\d+) items?", re.MULTILINE)
BAD = ("FAILED", "ERROR", "XPASS")
# Runs in the Python that will do the work. The last line is JSON: facts, or what is missing.
PROBE = """
import importlib.util, json, os, platform, shutil, sys

def need(name):
    if importlib.util.find_spec(name) is None:
        print(json.dumps({"missing": f"Python {platform.python_version()} has no {name}"}))
        sys.exit()
    return __import__(name)

torch = need("torch")
facts = {"python": platform.python_version(), "torch": torch.__version__}
for name in ("triton", "numpy", "pytest"):
    facts[name] = need(name).__version__
if not torch.cuda.is_available():
    build = torch.version.cuda or torch.version.hip
    print(json.dumps({"missing": "torch " + torch.__version__ + (
        " finds no GPU, or no driver for it" if build else " is built without GPU support")}))
    sys.exit()
facts["cuda"] = torch.version.cuda or torch.version.hip
properties = torch.cuda.get_device_properties(0)
facts["device"] = f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB"
# Where Triton looks for the C compiler that builds what launches a kernel.
compilers = [os.environ.get("CC"), *map(shutil.which, ("gcc", "clang", "cc"))]
facts["compiler"] = next(filter(None, compilers), None)
if not shutil.which(facts["compiler"] or ""):
    print(json.dumps({"missing": "Triton needs a C compiler to launch its kernels, and finds " + (
        f"none by the name in CC ({facts['compiler']})" if facts["compiler"]
        else "no gcc, clang or cc on the PATH; name one in CC")}))
    sys.exit()
print(json.dumps(facts))
"""


def bench_gpu(place: Place, arguments: list[str]) -> int:
    """Run the suite, then the benchmark, and print a short table; 0 if both worked."""
    parser = argparse.ArgumentParser(prog="bench-gpu", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"in all ({SECONDS})")
    end = time.monotonic() + parser.parse_args(arguments).seconds
    out = results_folder(place)
    (out / LOG).unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="course-gpu-", ignore_cleanup_errors=True) as cache:
        runner = Runner(place.root, environment(Path(cache), place.root))
        facts = probe(runner, out / LOG)
        for name in (SUITE_LOG, SUMMARY, RESULT, TABLES, PICTURE):
            (out / name).unlink(missing_ok=True)  # of an earlier run
        say("".join(f"{name}: {value}\n" for name, value in facts.items()))
        say(f"Results go to {out}. The compiled kernels' tests:")
        limit = min(SUITE_SECONDS, (end - time.monotonic()) / 2)
        suite = run_suite(runner, out, Path(cache), limit)
        log = (out / SUITE_LOG).read_text(encoding="utf-8", errors="replace")
        tests = [describe(suite, log, limit), *failures(log)]
        say("\n  ".join(["", *tests]) + "\nThe benchmark:")
        left = max(end - time.monotonic(), 2 * SPARE)
        benchmark = runner.run(benchmark_command(out, left - SPARE), out / LOG, left)
    table = summary(facts, tests, benchmark, out)
    (out / SUMMARY).write_text(table + "\n", encoding="utf-8")
    say(f"\n{table}")
    return 0 if suite.worked and count_tests(log)["passed"] and benchmark.worked else 1


def run_suite(runner: Runner, out: Path, scratch: Path, limit: float) -> Outcome:
    """Run the kernels' tests in several processes, and compile beside them what is measured.

    Their logs become one, also where they are cut off.
    """
    end = time.monotonic() + limit
    count = shards()
    logs = [scratch / f"shard-{index}.log" for index in range(count)]
    compilers = [runner.start(compile_command(i), out / LOG) for i in range(COMPILERS)]
    try:
        suite = finish(
            [start_shard(runner, index, count, log) for index, log in enumerate(logs)],
            end - time.monotonic(),
        )
        for compiler in compilers:
            ended(compiler, end)
    finally:
        stop(compilers, grace=0)
        (out / SUITE_LOG).write_bytes(b"\n".join(log.read_bytes() for log in logs if log.exists()))
    return suite


def shards() -> int:
    """Return how many processes share the suite: no more than there are processors."""
    if hasattr(os, "sched_getaffinity"):
        return min(SHARDS, len(os.sched_getaffinity(0)))
    return min(SHARDS, os.cpu_count() or 1)


def start_shard(runner: Runner, index: int, count: int, log: Path) -> subprocess.Popen[bytes]:
    """Start one process with its share of the suite (tests/kernels/conftest.py reads SHARD)."""
    threads = "1" if count > 1 else str(os.cpu_count() or 1)  # the others have the rest
    own = {"SHARD": f"{index}/{count}", "OMP_NUM_THREADS": threads}
    return replace(runner, variables={**runner.variables, **own}).start(suite_command(), log)


def results_folder(place: Place) -> Path:
    """Return the folder that OUT names, made if need be; benchmarks/results/gpu without OUT."""
    named = os.environ.get("OUT", "")
    out = Path(named).expanduser().absolute() if named else place.root / FOLDER
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise CommandError(
            f"OUT must name a folder that can be written; {out} cannot ({error.strerror})."
        ) from error
    return out


def environment(cache: Path, root: Path) -> dict[str, str]:
    """Return the steps' environment: this course first, compiled kernels kept for this run."""
    variables = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    variables["TRITON_CACHE_DIR"] = str(cache / "triton")
    variables["TORCHINDUCTOR_CACHE_DIR"] = str(cache / "inductor")
    path = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables["PYTHONPATH"] = os.pathsep.join(path)
    variables["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # what else is there must not meddle
    variables["PYTHONUNBUFFERED"] = "1"  # the log of a step that is killed is whole
    return variables


def probe(runner: Runner, log: Path) -> dict:
    """Return the device and the versions, or say what is missing."""
    outcome = runner.run([sys.executable, "-c", PROBE], log, PROBE_SECONDS)
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    if not outcome.worked or not lines:
        what = "took too long" if outcome.timed_out else "failed"
        raise CommandError(f"Asking torch for a GPU {what}: {['it said nothing', *lines][-1]}")
    facts = json.loads(lines[-1])
    if "missing" in facts:
        raise CommandError(
            f"bench-gpu needs a GPU that torch can use, triton, a C compiler, numpy and pytest: "
            f"{facts['missing']}. Nothing was measured. `make bench` measures the CPU."
        )
    return facts


def suite_command() -> list[str]:
    """Return how pytest runs the kernels' tests where only pytest is installed.

    The settings in pyproject.toml are for the whole course: they name plug-ins, a conftest and a
    version that such a machine need not have, so an empty file takes their place.
    """
    return [
        *(sys.executable, "-m", "pytest", "tests/kernels", f"--ignore={ANYWHERE}"),
        *("-c", os.devnull, "--rootdir=.", "--confcutdir=tests/kernels"),
        *("-v", "-rfE", "--tb=short", "--durations=15", "--color=no", "-p", "no:cacheprovider"),
        "--continue-on-collection-errors",
    ]


def compile_command(index: int) -> list[str]:
    """Return how one process compiles its share of what will be measured.

    That takes longer than measuring does, and is done while the suite runs; should it fail, the
    benchmark compiles for itself.
    """
    return [sys.executable, "-m", "benchmarks._compile", str(index), str(COMPILERS)]


def benchmark_command(out: Path, seconds: float) -> list[str]:
    """Return how the benchmark runs within its share of the time."""
    module = [sys.executable, "-m", "benchmarks.attention", "--device", "cuda"]
    return [*module, "--budget", f"{seconds:.0f}", "--out", str(out)]


def count_tests(log: str) -> Counter[str]:
    r"""Count pytest's verdicts in verbose logs, also in ones that break off.

    >>> sorted(count_tests("a.py::x PASSED [ 50%]\na.py::y FAILED [100%]\nFAILED a.py").items())
    [('failed', 1), ('passed', 1)]
    """
    names = {"XFAIL": "xfailed", "XPASS": "xpassed"}
    words = [str(word) for _, word in VERDICT.findall(log)]
    return Counter(names.get(word, word.lower()) for word in words)


def not_run(log: str) -> int:
    r"""Return how many of the tests that pytest collected have no verdict in its logs.

    Every process collects all tests and then keeps its share.

    >>> not_run("collected 3 items / 1 deselected\na.py::x PASSED [ 50%]\ncollected 3 items")
    2
    """
    collected = max(map(int, COLLECTED.findall(log)), default=0)
    return max(collected - count_tests(log).total(), 0)


def describe(outcome: Outcome, log: str, limit: float) -> str:
    """Return in a line how the suite went."""
    counts = count_tests(log)
    said = ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])
    line = f"{said or 'no test ran'} in {outcome.seconds:.0f} s"
    if outcome.timed_out:
        line += f"; stopped at its limit of {limit:.0f} s"
    elif not outcome.worked:
        line += f"; pytest ended with status {outcome.status}"
    if missing := not_run(log):
        line += f"; {missing} did not run"
    return f"{line} ({ANYWHERE} left out: it needs no GPU)"


def failures(log: str) -> list[str]:
    r"""Return the tests that failed, from a verbose log; the first ones where they are many.

    >>> failures("tests/a.py::x PASSED [ 50%]\ntests/a.py::y[2 3] FAILED [100%]")
    ['failed: tests/a.py::y[2 3]']
    """
    names = [name for name, word in VERDICT.findall(log) if word in BAD]
    more = [f"and {len(names) - NAMED} more"] if len(names) > NAMED else []
    return [*(f"failed: {name}" for name in names[:NAMED]), *more]


def summary(facts: dict, tests: list[str], benchmark: Outcome, out: Path) -> str:
    """Return the short table: tests, goals, the tiles that were chosen."""
    lines = [f"# make bench-gpu on {facts['device']}, torch {facts['torch']}", ""]
    lines += [f"- kernel suite, compiled: {tests[0]}", *(f"  - {line}" for line in tests[1:])]
    lines += [f"- benchmark: {benchmark_line(benchmark)}"]
    file = out / RESULT
    if file.exists():
        result = json.loads(file.read_text(encoding="utf-8"))
        lines += [f"- flash_attend left out: {reason}" for reason in ours_left_out(result)]
        lines += [f"- chosen tiles: {line}" for line in result["configurations"]]
        lines += [f"- cases measured: {len(result['cases'])}, left out: {len(result['left_out'])}"]
        lines += ["", "| goal | bound | worst | where | |", "| - | -: | -: | - | - |"]
        lines += [goal_line(goal) for goal in result["goals"]]
    return "\n".join(lines)


def ours_left_out(result: dict) -> list[str]:
    """Return why our kernels have no figure in some cases, each reason once."""
    reasons = [case["left_out"].get("ours") for case in result["cases"]]
    return list(dict.fromkeys(filter(None, reasons)))


def benchmark_line(outcome: Outcome) -> str:
    """Return in a line how the benchmark went."""
    if outcome.timed_out:
        return f"stopped at its limit after {outcome.seconds:.0f} s; what it had measured is kept"
    how = "done" if outcome.worked else f"ended with status {outcome.status}, see bench-gpu.log"
    return f"{how} in {outcome.seconds:.0f} s"


def goal_line(goal: dict) -> str:
    """Return one row of the goals' table."""
    worst = "-" if goal["worst"] is None else f"{goal['worst']:.2f}"
    verdict = {True: "met", False: "not met", None: "not measured"}[goal["met"]]
    return f"| {goal['text']} | {goal['bound']:g} | {worst} | {goal['where']} | {verdict} |"
