"""The benchmark of the mixture of experts: what it counts and says, not how fast this is."""

import json
import math

import pytest
import torch

from benchmarks import moe
from course_utils.layers.moe import MixtureOfExperts


def test_it_writes_what_it_measured(tmp_path, capsys):
    assert moe.main(["--quick", "--threads", "1", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    result = json.loads((tmp_path / "moe-cpu.json").read_text(encoding="utf-8"))
    assert said.strip() == (tmp_path / "moe-cpu.md").read_text(encoding="utf-8").strip()
    assert result["conditions"]["command"].endswith("--quick --threads 1 --out OUT")
    assert str(tmp_path) not in said
    one, router = 67 * 4 * 16 * 32, 67 * 2 * 16 * 8
    assert result["flops"] == {
        "dispatch": 2 * one + router, "every expert": 16 * one + router, "one network": one,
    }  # fmt: skip
    assert result["difference"] <= 1e-5 and result["rounds"] == 3
    numbers = [
        number
        for spreads in (result["milliseconds"], result["times_dispatch"])
        for spread in spreads.values()
        for number in spread.values()
    ]
    assert len(numbers) == 18 and all(math.isfinite(x) and x > 0 for x in numbers)
    assert result["times_dispatch"]["dispatch"] == {"median": 1.0, "q1": 1.0, "q3": 1.0}
    assert "16.12" in said and "Goal: every expert" in said


def test_as_json(tmp_path, capsys):
    assert moe.main(["--quick", "--threads", "1", "--json", "--out", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["sizes"]["num_experts"] == 8


@pytest.mark.parametrize("what", ["wrong", "slow"])
def test_a_wrong_or_a_slow_layer_is_no_success(tmp_path, monkeypatch, what):
    found = moe.measure(moe.Sizes(tokens=7, width=4, hidden=5), 0.0, 3)
    if what == "wrong":
        found["difference"] = 1e-3
    found["times_dispatch"]["every expert"]["median"] = 1.9 if what == "slow" else 7.0
    monkeypatch.setattr(moe, "measure", lambda *_: found)
    assert moe.main(["--out", str(tmp_path)]) == 1
    said = (tmp_path / "moe-cpu.md").read_text(encoding="utf-8")
    assert ("not met" in said) == (what == "slow")


def test_every_expert_is_the_layer():
    layer, x = MixtureOfExperts(5, 11, 7, 3), torch.randn(2, 13, 5)
    torch.testing.assert_close(moe.every_expert(layer, x), layer(x)[0], rtol=0, atol=1e-5)
    layer.normalise = False
    torch.testing.assert_close(moe.every_expert(layer, x), layer(x)[0], rtol=0, atol=1e-5)


def test_no_thread_is_refused(capsys):
    with pytest.raises(SystemExit):
        moe.main(["--threads", "0"])
    assert "--threads must be at least 1, got 0" in capsys.readouterr().err
