"""Lecture 08's explorers: what is drawn is what the loop and the formulas say."""

from itertools import pairwise, product

import numpy as np
import pytest
import torch

from course_utils.attention import attend
from course_utils.kernels.gpus import GPUS, KB
from course_utils.masks import causal_mask
from lectures.l08_flash_attention_tiling.experiments.roofline import least_times
from lectures.l08_flash_attention_tiling.experiments.traffic import (
    naive_forward,
    tiled_forward,
)
from lectures.l08_flash_attention_tiling.explorers import (
    explore_addresses,
    explore_roofline,
    explore_tile_by_tile,
)
from lectures.l08_flash_attention_tiling.explorers.addresses import BLOCK, COLUMNS, ROWS
from lectures.l08_flash_attention_tiling.explorers.tile_by_tile import (
    KEYS,
    QUERIES,
    D,
    N,
    problem,
)
from tests.explorers.support_browser import InBrowser, cases, differences

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

HEADS = 64  # batch times heads
TOKENS = explore_roofline.inputs["length"].values
UNITS = {"products": "tensor cores", "vector units": "vector units",
         "special functions": "exps", "memory": "memory"}  # fmt: skip


@pytest.fixture(scope="module")
def roof():
    with InBrowser(explore_roofline()) as found:
        yield found


