"""Told to end, the commands take their children along and leave nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tools.setup.place import ROOT

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")

# `make claims` in small: two workers, each of which computes for ever.
CLAIMS = """
import sys
from dataclasses import dataclass
from pathlib import Path
from tools.claims import __main__ as command, running

@dataclass(frozen=True)
class Job:
    path: Path

    def run(self):
        if self.path.name == "quick":
            return {"n": 1.0}
        self.path.with_name(f"busy {self.path.name}").touch()
        while True:
            pass

def keep(job, path, found):
    path.write_text("kept")

if __name__ == "__main__":
    running.keep = keep
    running.os.cpu_count = lambda: 2
    command.run_all = lambda *_: running.run_jobs(
        [Job(Path(sys.argv[1], name)) for name in ("quick", "a", "b")], 3
    )
    sys.exit(command.main(["3"]))
"""
# A command behind course.py: a child that needs a second to put its things in order.
COMMAND = """
import sys
from tools.ending import run_to_its_end
sys.exit(run_to_its_end([sys.executable, "-c", sys.argv[2], sys.argv[1]]))
"""
CHILD = """
import sys, tempfile, time
from pathlib import Path
from tools.ending import leave_in_order
leave_in_order()
with tempfile.TemporaryDirectory(dir=sys.argv[1], prefix="left"):
    try:
        Path(sys.argv[1], "busy").touch()
        time.sleep(600)
    finally:
        time.sleep(1)
"""


@pytest.fixture
def start(tmp_path):
    """Start a script in a session of its own; wait until it has written its `busy` files."""
    processes = []

    def run(script, *more, busy=1):
        file = tmp_path / "script.py"
        file.write_text(script)
        process = subprocess.Popen(
            [sys.executable, str(file), str(tmp_path), *more],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        processes.append(process)
        end = time.monotonic() + 100
        while len([*tmp_path.glob("busy*")]) < busy:
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < end
            time.sleep(0.05)
        return process, psutil.Process(process.pid).children(recursive=True)

    yield run
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def send(process, what, to_all):
    """Send a signal as a terminal does, or to the one process."""
    (os.killpg if to_all else os.kill)(process.pid, what)


@pytest.mark.parametrize(
    ("what", "to_all"),
    [
        (signal.SIGINT, True),
        (signal.SIGTERM, False),
        (signal.SIGHUP, True),
        (signal.SIGKILL, False),
    ],
    ids=["Ctrl-C", "told to end", "the terminal is closed", "killed"],
)
def test_workers_end_with_their_parent_and_what_was_measured_is_kept(start, tmp_path, what, to_all):
    process, workers = start(CLAIMS, busy=2)
    assert len(workers) >= 2
    send(process, what, to_all)
    said, _ = process.communicate(timeout=30)
    # Where the terminal is gone nobody reads what Python's own tracker of resources may say.
    assert "Traceback" not in said or what == signal.SIGHUP
    assert psutil.wait_procs(workers, timeout=10)[1] == []
    assert (tmp_path / "quick").read_text() == "kept"
    if what == signal.SIGINT:
        assert process.returncode == 130 and "is kept" in said


@pytest.mark.parametrize(
    ("what", "to_all", "status"),
    [(signal.SIGINT, True, -2), (signal.SIGTERM, False, 143), (signal.SIGHUP, False, 129)],
    ids=["Ctrl-C", "told to end", "the terminal is closed"],
)
def test_a_command_waits_for_its_child(start, tmp_path, what, to_all, status):
    process, children = start(COMMAND, CHILD)
    send(process, what, to_all)
    process.communicate(timeout=30)
    assert process.returncode in (status, 1) and not any(each.is_running() for each in children)
    assert [*tmp_path.glob("left*")] == []


def test_nohup_goes_on_when_the_terminal_is_closed(start):
    ignoring = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    process, [child] = start(ignoring + COMMAND, CHILD)
    send(process, signal.SIGHUP, to_all=True)
    time.sleep(0.5)
    assert process.poll() is None and child.is_running()


@pytest.mark.slow
@pytest.mark.parametrize("what", [signal.SIGTERM, signal.SIGHUP])
def test_tests_leave_no_folder_behind(tmp_path, what):
    test = tmp_path / "test_long.py"
    test.write_text(
        "import time\nfrom pathlib import Path\n\n\ndef test_long():\n"
        f"    Path({str(tmp_path / 'busy')!r}).touch()\n    time.sleep(600)\n"
    )
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "pytest", "-q", "-n", "1", "-c", "pyproject.toml"]
    process = subprocess.Popen(
        [*command, "--confcutdir", "/", "-p", "no:cacheprovider", "-p", "conftest", str(test)],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
        | {"TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    end = time.monotonic() + 200
    while not (tmp_path / "busy").exists():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.1)
    assert [*temporary.glob("course-*")]
    os.killpg(process.pid, what)
    process.communicate(timeout=60)
    assert [path.name for path in Path(temporary).glob("course-*")] == []
