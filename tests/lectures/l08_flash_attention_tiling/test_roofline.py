"""Least times against the three quotients they come from, tiles against memory counted by hand."""

import pytest

from course_utils.lectures.l08_flash_attention_tiling.experiments.hardware import GPUS, KB, find_gpu
from course_utils.lectures.l08_flash_attention_tiling.experiments.roofline import (
    attainable_flops,
    cost_table,
    tile_memory,
    time_bound,
)
from course_utils.lectures.l08_flash_attention_tiling.experiments.traffic import (
    Cost,
    naive_forward,
    tiled_forward,
)
from tests.support_errors import raises_saying

A100 = find_gpu("A100 SXM 80GB")
H100 = find_gpu("H100 SXM")


@pytest.mark.parametrize("name", GPUS)
def test_the_busiest_part_sets_the_time(name):
    gpu = GPUS[name]
    second = Cost(int(gpu.tensor_flops), int(gpu.vector_flops), int(gpu.memory_bandwidth), 0)
    for limit, times in (
        ("products", (2, 1, 1)),
        ("vector units", (1, 2, 1)),
        ("memory", (1, 1, 2)),
    ):
        products, other, moved = times
        cost = Cost(
            products * second.matmul_flops, other * second.vector_flops,
            moved * second.bytes_read - 1000, 1000,
        )  # fmt: skip
        bound = time_bound(cost, gpu)
        assert bound.limit == limit and bound.seconds == pytest.approx(2)


@pytest.mark.parametrize("name", GPUS)
def test_under_the_ridge_memory_limits_and_above_it_the_products(name):
    gpu = GPUS[name]
    assert attainable_flops(gpu, gpu.ridge) == pytest.approx(gpu.tensor_flops)
    assert attainable_flops(gpu, gpu.ridge / 4) == pytest.approx(gpu.tensor_flops / 4)
    assert attainable_flops(gpu, gpu.ridge * 4) == gpu.tensor_flops


def test_a_cost_lies_on_the_roof_unless_the_vector_units_hold_it_back():
    for cost in (
        naive_forward(2048, 2048, 128, heads=3),
        tiled_forward(2048, 2048, 128, block_m=64, block_n=64),
        tiled_forward(2048, 2048, 128, block_m=64, block_n=64, cached=True),
    ):
        bound = time_bound(cost, A100)
        assert bound.limit != "vector units"
        rate = cost.matmul_flops / bound.seconds
        assert rate == pytest.approx(attainable_flops(A100, cost.intensity))
    narrow = tiled_forward(4096, 4096, 8, block_m=128, block_n=128, cached=True)
    assert time_bound(narrow, H100).limit == "vector units"


def test_naive_attention_is_bound_by_memory_and_tiles_in_a_cache_are_not():
    sizes = {"T": 4096, "S": 4096, "D": 64, "heads": 64}
    naive = time_bound(naive_forward(**sizes), H100)
    tiled = time_bound(tiled_forward(block_m=128, block_n=128, cached=True, **sizes), H100)
    assert (naive.limit, tiled.limit) == ("memory", "products")
    assert naive.seconds > 9 * tiled.seconds


@pytest.mark.parametrize(
    ("tile", "shared", "registers"),
    [
        # q + 2 stages of k and v, each 128 x 128 of 2 bytes, as Triton allocates for this tile.
        ((128, 128, 128), 160 * KB, 4 * (128 * 128 + 128 * 128 + 2 * 128)),
        ((64, 32, 16), 2 * (64 * 16 + 4 * 32 * 16), 4 * (64 * 32 + 64 * 16 + 2 * 64)),
    ],
)
def test_tile_memory_is_that_of_its_parts(tile, shared, registers):
    memory = tile_memory(*tile)
    assert (memory.shared, memory.registers) == (shared, registers)


def test_what_fits_on_one_gpu_does_not_fit_on_another():
    tile = tile_memory(128, 128, 128)
    fits = [name for name, gpu in GPUS.items() if tile.shared <= gpu.shared_per_block]
    assert fits == ["A100 SXM 80GB", "H100 SXM", "H200 SXM"]
    more = tile_memory(128, 128, 128, stages=3)
    assert more.shared == tile.shared + 2 * 128 * 128 * 2
    assert A100.shared_per_block < more.shared <= H100.shared_per_block
    wide = tile_memory(128, 128, 128, element_size=4)
    assert wide.shared == 2 * tile.shared and wide.registers == tile.registers


def test_the_table_of_costs_says_the_costs():
    lines = cost_table(2048, 2048, 64, block_m=128, block_n=64, causal=True, heads=8).splitlines()
    tiled = tiled_forward(2048, 2048, 64, block_m=128, block_n=64, causal=True, heads=8)
    cells = [cell.strip() for cell in lines[3].split("|")[1:-1]]
    assert cells == [
        "tiled, forward",
        f"{tiled.matmul_flops / 1e9:.2f}",
        f"{tiled.vector_flops / 1e9:.2f}",
        f"{tiled.bytes / 1e6:.0f}",
        f"{tiled.intensity:.0f}",
    ]
    assert {line.count("|") for line in lines} == {6}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: time_bound("cost", H100),
            TypeError,
            "cost must be a Cost, got 'cost' (str)",
        ),
        (
            lambda: attainable_flops("H100", 1.0),
            TypeError,
            "gpu must be a GPU, got 'H100' (str)",
        ),
        (
            lambda: attainable_flops(H100, 0.0),
            ValueError,
            "intensity must be positive, got 0.0",
        ),
        (lambda: tile_memory(0, 1, 1), ValueError, "block_m must be at least 1, got 0"),
    ],
)
def test_bad_input_is_refused_by_name(call, error, message):
    with raises_saying(error, message):
        call()
