"""Lecture 03's figures and explorer: the split into heads, against plain torch and gradients."""

import numpy as np
import pytest
import torch

from course_utils.attention import attend
from course_utils.lectures.l03_heads import figures as figures_03
from course_utils.lectures.l03_heads.explorers.cells import COLOURS, GAP, TITLE, block_grid
from course_utils.lectures.l03_heads.explorers.split import (
    ATTENTION,
    CHANNEL,
    HEAD,
    HEADS,
    STEPS,
    STRAIGHT,
    TOKEN,
    TOKENS,
    TURNED,
    WIDTHS,
    SplitSteps,
    causal_reach,
    part_of,
    trace,
)
from course_utils.masks import causal_mask
from tests.explorers.support_explorers import move
from tests.explorers.test_viz_figures import overhang

SIZES = [
    (T, H, D) for T in range(TOKENS[0], TOKENS[1] + 1) for H in HEADS for D in WIDTHS
]  # all that the sliders reach
WAYS = {
    "right": {"wrong": False},
    "turned": {"wrong": True, "back": TURNED},
    "straight": {"wrong": True, "back": STRAIGHT},
}


# The steps


def test_the_right_split_gives_head_h_piece_h_of_every_token():
    for T, H, D in SIZES:
        plain, by_token, by_head, *later = (side.places for side in trace(T, H, D, wrong=False))
        for t, h, d in np.ndindex(T, H, D):
            # Written out by index, without a view: x holds this element at (t, h * D + d).
            number = (t * H + h) * D + d
            assert plain[0, t, h * D + d] == by_token[t, h, d] == by_head[h, t, d] == number
        for one, other in zip(later, (by_head, by_token, plain), strict=True):
            assert np.array_equal(one, other), "and the same way back"


def test_the_wrong_view_puts_piece_after_piece():
    for T, H, D in SIZES:
        for back in (TURNED, STRAIGHT):
            heads = trace(T, H, D, wrong=True, back=back)[2].places
            h, t, d = np.indices((H, T, D))
            # The rule that the lecture states: row t of head h is token (hT + t) // H.
            assert np.array_equal(part_of(heads, TOKEN, H, D), (h * T + t) // H)
            assert np.array_equal(part_of(heads, HEAD, H, D), (h * T + t) % H)
            assert np.array_equal(part_of(heads, CHANNEL, H, D), d)
            right = trace(T, H, D, wrong=False)[2].places
            assert np.array_equal(heads, right) == (H == 1)


@pytest.mark.parametrize("way", WAYS)
def test_memory_and_strides_are_those_of_real_tensors(way):
    T, H, D = 5, 3, 2
    steps = trace(T, H, D, **WAYS[way])
    for step in steps:
        assert sorted(step.memory) == list(range(T * H * D))
        # What a stride means: so many places on in memory for one on along the axis.
        read = np.lib.stride_tricks.as_strided(
            step.memory, step.shape, [8 * stride for stride in step.strides]
        )
        assert np.array_equal(read.reshape(step.places.shape), step.places)
    moved = [STEPS[i] for i, step in enumerate(steps) if step.moved]
    assert moved == ["attention"] + ["join"] * (way != "straight")
    assert [step.memory.tolist() == list(range(30)) for step in steps[:3]] == [True] * 3


def test_view_alone_is_refused_where_the_right_way_back_copies():
    out = torch.zeros(3, 5, 2)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        out.transpose(0, 1).view(5, 6)
    assert out.transpose(0, 1).reshape(5, 6).data_ptr() != out.data_ptr()


# Who reads whom, by gradients of a real attention


def real_reach(T, H, D, *, wrong, back=TURNED):
    """Which tokens the output of each depends on: gradients of attention with random weights."""
    C = H * D
    random = torch.Generator().manual_seed(0)
    x = torch.randn(T, C, generator=random, dtype=torch.float64, requires_grad=True)
    # Projections that keep each number to itself, so that nothing mixes but the split.
    q, k, v = (x * torch.randn(C, generator=random, dtype=torch.float64) for _ in "qkv")

    def split(y):
        return y.view(H, T, D) if wrong else y.view(T, H, D).transpose(0, 1)

    out, _ = attend(split(q), split(k), split(v), may_attend=causal_mask(T))
    straight = wrong and back == STRAIGHT
    joined = out.reshape(T, C) if straight else out.transpose(0, 1).reshape(T, C)
    reach = [torch.autograd.grad(row.sum(), x, retain_graph=True)[0] for row in joined]
    return (torch.stack(reach).abs().sum(-1) > 0).numpy()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("T", "H"), [(T, H) for T in (2, 3, 5, 6) for H in HEADS])
