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
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tools.setup.place import ROOT, WINDOWS, CommandError, Place, say

SECONDS = 470  # in all: eight minutes, less what Python takes to start and to end
SUITE_SECONDS = 210
PROBE_SECONDS = 120  # importing torch for CUDA from a cold disk
SPARE = 10  # between the benchmark's own limit and the one that ends it
GRACE = 5.0  # for writing down how far it came, once a step is asked to stop
FOLDER = Path("benchmarks") / "results" / "gpu"
LOG, SUITE_LOG, SUMMARY = "bench-gpu.log", "kernel-suite.log", "summary.md"
RESULT, TABLES = "attention-gpu.json", "attention-gpu.md"
COMPILERS = 4
SHARDS = 8  # at most: processes that share the suite, since compiling is what takes long
# Compiles for GPUs that are not there: it needs none, and `make test` runs it anywhere.
ANYWHERE = "tests/kernels/test_inspect.py"
NAMED = 12  # tests that failed, by name, in the table
STATUSES = {"XFAIL": "xfailed", "XPASS": "xpassed"}  # the others in small letters
# One test's line in pytest's log: `… PASSED [ 7%]`.
VERDICT = re.compile(
    r"^(\S.*) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b.*\[ *\d+%\]", re.MULTILINE
)
COLLECTED = re.compile(r"^(?:collecting \.\.\. )?collected (\d+) items?", re.MULTILINE)
# The last line that this prints is JSON with facts, or says what is missing.
PROBE = """
import json, os, platform, shutil, sys
import numpy, pytest, torch, triton

if not torch.cuda.is_available():
    sys.exit(f"torch {torch.__version__} finds no GPU, or no driver for it")
# Where Triton looks for the C compiler that builds what launches a kernel.
compiler = os.environ.get("CC") or next(filter(shutil.which, ("gcc", "clang", "cc")), "")
if not shutil.which(compiler):
    sys.exit("no C compiler on the PATH; name one in CC")
properties = torch.cuda.get_device_properties(0)
print(json.dumps({
    "python": platform.python_version(),
    **{module.__name__: module.__version__ for module in (torch, triton, numpy, pytest)},
    "cuda": torch.version.cuda or torch.version.hip,
    "device": f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB",
    "compiler": compiler,
}))
"""


@dataclass(frozen=True)
class Outcome:
    """How a step ended."""

    status: int
    timed_out: bool
    seconds: float


def bench_gpu(place: Place, arguments: list[str]) -> int:
    """Run the suite, then the benchmark, and print a short table; 0 if both worked."""
    end = time.monotonic() + SECONDS
    # What a shell runs in the background ignores Ctrl-C, by which steps are asked to stop.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    out = results_folder(place)
    (out / LOG).unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="course-gpu-", ignore_cleanup_errors=True) as cache:
        variables = variables_for(Path(cache))
        facts = probe(variables, out / LOG)
        for name in (SUITE_LOG, SUMMARY, RESULT, TABLES):
            (out / name).unlink(missing_ok=True)  # of an earlier run
        say("".join(f"{name}: {value}\n" for name, value in facts.items()))
        say(f"Results go to {out}. The compiled kernels' tests:")
        limit = min(SUITE_SECONDS, (end - time.monotonic()) / 2)
        suite = run_suite(variables, out, Path(cache), limit)
        log = (out / SUITE_LOG).read_text(encoding="utf-8", errors="replace")
        tests = [describe(suite, log, limit), *failures(log)]
        say("\n  ".join(["", *tests]) + "\nThe benchmark:")
        left = max(end - time.monotonic(), 2 * SPARE)
        command = benchmark_command(out, left - SPARE)
        benchmark = finish([start(command, variables, out / LOG)], left)
    table = summary(facts, tests, benchmark, out)
    (out / SUMMARY).write_text(table + "\n", encoding="utf-8")
    say(f"\n{table}")
    return int(suite.status != 0 or not count_tests(log)["passed"] or benchmark.status != 0)


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


def finish(processes: list[subprocess.Popen[bytes]], seconds: float) -> Outcome:
    """Wait for processes for at most `seconds` in all; end what is left of them and their groups.

    They are asked all at once, by Ctrl-C, and killed after a time of grace. Together they end as
    the first of them that did not end well.
    """
    begun = time.monotonic()
    try:
        wait(processes, begun + seconds)
        late = [process for process in processes if process.poll() is None]
    finally:
        signal_groups(processes, signal.SIGINT)
        wait(processes, time.monotonic() + GRACE)
        signal_groups(processes, getattr(signal, "SIGKILL", signal.SIGTERM))
        wait(processes, time.monotonic() + GRACE)
    status = next((process.returncode for process in processes if process.returncode), 0)
    return Outcome(status or int(bool(late)), bool(late), time.monotonic() - begun)


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


def run_suite(variables: dict[str, str], out: Path, scratch: Path, limit: float) -> Outcome:
    """Run the kernels' tests in several processes, and compile beside them what is measured.

    Compiling takes longer than measuring does; should it fail, the benchmark compiles for itself.
    The logs of the tests become one, also where they are cut off.
    """
    count = shards()
    logs = [scratch / f"shard-{index}.log" for index in range(count)]
    # Each shard leaves the other processors to the others.
    threads = {"OMP_NUM_THREADS": "1"} if count > 1 else {}
    compilers = [start(compile_command(i), variables, out / LOG) for i in range(COMPILERS)]
    end = time.monotonic() + limit
    try:
        # tests/kernels/conftest.py reads SHARD.
        own = [{**variables, **threads, "SHARD": f"{index}/{count}"} for index in range(count)]
        tests = [start(suite_command(), *pair) for pair in zip(own, logs, strict=True)]
        outcome = finish(tests, limit)
        wait(compilers, end)
    finally:
        finish(compilers, 0)
        (out / SUITE_LOG).write_bytes(b"\n".join(log.read_bytes() for log in logs if log.exists()))
    return outcome


