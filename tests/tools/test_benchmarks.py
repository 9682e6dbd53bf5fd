"""The benchmarks run, and count what they say; how fast this machine is, no test asks."""

import json

import torch

from benchmarks import moe
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