def test_the_small_map_is_what_gradients_show(way, T, H):
    expected = real_reach(T, H, 3, **WAYS[way])
    assert np.array_equal(causal_reach(trace(T, H, 3, **WAYS[way]), H, 3), expected)
    future = np.triu(expected, 1).any()
    assert future == (way == "turned" and H > 1), "only one of the two ways back leaks"
    if way == "right":
        assert np.array_equal(expected, np.tri(T, dtype=bool))
    if way == "straight" and T % H == 0:
        assert not expected[T // H :, : T // H].any(), "blocks of T / H tokens, closed"


# The explorer


@pytest.fixture(scope="module")
def split():
    return SplitSteps()


def test_the_words_name_the_rows_of_head_0(split):
    split.set(step=2, tokens=5, heads=2, width=3, colour_by=TOKEN, back=TURNED)
    assert "head 0's rows hold tokens 0, 0, 1, 1, 2, so it never sees tokens 3 and 4" in split.words
    assert "6 of 30 numbers are in their place" in split.words
    assert "moves nothing in memory" in split.words
    move(split, tokens=3)
    assert "hold tokens 0, 0, 1, so it never sees token 2." in split.words
    move(split, heads=1)
    assert "With one head the wrong order is right" in split.words
    split.set(step=5, tokens=5, heads=2, back=TURNED)
    assert "token 0 gets what tokens 0 and 2 asked for: it sees the future" in split.words
    assert "the reshape writes a new memory" in split.words
    move(split, back=STRAIGHT)
    assert "head 0 has mixed tokens 0, 1 and 2 and no other" in split.words


@pytest.mark.parametrize("step", range(len(STEPS)))
def test_the_words_are_sentences_at_every_size(split, step):
    for T, H, D in SIZES:
        for back in (TURNED, STRAIGHT):
            words = split.caption(split.compute(step, T, H, D, TOKEN, back))
            assert "tokens  " not in words and "..  " not in words
            assert "never sees tokens ." not in words and "1 pieces" not in words


def test_the_squares_fit_their_axes_and_titles_do_not_touch():
    for T, H, D in SIZES:
        for step in (*trace(T, H, D, wrong=False), *trace(T, H, D, wrong=True)):
            title = TITLE * bool(step.blocks)
            blocks, rows, columns = step.places.shape
            across, side = block_grid(step.places.shape, title, 276, 289)
            down = -(-blocks // across)
            assert side >= 14, "a digit still fits"
            assert across * columns * side + (across - 1) * GAP <= 276
            assert down * (rows * side + title) + (down - 1) * GAP <= 289
            assert not title or columns * side + GAP > 52, "“token 0” is 49 pixels wide"


def test_every_number_has_a_colour():
    assert len(COLOURS) >= max(TOKENS[1], *HEADS, *WIDTHS)


def test_squares_show_the_colour_of_their_token(split):
    split.set(step=2, tokens=5, heads=2, width=3, colour_by=TOKEN, back=TURNED)
    right, wrong = (blocks._pixels for blocks in split._blocks)
    corners = [TITLE + 2 + 44 * row for row in range(5)]  # squares of 44 pixels
    firsts = [tuple(right[y, 2, :3]) for y in corners]
    assert len(set(firsts)) == 5, "five tokens, five colours"
    held = [tuple(wrong[y, 2, :3]) for y in corners]
    assert held[0] == firsts[0] and held[2] == firsts[1] and held[4] == firsts[2]
    assert len(set(held)) == 5, "the second piece of a token is paler"
    assert np.array_equal(split._memory[0]._pixels, split._memory[1]._pixels)
    move(split, step=5)
    assert not np.array_equal(split._memory[0]._pixels, split._memory[1]._pixels)
    assert all(artist.get_visible() for artist in split._reach)
    move(split, step=ATTENTION - 1)
    assert not any(artist.get_visible() for artist in split._reach)


# Static figures

RANDOM = np.random.default_rng(0)
VALUES = {
    heads: np.r_[np.linspace(9, 5, 12 // heads), np.full(17 - 12 // heads, 1e-15)]
    for heads in (1, 2, 4)
}
AT = np.array([0, 100, 200, 300])
SCORES = {
    1: np.array([[0.1, 0.3, 0.4, 0.5], [0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.7]]),
    2: np.array([[0.1, 0.6, 0.9, 1.0]] * 3),
    4: np.array([[0.1, 0.5, 0.9, 0.99]] * 3),
}
SOURCE, TARGET = list("12 March"), ["03", "-", "12"]
WEIGHTS = RANDOM.dirichlet(np.ones(8), 3)
CHANGES = np.linspace(1, 72, 72).reshape(6, 12) / 1000
FIGURES = {
    "singular values": lambda: figures_03.draw_singular_values(VALUES, 12),
    "scores": lambda: figures_03.draw_head_scores(SCORES, AT),
    "alignment": lambda: figures_03.draw_alignment(WEIGHTS, SOURCE, TARGET),
    "long words": lambda: figures_03.draw_alignment(
        np.full((19, 23), 1 / 23), ["September"] * 23, ["transformer"] * 19
    ),
    "pruning": lambda: figures_03.draw_pruning(CHANGES, [(3, 1)]),
}


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_cut_off(name):
    assert overhang(FIGURES[name]()) <= 1


def test_singular_values_are_drawn_relative_and_marked_at_the_width_of_a_head():
    axes = FIGURES["singular values"]().axes[0]
    curves, marks = axes.lines[::3], axes.lines[2::3]
    for heads, curve, mark in zip(VALUES, curves, marks, strict=True):
        assert np.allclose(curve.get_ydata(), VALUES[heads] / 9)
        assert mark.get_xdata()[0] == 12 // heads
        assert mark.get_ydata()[0] == pytest.approx(5 / 9)
    words = figures_03.describe_singular_values(VALUES, 12)
    assert "4 heads, 3 numbers wide: value 3 is 0.56 of the largest, the next 1e-16" in words
    full = figures_03.describe_singular_values({1: np.ones(5)}, 5)
    assert full.endswith("1 head, 5 numbers wide: value 5 is 1 of the largest.")


def test_learning_curves_are_medians_in_a_band_of_all_runs():
    axes = FIGURES["scores"]().axes[0]
    assert [line.get_ydata().tolist() for line in axes.lines] == [
        np.median(runs, 0).tolist() for runs in SCORES.values()
    ]
    band = axes.collections[0].get_paths()[0].vertices
    assert {0.4, 0.7} <= set(band[band[:, 0] == 300, 1].tolist())
    names = [text.xy[1] for text in axes.texts]
    assert abs(names[1] - names[2]) > 0.05, "the names of two curves that end alike stand apart"
    words = figures_03.describe_head_scores(SCORES, AT)
    assert "after 300 steps, median and range of 3 runs: 1 head 0.500 (0.400 to 0.700)" in words


def test_names_are_spread_and_keep_their_order():
    heights = [0.5, 0.52, 0.1, 0.51, 0.99, 1.0]
    placed = figures_03._spread_out(heights, 0.1, 0.0, 1.05)
    assert np.argsort(placed).tolist() == np.argsort(heights).tolist()
    assert np.diff(np.sort(placed)).min() > 0.0999 and placed[2] == 0.1
    assert max(placed) <= 1.05


def test_an_alignment_names_what_each_token_reads():
    words = figures_03.describe_alignment(WEIGHTS, SOURCE, TARGET)
    for token, row in zip(TARGET, WEIGHTS, strict=True):
        assert f"“{token}” reads “{SOURCE[row.argmax()]}” ({row.max():.2f})" in words
    axes = FIGURES["alignment"]().axes[0]
    assert np.array_equal(axes.images[0].get_array(), WEIGHTS)
    assert [label.get_text() for label in axes.get_yticklabels()] == TARGET
    assert [label.get_text() for label in axes.get_xticklabels()] == SOURCE


def test_pruning_frames_the_marked_head_and_gives_its_rank():
    axes = FIGURES["pruning"]().axes[0]
    assert [frame.get_xy() for frame in axes.patches] == [(0.5, 2.5)]
    assert len(axes.texts) == 72 and axes.texts[37].get_text() == "38"
    words = figures_03.describe_pruning(CHANGES, [(3, 1)])
    assert "median 0.0365, largest 0.0720 (layer 5, head 11)" in words
    assert "Layer 3, head 1: 0.0380, rank 35 of 72." in words
