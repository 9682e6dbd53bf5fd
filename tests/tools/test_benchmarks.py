"""The benchmarks run, and count what they say; how fast this machine is, no test asks."""

import json
import mmap
import os
from pathlib import Path

import pytest
import torch

from benchmarks import classroom, moe
from benchmarks._student import Memory, memory_of
from course_utils.layers.moe import MixtureOfExperts
from course_utils.threads import one_thread


def test_experts(tmp_path, capsys):
    with one_thread():
        assert moe.main(["--quick", "--threads", "1", "--out", str(tmp_path)]) == 0
    result = json.loads((tmp_path / "moe-cpu.json").read_text(encoding="utf-8"))
    assert result["conditions"]["command"].endswith("--quick --threads 1 --out OUT")
    one, router = 67 * 4 * 16 * 32, 67 * 2 * 16 * 8
    assert result["flops"] == {
        "dispatch": 2 * one + router, "every expert": 16 * one + router, "one network": one,
    }  # fmt: skip
    assert result["times_dispatch"]["dispatch"] == [1.0, 1.0, 1.0]
    assert "16.12" in capsys.readouterr().out, "networks' work"


def test_every_expert_is_the_layer():
    layer, x = MixtureOfExperts(5, 11, 7, 3), torch.randn(2, 13, 5)
    torch.testing.assert_close(moe.every_expert(layer, x), layer(x)[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize(("own", "shared", "fit"), [(100, 0, 225), (500, 1000, 43), (22528, 0, 1)])
def test_how_many_students_fit(own, shared, fit):
    """24 GiB less 2 GiB are 22,528 MiB."""
    some = Memory(rss=11, pss=7, uss=5, data=13)
    assert classroom.Cost("then", some, some, own, shared).students == fit


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="reads Linux's /proc")
def test_memory_of_a_process():
    before = memory_of(os.getpid())
    with mmap.mmap(-1, 64 * 2**20) as held:  # straight from the system: no memory freed before
        held.write(b"x" * 64 * 2**20)
        after = memory_of(os.getpid())
    assert after.uss - before.uss > 60 and after.rss - before.rss > 60
    assert after.uss <= after.pss <= after.rss


def test_the_classroom_report():
    results = Path(classroom.__file__).parent / "results" / "classroom.json"
    result = json.loads(results.read_text(encoding="utf-8"))
    text = classroom.report(result)
    assert all(cost["moment"] in text for cost in result["costs"])
