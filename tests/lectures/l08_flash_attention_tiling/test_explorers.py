"""Lecture 08's explorers: what is drawn is what the loop and the formulas say."""

from itertools import pairwise, product

import numpy as np
import pytest
import torch

from course_utils.attention import attend
from course_utils.kernels.gpus import GPUS
from course_utils.masks import causal_mask
from lectures.l08_flash_attention_tiling.experiments.roofline import (
    least_times,
    tile_memory,
)
from lectures.l08_flash_attention_tiling.experiments.traffic import (
    naive_forward,
    tiled_forward,
)
from lectures.l08_flash_attention_tiling.explorers import (
    explore_roofline,
    explore_tile_by_tile,
)
from lectures.l08_flash_attention_tiling.explorers.roofline import (
    HEADS,
    LIMITS,
)
from lectures.l08_flash_attention_tiling.explorers.tile_by_tile import (
    KEYS,
    QUERIES,
    D,
    N,
    problem,
)

# Tile by tile


@pytest.fixture(scope="module")
def tiles():
    return explore_tile_by_tile()


def walk(tiles, causal, queries):
    """The states of all steps, first to last."""
    first = tiles.compute(step=1, causal=causal, queries=queries)
    return [tiles.compute(step, causal, queries) for step in range(1, first.steps + 1)]


CHOICES = pytest.mark.parametrize(
    ("causal", "queries"), list(product((False, True), QUERIES)), ids=str
)


@CHOICES
def test_the_loop_ends_at_attend(tiles, causal, queries):
    end = walk(tiles, causal, queries)[-1]
    out = attend(*problem(), may_attend=causal_mask(N) if causal else None)[0]
    assert end.finished == N
    torch.testing.assert_close(torch.from_numpy(end.out), out)
    sizes = {"block_m": queries, "block_n": KEYS, "causal": causal, "element_size": 4}
    cost = tiled_forward(N, N, D, **sizes)
    assert (end.read, end.written) == (cost.bytes_read, cost.bytes_written)
    assert end.moved_in_the_end == cost.bytes
    assert end.naive == naive_forward(N, N, D, element_size=4).bytes > cost.bytes


