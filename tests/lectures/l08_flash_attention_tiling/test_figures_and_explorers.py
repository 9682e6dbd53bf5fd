"""Lecture 08's figures and explorers: what is drawn is what the loop and the formulas say."""

from itertools import pairwise, product

import numpy as np
import pytest
import torch

from course_utils.attention import attend
from course_utils.kernels.trace import trace_tiles
from course_utils.lectures.l08_flash_attention_tiling import figures
from course_utils.lectures.l08_flash_attention_tiling.experiments.hardware import GPUS
from course_utils.lectures.l08_flash_attention_tiling.experiments.roofline import (
    attainable_flops,
    tile_memory,
)
from course_utils.lectures.l08_flash_attention_tiling.experiments.traffic import (
    naive_forward,
    tiled_forward,
)
from course_utils.lectures.l08_flash_attention_tiling.explorers import (
    explore_roofline,
    explore_tile_by_tile,
)
from course_utils.lectures.l08_flash_attention_tiling.explorers.roofline import HEADS, NAMES
from course_utils.lectures.l08_flash_attention_tiling.explorers.tile_by_tile import (
    KEYS,
    QUERIES,
    D,
    N,
    problem,
)
from course_utils.masks import causal_mask
from tests.explorers.support_explorers import overhang

LENGTHS = np.array([512.0, 1024.0, 2048.0])
PEAKS = {"naive": 3 * LENGTHS**2, "tiled": 1000 * LENGTHS}
TIMES = {
    "SDPA": np.array([0.040, 0.050, 0.060]),
    "tiled": np.array([0.020, 0.025, 0.036]),
    "naive": np.array([0.200, 0.300, 0.240]),
}


@pytest.mark.parametrize(
    "picture",
    [
        *(figures.draw_levels(name) for name in GPUS),
        figures.draw_memory(LENGTHS, PEAKS),
        figures.draw_times(TIMES, "SDPA"),
    ],
)
def test_nothing_is_cut_off(picture):
    assert overhang(picture.figure) <= 1


def test_bars_of_the_levels():
    picture = figures.draw_levels("A100 SXM 80GB")
    holds, rates = picture.figure.axes
    sizes = [line.get_xdata()[1] for line in holds.lines]
    assert sizes == [size for _, size, _ in GPUS["A100 SXM 80GB"].levels]
    assert len(rates.lines) == 3, "the registers' rate is not published"
    assert "shared memory 17.3 MB at 19.5 TB/s" in picture.words
    assert "registers 27.0 MB, shared" in picture.words


def test_slopes_of_memory():
    picture = figures.draw_memory(LENGTHS, PEAKS)
    axes = picture.figure.axes[0]
    assert [text.get_text() for text in axes.texts] == ["naive\nslope 2.0", "tiled\nslope 1.0"]
    assert [line.get_ydata().tolist() for line in axes.lines] == [
        values.tolist() for values in PEAKS.values()
    ]
    words = "naive from 786 kB to 12.6 MB, slope 2.0; tiled from 512 kB to 2.05 MB"
    assert words in picture.words


def test_times_are_ratios_run_by_run():
    picture = figures.draw_times(TIMES, "SDPA")
    axes = picture.figure.axes[0]
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == pytest.approx([1, 0.5, 5])  # medians of the ratios, not ratio of medians
    dots = [line.get_xdata().tolist() for line in axes.lines[:3]]
    assert dots[1] == pytest.approx([0.5, 0.5, 0.6])
    assert "SDPA's, which took 50 ms" in picture.words
    assert "tiled 0.50 (0.50 to 0.60)" in picture.words
    assert "naive 5.00 (4.00 to 6.00)" in picture.words


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


def unscaled(steps, v, scores):
    """What comes out when old sums are kept as they are: the mistake of exercise 3."""
    acc, total = torch.zeros(len(scores), v.shape[1]), torch.zeros(len(scores))
    for step in steps:
        rows, keys = list(step.rows), list(step.keys)
        weights = torch.exp(scores[rows][:, keys] - step.m[rows, None])
        acc[rows] += weights @ v[keys]
        total[rows] += weights.sum(1)
    return acc / total[:, None]


