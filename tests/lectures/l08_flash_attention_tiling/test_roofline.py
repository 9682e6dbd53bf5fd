"""Least times against the four quotients they come from."""

import pytest

from course_utils.kernels.gpus import GPUS
from lectures.l08_flash_attention_tiling.experiments.roofline import least_times
from lectures.l08_flash_attention_tiling.experiments.traffic import (
    Cost,
    naive_forward,
    tiled_forward,
)

A100 = GPUS["A100 SXM 80GB"]
H100 = GPUS["H100 SXM"]


@pytest.mark.parametrize("name", GPUS)
def test_the_busiest_part_sets_the_time(name):
    gpu = GPUS[name]
    rates = (gpu.tensor_flops, gpu.vector_flops, gpu.special_rate, gpu.memory_bandwidth)
    for busiest, limit in enumerate(("products", "vector units", "special functions", "memory")):
        amounts = [int(rate) * (1 + (part == busiest)) for part, rate in enumerate(rates)]
        times = least_times(Cost(*amounts[:3], amounts[3] - 1000, 1000), gpu)
        assert {part: round(seconds, 6) for part, seconds in times.items() if seconds > 1.5} == {
            limit: 2
        }


@pytest.mark.parametrize(("gpu", "width"), [(A100, 32), (H100, 64), (GPUS["RTX 4090"], 8)])
def test_the_width_at_which_exp_takes_as_long_as_the_products(gpu, width):
    assert gpu.tensor_flops / (4 * gpu.special_rate) == pytest.approx(width, rel=0.002)
    tiles = {"block_m": 128, "block_n": 128, "cached": True}
    at, below, above = (
        least_times(tiled_forward(4096, 4096, D, **tiles), gpu)
        for D in (width, width // 2, 2 * width)
    )
    assert at["special functions"] == pytest.approx(at["products"], rel=0.01)
    assert below["special functions"] > 1.9 * below["products"]
    assert above["products"] > 1.9 * above["special functions"]


def test_memory_limits_the_naive_form():
    sizes = {"T": 4096, "S": 4096, "D": 64, "heads": 64}
    naive = least_times(naive_forward(**sizes), H100)
    tiled = least_times(tiled_forward(block_m=128, block_n=128, cached=True, **sizes), H100)
    assert max(naive, key=naive.get) == "memory"
    assert max(tiled, key=tiled.get) == "special functions"  # and the products nearly
    assert max(naive.values()) > 9 * max(tiled.values())
