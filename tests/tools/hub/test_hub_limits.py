"""A student's runaway is stopped and told so, and the neighbour's sliders go on answering.

The limits are systemd's: where it does not run the machine, none of this is tried.
"""

import statistics
import subprocess
import time
from pathlib import Path

import pytest

from benchmarks._kernel import KernelDied
from tests.tools.hub.support_hub import MEMORY, processes_of, wait_for
from tests.tools.hub.support_student import NOTEBOOKS

pytestmark = [pytest.mark.hub, pytest.mark.usefixtures("units")]
EVENTS = 25
# Two processors that two students share leave each one of them, and the machine may be busy too:
# without limits eight loops leave a ninth of it, and memory that runs out stops everything.
SLOWER = 8

SLIDER = """
from course_utils.lectures.l01_scaling.explorers import explore_score_variance
explorer = explore_score_variance()
display(explorer)
print(explorer.controls["correlation"].model_id)
"""
ALLOCATE = """
held = []
while True:
    held.append(b"x" * 2**24)
"""
# Each below its own limit, all of them beyond the student's: somebody has to go.
HOLD = f"held = b'x' * {MEMORY * 6 // 10}; input()"
ALLOCATE_IN_CHILDREN = f"""
import subprocess, sys, time
command = [sys.executable, "-c", {HOLD!r}]
children = [subprocess.Popen(command, stdin=-1, stderr=-3) for _ in range(3)]
while not any(child.poll() for child in children):
    time.sleep(0.05)
ends = [child.returncode for child in children if child.returncode]
for child in children:
    child.kill(), child.wait(), child.stdin.close()
print(ends)
"""
# Shared memory counts for no process: only the student's group sees it.
ALLOCATE_SHARED = f"""
import mmap
shared = mmap.mmap(-1, {2 * MEMORY})
for start in range(0, {2 * MEMORY}, 2**24):
    shared[start:start + 2**24] = b"x" * 2**24
"""
THREADS = """
import threading
wait = threading.Event()
threads = []
try:
    while True:
        threads.append(threading.Thread(target=wait.wait))
        threads[-1].start()
finally:
    wait.set()
"""
LOOPS = """
import subprocess, sys
loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(8)]
print("running")
"""


class Slider:
    """A slider of a running lecture, moved over the websocket."""

    def __init__(self, kernel):
        answer = kernel.run(SLIDER)
        assert answer.error == ""
        self.kernel = kernel
        self.model = answer.text.splitlines()[-1]

    def milliseconds(self):
        """Return the typical time from moving the slider to the new picture."""
        self.kernel.connect_again()
        times = []
        for event in range(EVENTS):
            start = time.perf_counter()
            self.kernel.slide(self.model, 0.1 * (1 + event % 5))
            times.append(1e3 * (time.perf_counter() - start))
        return statistics.median(times)


@pytest.fixture(scope="module")
def slider(ben):
    found = Slider(ben.start_kernel("01_scaling.ipynb"))
    found.milliseconds()  # what is kept between events is there afterwards
    return found


@pytest.fixture
def runaway(ada):
    kernel = ada.start_kernel()
    yield kernel
    kernel.stop()


def unit(student, name):
    """A property of a student's unit, as systemd has it."""
    command = ["systemctl", "show", f"course-{student.name}", f"--property={name}", "--value"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_the_unit_holds_all_with_its_limits(hub, ada):
    kernel = ada.start_kernel()
    group = kernel.run("print(open('/proc/self/cgroup').read())").text
    assert f"course-{ada.name}.service" in group
    for process in processes_of(hub.home(ada.name).stat().st_uid):
        assert f"course-{ada.name}.service" in Path(f"/proc/{process}/cgroup").read_text()
    assert unit(ada, "MemoryMax") == str(MEMORY) and unit(ada, "MemorySwapMax") == "0"
    assert unit(ada, "TasksMax") == "512" and unit(ada, "CPUQuotaPerSecUSec") == "2s"
    kernel.stop()


def test_endless_allocation_gets_a_memory_error_and_keeps_its_kernel(runaway, slider):
    before = slider.milliseconds()
    asked = runaway.start(ALLOCATE)
    during = slider.milliseconds()
    assert runaway.finish(asked).error.startswith("MemoryError")
    assert runaway.run("del held; print(6 * 7)").text.strip() == "42"
    assert during < SLOWER * before, f"{before:.0f} ms, and {during:.0f} ms beside the runaway"


def test_children_together_have_no_more_than_one(runaway, slider):
    before = slider.milliseconds()
    asked = runaway.start(ALLOCATE_IN_CHILDREN)
    during = slider.milliseconds()
    assert runaway.finish(asked).text.strip() in ("[-9]", "[-9, -9]"), "ended by the system"
    assert during < SLOWER * before, f"{before:.0f} ms, and {during:.0f} ms beside the runaway"


def test_a_kernel_that_is_ended_says_so_and_starts_again(ada, runaway):
    with pytest.raises(KernelDied, match="restarting"):
        runaway.run(ALLOCATE_SHARED)

    def runs_again():
        # The server hears of a state when the kernel says it, and may miss the first of a new one:
        # what is asked now makes it say another.
        runaway.start("None")
        return ada.api("GET", f"kernels/{runaway.id}").json()["execution_state"] == "idle"

    wait_for(runs_again, "the kernel's restart")
    assert ada.api("GET", f"contents/{NOTEBOOKS}").status_code == 200, "the server lives on"


def test_endless_threads_are_refused(runaway, slider):
    before = slider.milliseconds()
    asked = runaway.start(THREADS)
    during = slider.milliseconds()
    assert runaway.finish(asked).error == "RuntimeError: can't start new thread"
    assert during < SLOWER * before


def test_endless_loops_leave_the_neighbour_a_share(runaway, slider):
    before = slider.milliseconds()
    assert runaway.run(LOOPS).text.strip() == "running"
    during = slider.milliseconds()
    runaway.run("[(loop.kill(), loop.wait()) for loop in loops]")
    assert during < SLOWER * before, f"{before:.0f} ms, and {during:.0f} ms beside eight loops"