def shards() -> int:
    """Return how many processes share the suite: no more than there are processors."""
    allowed = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
    return min(SHARDS, len(allowed))


def results_folder(place: Place) -> Path:
    """Return the folder that OUT names, made if need be; benchmarks/results/gpu without OUT."""
    named = os.environ.get("OUT", "")
    out = Path(named).expanduser().absolute() if named else place.root / FOLDER
    try:
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()
    except OSError as error:
        raise CommandError(
            f"OUT must name a folder that can be written; {out} cannot ({error.strerror})."
        ) from error
    return out


def variables_for(cache: Path) -> dict[str, str]:
    """Return the steps' environment: this course first, compiled kernels kept for this run."""
    variables = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    variables["TRITON_CACHE_DIR"] = str(cache / "triton")
    variables["TORCHINDUCTOR_CACHE_DIR"] = str(cache / "inductor")
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables["PYTHONPATH"] = os.pathsep.join(path)
    variables["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # what else is there must not meddle
    variables["PYTHONUNBUFFERED"] = "1"  # the log of a step that is killed is whole
    return variables


def probe(variables: dict[str, str], log: Path) -> dict:
    """Return the device and the versions, or say what is missing."""
    outcome = finish([start([sys.executable, "-c", PROBE], variables, log)], PROBE_SECONDS)
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    if outcome.status != 0:
        said = ["asking for them ended without a word", *lines][-1]
        why = "importing them took too long" if outcome.timed_out else said
        raise CommandError(
            f"bench-gpu needs a GPU that torch can use, triton, a C compiler, numpy and pytest: "
            f"{why}. Nothing was measured. `make bench` measures the CPU."
        )
    return json.loads(lines[-1])


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
    """Return how one process compiles its share of what will be measured."""
    return [sys.executable, "-m", "benchmarks._compile", str(index), str(COMPILERS)]


def benchmark_command(out: Path, seconds: float) -> list[str]:
    """Return how the benchmark runs within its share of the time."""
    module = [sys.executable, "-m", "benchmarks.attention", "--device", "cuda"]
    return [*module, "--budget", f"{seconds:.0f}", "--out", str(out)]


def count_tests(log: str) -> Counter[str]:
    r"""Count pytest's verdicts in verbose logs, also in ones that break off.

    >>> sorted(count_tests("a.py::x PASSED [ 50%]\na.py::y XFAIL [100%]\nFAILED a.py").items())
    [('passed', 1), ('xfailed', 1)]
    """
    return Counter(STATUSES.get(word, str(word).lower()) for _, word in VERDICT.findall(log))


def describe(outcome: Outcome, log: str, limit: float) -> str:
    """Return in a line how the suite went."""
    counts = count_tests(log)
    # Every process collects all tests and then keeps its share.
    missing = max(map(int, COLLECTED.findall(log)), default=0) - counts.total()
    said = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    line = f"{said or 'no test ran'} in {outcome.seconds:.0f} s"
    if outcome.timed_out:
        line += f"; stopped at its limit of {limit:.0f} s"
    elif outcome.status != 0:
        line += f"; pytest ended with status {outcome.status}"
    if missing > 0:
        line += f"; {missing} did not run"
    return f"{line} ({ANYWHERE} left out: it needs no GPU)"


def failures(log: str) -> list[str]:
    r"""Return the tests that failed, from a verbose log; the first ones where they are many.

    >>> failures("tests/a.py::x PASSED [ 50%]\ntests/a.py::y[2 3] FAILED [100%]")
    ['failed: tests/a.py::y[2 3]']
    """
    names = [name for name, word in VERDICT.findall(log) if word in ("FAILED", "ERROR", "XPASS")]
    more = [f"and {len(names) - NAMED} more"] if len(names) > NAMED else []
    return [*(f"failed: {name}" for name in names[:NAMED]), *more]


def summary(facts: dict, tests: list[str], benchmark: Outcome, out: Path) -> str:
    """Return the short table: tests, goals, the tiles that were chosen."""
    how = "done" if benchmark.status == 0 else f"ended with status {benchmark.status}, see {LOG},"
    if benchmark.timed_out:
        how = "stopped at its limit, what it had measured is kept,"
    lines = [f"# make bench-gpu on {facts['device']}, torch {facts['torch']}", ""]
    lines += [f"- kernel suite, compiled: {tests[0]}", *(f"  - {line}" for line in tests[1:])]
    lines += [f"- benchmark: {how} in {benchmark.seconds:.0f} s"]
    if (out / TABLES).exists():  # written last
        result = json.loads((out / RESULT).read_text(encoding="utf-8"))
        reasons = [case["left_out"].get("ours") for case in result["cases"]]
        lines += [f"- flash_attend left out: {why}" for why in dict.fromkeys(reasons) if why]
        lines += [f"- chosen tiles: {line}" for line in result["configurations"]]
        lines += [f"- cases measured: {len(result['cases'])}, left out: {len(result['left_out'])}"]
        lines += [(out / TABLES).read_text(encoding="utf-8").partition("## Goals\n")[2].rstrip()]
    return "\n".join(lines)