def costs_of(width, block_m, block_n, length, group):
    """The costs of the four points."""
    sizes = {"S": length, "D": width, "block_n": block_n}
    whole = {**sizes, "T": length, "block_m": block_m, "heads": HEADS}
    return (
        naive_forward(length, length, width, heads=HEADS),
        tiled_forward(**whole),
        tiled_forward(**whole, cached=True),
        # The queries of the heads that share a key are a block of their own.
        tiled_forward(**sizes, T=group, block_m=group, heads=HEADS // group),
    )


def by_the_costs(gpu, width, block_m, block_n, length, decoding, group):
    chip = GPUS[gpu]
    costs = costs_of(width, block_m, block_n, length, group)
    times = np.array([list(least_times(cost, chip).values()) for cost in costs])
    return {
        "bandwidth": chip.memory_bandwidth,
        "tensor": chip.tensor_flops,
        "exps": costs[1].matmul_flops / costs[1].special_results * chip.special_rate,
        "intensity": [cost.intensity for cost in costs],
        "rate": [cost.matmul_flops for cost in costs] / times.max(1),
        "limit": times.argmax(1),
        "sms": chip.num_sms,
        "shared": 2 * width * (block_m + 2 * 2 * block_n),
        "shared_limit": chip.shared_per_block,
        "registers": 4 * block_m * (block_n + width + 2),
        "registers_limit": chip.registers_per_sm,
    }


def by_the_clock(gpu, width, block_m, block_n, length, decoding, group):
    """Seconds: so short that a millionth of one would hide a difference."""
    costs = costs_of(width, block_m, block_n, length, group)
    return [max(least_times(cost, GPUS[gpu]).values()) for cost in costs]


def test_the_points_are_the_costs(roof):
    assert differences(roof, by_the_costs) == []
    tried = cases(roof.explorer)
    for values, state in zip(tried, roof.states(tried), strict=True):
        np.testing.assert_allclose(state.seconds, by_the_clock(**values), rtol=1e-9)
        under = np.minimum(state.tensor, state.intensity * state.bandwidth)
        np.testing.assert_allclose(state.rate, np.minimum(under, state.exps), rtol=0.02)


@pytest.mark.parametrize("name", GPUS)
def test_what_limits_in_words(roof, name):
    values = {**roof.explorer.values, "gpu": name}
    for width in (16, 128):
        values["width"] = width
        state, decoding = roof.states([values, {**values, "decoding": True}])
        sizes = {each: values[each] for each in ("width", "block_m", "block_n", "length", "group")}
        times = [least_times(cost, GPUS[name]) for cost in costs_of(**sizes)]
        limits = [UNITS[max(each, key=each.__getitem__)] for each in times]
        ways = [part.rsplit(" (", 1)[1] for part in state.words.split(")")[:3]]
        assert ways == limits[:3]
        assert f"limited by {limits[3]}." in decoding.words


def test_larger_blocks_move_one_point(roof):
    few, many, square = roof.states(
        [{"block_m": 16}, {"block_m": 256}, {"block_m": 256, "block_n": 256}]
    )
    assert few.intensity[0] == many.intensity[0]
    assert few.intensity[1] < many.intensity[1] / 10
    assert few.intensity[2] == many.intensity[2]
    assert np.array_equal(many.intensity, square.intensity)


def test_decoding_does_as_many_flops_a_byte_as_queries_share_a_key(roof):
    for group in (1, 2, 4, 8):
        state = roof.compute(group=group, decoding=True)
        assert state.intensity[3] == pytest.approx(group, rel=0.01)
        assert "limited by memory." in state.words


def test_a_tile_that_does_not_fit(roof):
    fitting, large, card = roof.states(
        [{}, *(roof.explorer.presets[name] for name in ("a tile too large", "a graphics card"))]
    )
    assert large.registers - large.registers_limit == 2 * 1024 and large.shared < large.shared_limit
    assert card.shared == 160 * 1024 > card.shared_limit
    said = [state.words.endswith("The tile does not fit.") for state in (fitting, large, card)]
    assert said == [False, True, True]


@pytest.mark.parametrize(
    ("tile", "shared", "registers"),
    [
        # q + 2 stages of k and v, each 128 x 128 of 2 bytes, as Triton allocates for this tile.
        ((128, 128, 128), 160 * KB, 4 * (128 * 128 + 128 * 128 + 2 * 128)),
        ((64, 32, 16), 2 * (64 * 16 + 4 * 32 * 16), 4 * (64 * 32 + 64 * 16 + 2 * 64)),
    ],
)
def test_tile_memory_adds_up(roof, tile, shared, registers):
    state = roof.compute(**dict(zip(("block_m", "block_n", "width"), tile, strict=True)))
    assert (state.shared, state.registers) == (shared, registers)


def test_no_cache_holds_the_matrices_that_are_said_to_move():
    """From the shortest text on, the naive form's passes cannot meet in the L2 cache."""
    assert all(HEADS * min(TOKENS) ** 2 * 2 > gpu.l2 for gpu in GPUS.values())


@pytest.mark.parametrize("name", GPUS)
def test_the_cache_holds_k_and_v_of_the_heads_at_work(name):
    chip = GPUS[name]
    for length, width, block_m in product(TOKENS, (16, 128), (16, 128)):
        at_work = min(HEADS, -(-chip.num_sms // -(-length // block_m)))
        assert at_work * 2 * 2 * length * width <= chip.l2


@pytest.mark.parametrize("name", GPUS)
def test_every_point_is_inside_the_plot(roof, name):
    corners = product((1024, 65536), (16, 128), (16, 256))
    names = ("length", "width", "block_m")
    for state in roof.states(
        [{"gpu": name, **dict(zip(names, each, strict=True))} for each in corners]
    ):
        assert (state.intensity > 0.6).all() and (state.intensity < 6e4).all()
        assert (state.rate > 7e11).all() and state.exps < 4e15


# Addresses


def places_by_torch(row, column, entry, stride, masked):
    """Where the numbers of a tile are, from a view that knows its strides."""
    memory = torch.arange(4 * ROWS * stride)
    matrix = memory.as_strided((ROWS, COLUMNS), (stride, 1))
    tile = memory.as_strided((BLOCK, BLOCK), (stride, 1), row * stride + column)
    exists = torch.zeros(BLOCK, BLOCK, dtype=torch.bool)
    inside = matrix[row : row + BLOCK, column : column + BLOCK]
    exists[: inside.shape[0], : inside.shape[1]] = True
    assert torch.equal(tile[exists], inside.flatten())
    return {
        "places": tile.numpy(),
        "exists": exists.numpy(),
        "used": (exists | (not masked)).numpy(),
        "size": ROWS * stride,
    }


@pytest.fixture(scope="module")
def addresses():
    with InBrowser(explore_addresses()) as browser:
        yield browser


def test_places_are_those_of_a_strided_view(addresses):
    assert differences(addresses, places_by_torch) == []


def test_what_a_tile_without_a_mask_takes_is_counted(addresses):
    corner = {"row": ROWS - 1, "column": COLUMNS - 1, "masked": False}
    (state,) = addresses.states([{**addresses.explorer.presets["first tile"], **corner}])
    places = {int(p) for p, e in zip(state.places, state.exists, strict=True) if not e}
    outside = sum(place >= ROWS * COLUMNS for place in places)
    assert (len(places), outside) == (15, 15)
    assert "No mask: 0 are numbers of other rows, 15 beyond the end." in state.words
