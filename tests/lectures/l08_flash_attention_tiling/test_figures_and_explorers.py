"""Lecture 08's figures and explorers: what is drawn is what the loop and the formulas say."""

from itertools import pairwise, product

import numpy as np
import pytest
import torch

from course_utils.attention import attend
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
    BLANK,
    BLOCKS,
    CAUSAL,
    DEAD,
    DONE,
    EVERY,
    VALUE,
    N,
    problem,
)
from course_utils.masks import causal_mask
from tests.explorers.support_explorers import move, overhang

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


@pytest.mark.parametrize("reads", [EVERY, CAUSAL])
@pytest.mark.parametrize("block_m", BLOCKS)
@pytest.mark.parametrize("block_n", BLOCKS)
def test_the_loop_ends_at_attend(tiles, reads, block_m, block_n):
    causal = reads == CAUSAL
    end = tiles.compute(step=37, reads=reads, block_m=block_m, block_n=block_n)
    assert end.finished and not end.in_hand.any() and (end.out_marks == VALUE).all()
    out = attend(*problem(), may_attend=causal_mask(N) if causal else None)[0]
    torch.testing.assert_close(torch.from_numpy(end.out), out)
    sizes = {"block_m": block_m, "block_n": block_n, "causal": causal, "element_size": 4}
    assert end.moved == end.moved_in_the_end == tiled_forward(N, N, 4, **sizes).bytes
    assert end.naive == naive_forward(N, N, 4, element_size=4).bytes > end.moved


@pytest.mark.parametrize("reads", [EVERY, CAUSAL])
def test_every_step_reads_one_new_tile(tiles, reads):
    block = {"reads": reads, "block_m": 8, "block_n": 6}
    states = [tiles.compute(step=step, **block) for step in range(1, 38)]
    steps = states[0].steps
    visible = np.tri(N, dtype=bool) if reads == CAUSAL else np.ones((N, N), bool)
    before = np.zeros((N, N), bool)
    for state in states[:steps]:
        now = state.score_marks == VALUE
        assert now.any() and not (now & before).any() and not (now & ~visible).any()
        tile = np.s_[state.first_row : state.last_row + 1, state.first_key : state.last_key + 1]
        assert not now[tuple(np.nonzero(before))].any()
        assert (now[tile] == visible[tile]).all() and now.sum() == now[tile].sum()
        before |= now
        rows = np.arange(N)
        assert (state.in_hand == ((rows >= state.first_row) & (rows <= state.last_row))).all()
    assert (before == visible).all()
    moved = [state.moved for state in states]
    assert (np.diff(moved[:steps]) > 0).all() and len(set(moved[steps - 1 :])) == 1
    # A mark is for good: what is dead stays so, what is done stays done.
    for one, other in pairwise(states):
        assert ((one.score_marks == DEAD) == (other.score_marks == DEAD)).all()
        assert ((one.score_marks != DONE) | (other.score_marks == DONE)).all()
    assert (states[-1].score_marks != BLANK).all()


def test_m_and_l_of_the_keys_so_far(tiles):
    q, k, _ = problem()
    scores = (q @ k.mT / 2).numpy()  # the root of a width of 4
    state = tiles.compute(step=6, reads=EVERY, block_m=8, block_n=6)
    seen = scores[8:16, :12]
    assert np.allclose(state.m[8:16], seen.max(1), atol=1e-6)
    assert np.allclose(state.l[8:16], np.exp(seen - seen.max(1, keepdims=True)).sum(1), atol=1e-5)
    rose = seen[:, 6:].max(1) > seen[:, :6].max(1)
    assert state.rose[8:16].tolist() == rose.tolist() and state.rose.sum() == rose.sum()
    move(tiles, step=6)
    assert f"The maximum of {rose.sum()} of 8 queries rose" in tiles.words
    assert not state.touched[16:].any() and (state.m[16:] == 0).all()


def test_the_drawing_is_the_state(tiles):
    tiles.set(step=5, reads=CAUSAL, block_m=8, block_n=6)
    state = tiles.state
    assert tiles._frame.get_bbox().bounds == (11.5, 7.5, 4, 8)
    x, y = tiles._l[1].get_data()
    assert np.allclose(x.reshape(-1, 3)[:, 1], state.l[8:16])
    assert y.reshape(-1, 3)[:, 0].tolist() == list(range(8, 16))
    assert tiles._moved.get_xdata()[1] == state.moved
    key, query = tiles._hidden.get_data()
    assert (key > query).all() and len(key) == 3 * 28  # above the diagonal of 3 blocks of 8
    assert "Dead tiles skipped so far: 3" in tiles.words


def test_a_mark_takes_the_place_of_a_number(tiles):
    tiles.set(step=1, reads=CAUSAL, block_m=8, block_n=6)
    levels = tiles._grid._levels
    assert (levels[:8, :6][np.tri(8, 6, dtype=bool)] >= 3).all(), "numbers keep off the marks"
    assert (levels[:8, 8:] == DEAD).all() and (levels[8:16, :16] == BLANK).all()


def test_the_views_hold_every_bar(tiles):
    for reads, block_m, block_n in product((EVERY, CAUSAL), BLOCKS, BLOCKS):
        for step in range(1, 38):
            state = tiles.compute(step, reads, block_m, block_n)
            assert state.m.min() > -2 and state.m.max() < 6 and state.l.max() < 8


def test_the_scenes_show_what_they_say(tiles):
    scenes = tiles.scenes
    first, rise, last, causal, done = (tiles.compute(**scene) for scene in scenes.values())
    assert first.step == 1 and (first.alpha[first.in_hand] == 0).all()
    assert rise.rose.sum() > 4 and (rise.alpha[rise.rose] > 0).all()
    assert last.step == last.steps and not last.finished and last.ends_block
    assert causal.skipped > 0 and done.finished and done.moved < last.moved


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