@CHOICES
def test_every_visible_score_is_on_the_chip_once(tiles, causal, queries):
    q, k, _ = problem()
    scores = (q @ k.mT / D**0.5).numpy()
    visits = np.zeros((N, N), int)
    for state in walk(tiles, causal, queries):
        rows, keys = state.scores.shape
        tile = np.s_[
            state.first_row : state.first_row + rows, state.first_key : state.first_key + keys
        ]
        seen = ~state.hidden
        visits[tile] += seen
        assert np.allclose(state.scores[seen], scores[tile][seen], atol=1e-6)
        assert state.order[state.first_row // queries, state.first_key // KEYS] == state.step
    assert (visits == (np.tri(N) if causal else 1)).all()
    skipped = (state.order == 0).sum()
    assert state.skipped == skipped == state.order.size - state.steps
    assert (skipped > 0) == causal


@CHOICES
def test_old_sums_are_rescaled_before_new_ones_are_added(tiles, causal, queries):
    v = problem()[2].numpy()
    without = []
    for before, after in pairwise(walk(tiles, causal, queries)):
        if after.starts:
            continue
        values = v[after.first_key : after.first_key + after.scores.shape[1]]
        new_l, new_acc = after.weights.sum(1), after.weights @ values
        assert np.allclose(after.l, after.alpha * before.l + new_l, atol=1e-5)
        assert np.allclose(after.acc, after.alpha[:, None] * before.acc + new_acc, atol=1e-5)
        assert (after.rose == (after.m > before.m)).all()
        assert ((after.alpha < 1) == after.rose).all()
        without.append(np.isclose(after.l, before.l + new_l, atol=1e-3) == ~after.rose)
    assert np.concatenate(without).all(), "wrong exactly where a maximum rose"


def test_the_presets_show_what_they_say(tiles):
    first, rise, last, causal, larger = (
        tiles.compute(**preset) for preset in tiles.presets.values()
    )
    assert first.step == 1 and first.starts and (first.alpha == 0).all()
    assert 0 < rise.rose.sum() < len(rise.rose) and (rise.alpha[rise.rose] > 0).all()
    assert last.step == last.steps == 12 and last.finished == N
    assert causal.skipped == 3 and causal.hidden.any()
    assert larger.step == larger.steps and larger.read < last.read


# Roofline

TOKENS = explore_roofline.inputs["length"].values
UNITS = {"products": "tensor cores", "special functions": "exps", "memory": "memory"}


@pytest.fixture(scope="module")
def roof():
    return explore_roofline()


def chosen(explorer, **values):
    return explorer.compute(**{**explorer.values, **values})


def test_the_points_are_the_costs(roof):
    for name, gpu in GPUS.items():
        for width in (16, 128):
            state = chosen(roof, gpu=name, width=width, length=8192, block_m=64, block_n=32)
            sizes = {"S": 8192, "D": width, "block_n": 32, "heads": HEADS}
            costs = (
                naive_forward(8192, 8192, width, heads=HEADS),
                tiled_forward(T=8192, block_m=64, **sizes),
                tiled_forward(T=8192, block_m=64, cached=True, **sizes),
                tiled_forward(T=1, block_m=1, **sizes),
            )
            for way, cost in enumerate(costs):
                times = least_times(cost, gpu)
                limit = max(times, key=times.__getitem__)
                assert state.intensity[way] == cost.intensity
                assert state.seconds[way] == pytest.approx(times[limit])
                assert LIMITS[state.limit[way]] == UNITS[limit]
                top = min(gpu.tensor_flops, cost.intensity * gpu.memory_bandwidth)
                assert state.rate[way] == pytest.approx(min(top, state.exps), rel=0.02)


def test_larger_blocks_move_one_point(roof):
    few, many = (chosen(roof, block_m=block) for block in (16, 256))
    assert few.intensity[0] == many.intensity[0]
    assert few.intensity[1] < many.intensity[1] / 10
    assert few.intensity[2] == many.intensity[2]
    assert np.array_equal(many.intensity, chosen(roof, block_m=256, block_n=256).intensity)


def test_decoding_does_as_many_flops_a_byte_as_queries_share_a_key(roof):
    for group in (1, 2, 4, 8):
        state = chosen(roof, group=group, decoding=True)
        assert state.intensity[3] == pytest.approx(group, rel=0.01)
        assert LIMITS[state.limit[3]] == "memory"


def test_a_tile_that_does_not_fit(roof):
    large, card = (
        roof.compute(**{**roof.values, **roof.presets[name]})
        for name in ("a tile too large", "a graphics card")
    )
    assert large.registers - large.registers_limit == 2 * 1024 and large.shared < large.shared_limit
    assert card.shared == tile_memory(128, 128, 128).shared == 160 * 1024 > card.shared_limit
    assert roof.caption(large) != roof.caption(chosen(roof, width=128, block_m=128, block_n=128))


def test_no_cache_holds_the_matrices_that_are_said_to_move():
    """From the shortest text on, the naive form's passes cannot meet in the L2 cache."""
    assert all(HEADS * min(TOKENS) ** 2 * 2 > gpu.l2 for gpu in GPUS.values())


@pytest.mark.parametrize("name", GPUS)
def test_the_cache_holds_k_and_v_of_the_heads_at_work(roof, name):
    chip = GPUS[name]
    for length, width, block_m in product(TOKENS, (16, 128), (16, 128)):
        at_work = min(HEADS, -(-chip.num_sms // -(-length // block_m)))
        assert at_work * 2 * 2 * length * width <= chip.l2


@pytest.mark.parametrize("name", GPUS)
def test_every_point_is_inside_the_plot(roof, name):
    for length, width, block_m in product((1024, 65536), (16, 128), (16, 256)):
        state = chosen(roof, gpu=name, length=length, width=width, block_m=block_m)
        assert (state.intensity > 0.6).all() and (state.intensity < 6e4).all()
        assert (state.rate > 7e11).all() and state.exps < 4e15