def test_the_recorded_loop_is_a_softmax_and_needs_alpha():
    random = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(size, 5, generator=random) for size in (7, 13, 13))
    steps = trace_tiles(q, k, v, block_m=3, block_n=4)
    scores = q @ k.T / 5**0.5
    weights = torch.exp(scores) / torch.exp(scores).sum(1, keepdim=True)
    torch.testing.assert_close(steps[-1].acc / steps[-1].l[:, None], weights @ v)
    assert (unscaled(steps, v, scores) - weights @ v).abs().max() > 0.05


def test_a_step_beyond_the_last_is_the_last(tiles):
    last, beyond = (tiles.compute(step, True, 6) for step in (6, 24))
    assert beyond.step == last.steps == 6 and tiles.caption(beyond) == tiles.caption(last)


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


@pytest.fixture(scope="module")
def roof():
    return explore_roofline()


def chosen(explorer, **values):
    defaults = {name: each.default for name, each in explorer.inputs.items()}
    return explorer.compute(**{**defaults, **values})


def test_the_points_are_the_costs(roof):
    for name, gpu in GPUS.items():
        for width in (16, 128):
            state = chosen(roof, gpu=name, width=width, length=8192, block_m=64, block_n=32)
            sizes = (8192, 8192, width)
            tiles = {"block_m": 64, "block_n": 32, "heads": HEADS}
            naive = naive_forward(*sizes, heads=HEADS)
            assert state.ways[NAMES[0]].bytes == naive.bytes
            for way, cached in zip(NAMES[1:], (False, True), strict=True):
                cost = tiled_forward(*sizes, cached=cached, **tiles)
                assert state.ways[way].bytes == cost.bytes
                assert state.ways[way].intensity == cost.intensity
            for way in state.ways.values():
                top = attainable_flops(gpu, way.intensity)
                assert way.rate <= top * (1 + 1e-9)
                assert (way.rate < top * 0.999) == (
                    way.limit in ("vector units", "special functions")
                )


def test_larger_blocks_move_one_point(roof):
    few, many = (chosen(roof, block_m=block) for block in (16, 256))
    naive, plain, cached = NAMES
    assert few.ways[naive] == many.ways[naive]
    assert few.ways[plain].bytes > 10 * many.ways[plain].bytes
    assert few.ways[cached].bytes == many.ways[cached].bytes


def test_a_tile_that_does_not_fit(roof):
    roof.set(**{**roof.scenes["a graphics card"]})
    tile = tile_memory(128, 128, 128)
    assert roof.state.shared == tile.shared == 160 * 1024
    assert "160 KB of 99 KB of shared memory" in roof.words
    assert "it does not fit, for want of 61 KB of shared memory" in roof.words
    shared, registers = (bar.get_xdata()[1] for bar in roof._shares)
    assert shared == pytest.approx(160 / 99) and registers < 1
    assert [bar.get_color() for bar in roof._shares] == ["#D55E00", "#0072B2"]
    roof.set(**roof.scenes["as in the kernel"])
    assert "it fits" in roof.words


def test_a_short_sequences_matrix_fits(roof):
    for length, fits in ((128, True), (512, True), (1024, False)):
        state = chosen(roof, gpu="H200 SXM", length=length)
        assert (HEADS * length**2 * 2 <= GPUS["H200 SXM"].l2) == fits
        assert ("may do better" in roof.caption(state)) == fits


@pytest.mark.parametrize("name", GPUS)
def test_every_point_is_inside_the_panels(roof, name):
    for length, width, block_m in product((128, 65536), (16, 128), (16, 256)):
        state = chosen(roof, gpu=name, length=length, width=width, block_m=block_m)
        for way in state.ways.values():
            assert 1 < way.intensity < 1e5 and 1e12 < way.rate < 2e15
            assert 1e6 < way.bytes < 1e13 and 1e-7 < way.seconds < 10
