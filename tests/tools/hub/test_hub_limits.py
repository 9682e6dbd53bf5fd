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
# Two processors that two students share leave each one of them, and the machine may be busy too:
# without limits eight loops leave a ninth of it, and memory that runs out stops everything.
SLOWER = 8

SLIDER = """
import ipywidgets
slider, echo = ipywidgets.FloatSlider(), ipywidgets.FloatText()
slider.observe(lambda change: setattr(echo, "value", change["new"]), "value")
display(slider, echo)
print(slider.model_id)
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
# Shared memory counts for no process: only the unit sees it.
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


@pytest.fixture
def runaway(ada):
    kernel = ada.start_kernel()
    yield kernel
    kernel.stop()


def test_the_unit_holds_all_with_its_limits(hub, ada, runaway):
    assert runaway.run("1").error == ""
    name = f"course-{ada.name}.service"
    for process in processes_of(hub.home(ada.name).stat().st_uid):
        assert name in Path(f"/proc/{process}/cgroup").read_text()
    wanted = ["MemoryMax", "MemorySwapMax", "TasksMax", "CPUQuotaPerSecUSec"]
    show = ["systemctl", "show", name, *[f"--property={each}" for each in wanted]]
    said = subprocess.run(show, check=True, capture_output=True, text=True).stdout.split()
    has = dict(line.split("=") for line in said)
    assert [has[each] for each in wanted] == [str(MEMORY), "0", "512", "2s"]


def test_a_cell_gets_a_memory_error(runaway):
    assert runaway.run(ALLOCATE).error.startswith("MemoryError")
    assert runaway.run("del held; print(6 * 7)").text.strip() == "42", "the kernel lives"


def test_children_together_have_no_more_than_one(runaway):
    assert runaway.run(ALLOCATE_IN_CHILDREN).text.strip() in ("[-9]", "[-9, -9]")


def test_an_ended_kernel_starts_again(ada, runaway):
    with pytest.raises(KernelDied, match="restarting"):
        runaway.run(ALLOCATE_SHARED)

    def runs_again():
        # The server hears of a state when the kernel says it, and may miss the first of a new one:
        # what is asked now makes it say another.
        runaway.start("None")
        return ada.api("GET", f"kernels/{runaway.id}").json()["execution_state"] == "idle"

    wait_for(runs_again, "the kernel's restart")
    assert ada.api("GET", f"contents/{NOTEBOOKS}").status_code == 200, "the server lives on"


def test_endless_threads_are_refused(runaway):
    assert runaway.run(THREADS).error == "RuntimeError: can't start new thread"


def test_the_neighbour_keeps_a_share(runaway, ben):
    neighbour = ben.start_kernel("01_scaling.ipynb")
    model = neighbour.run(SLIDER).text.splitlines()[-1]

    def milliseconds():
        """The typical time from moving the neighbour's slider to the kernel's answer."""
        neighbour.connect_again()
        times = []
        for event in range(25):
            start = time.perf_counter()
            neighbour.slide(model, 0.1 * (1 + event % 5))
            times.append(1e3 * (time.perf_counter() - start))
        return statistics.median(times)

    milliseconds()  # what is kept between events is there afterwards
    before = milliseconds()
    assert runaway.run(LOOPS).text.strip() == "running"
    asked = runaway.start(ALLOCATE)
    during = milliseconds()
    runaway.finish(asked)
    runaway.run("[(loop.kill(), loop.wait()) for loop in loops]")
    assert during < SLOWER * before
    neighbour.stop()
