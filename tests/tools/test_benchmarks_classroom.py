"""What a student costs: the arithmetic, the table, and the results that README rests on."""

import json
import mmap
import os
from pathlib import Path

import pytest

from benchmarks import classroom
from benchmarks._kernel import Answer
from benchmarks._student import Memory, memory_of

RESULTS = Path(classroom.__file__).parent / "results" / "classroom.json"
SOME = Memory(rss=11, pss=7, uss=5, data=13, peak=17)


@pytest.mark.parametrize(("own", "shared", "fit"), [(100, 0, 225), (500, 1000, 43), (22528, 0, 1)])
def test_how_many_fit_is_what_is_left_over_what_each_adds(own, shared, fit):
    """24 GiB less 2 GiB are 22,528 MiB."""
    assert classroom.Cost("then", SOME, SOME, own, shared).students == fit


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="reads Linux's /proc")
def test_memory_that_is_taken_is_seen():
    before = memory_of(os.getpid())
    with mmap.mmap(-1, 64 * 2**20) as held:  # straight from the system: no memory freed before
        held.write(b"x" * 64 * 2**20)
        after = memory_of(os.getpid())
    assert after.uss - before.uss > 60 and after.rss - before.rss > 60
    assert after.uss <= after.pss <= after.rss <= after.peak


def test_a_cell_that_does_otherwise_than_it_should_stops_the_measurement(monkeypatch):
    class Kernel:
        def run(self, source):
            return Answer(error=source)

    monkeypatch.setattr(classroom, "lecture", lambda number: [("ValueError: no", False)])
    with pytest.raises(RuntimeError, match="lecture 01 must run, got ValueError: no"):
        classroom.run_lecture(Kernel(), "01")
    monkeypatch.setattr(classroom, "lecture", lambda number: [("", True)])
    with pytest.raises(RuntimeError, match="lecture 01 must run, got no error"):
        classroom.run_lecture(Kernel(), "01")


def test_the_committed_results_say_where_they_come_from_and_agree_with_themselves():
    result = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert result["conditions"]["command"] == "python -m benchmarks.classroom --json"
    assert {"load before", "machine", "torch"} <= set(result["conditions"])
    for cost in result["costs"]:
        memory = {who: Memory(**cost.pop(who)) for who in ("server", "kernel")}
        students = cost.pop("students")
        assert classroom.Cost(**cost, **memory).students == students
    drags = result["drags"]
    assert result["ratio"] == drags["together"]["median"] / drags["alone"]["median"]
    assert result["students"] == 10


def test_the_report_names_the_ratio_and_every_moment():
    result = json.loads(RESULTS.read_text(encoding="utf-8"))
    text = classroom.report(result)
    assert [c["moment"] for c in result["costs"] if c["moment"] not in text] == []
    assert f"wait {result['ratio']:.1f} times as long" in text
