"""The benchmarks run, and count what they say; how fast this machine is, no test asks."""

import torch

from benchmarks import moe
from course_utils.layers.moe import MixtureOfExperts
from course_utils.threads import one_thread


def test_experts(tmp_path):
    with one_thread():
        assert moe.main(["--quick", "--threads", "1", "--out", str(tmp_path)]) == 0
    said = (tmp_path / "moe-cpu.md").read_text(encoding="utf-8")
    assert "python -m benchmarks.moe --quick --threads 1 --out OUT" in said
    one, router = 67 * 4 * 16 * 32, 67 * 2 * 16 * 8
    rows = [[cell.strip() for cell in line.split("|")[1:]] for line in said.splitlines()[-3:]]
    work = [2 + router / one, 16 + router / one, 1]
    assert [row[1] for row in rows] == [f"{networks:.2f}" for networks in work]
    assert rows[0][3:5] == ["1.00", "1.00 to 1.00"]


def test_every_expert_is_the_layer():
    layer, x = MixtureOfExperts(5, 11, 7, 3), torch.randn(2, 13, 5)
    torch.testing.assert_close(moe.every_expert(layer, x), layer(x)[0], rtol=0, atol=1e-5)
