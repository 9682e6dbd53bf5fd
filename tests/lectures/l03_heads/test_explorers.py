"""Lecture 03's explorer: the split into heads, against plain torch and gradients."""

import itertools

import numpy as np
import pytest
import torch

from course_utils.attention import attend
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

SIZES = [
    (T, H, D) for T in range(TOKENS[0], TOKENS[1] + 1) for H in HEADS for D in WIDTHS
]  # all that the sliders reach
ORDERS = {
    "right": {"wrong": False},
    "turned": {"wrong": True, "back": TURNED},
    "straight": {"wrong": True, "back": STRAIGHT},
}


# The steps


def test_right_split():
    for T, H, D in SIZES:
        steps = trace(T, H, D, wrong=False)
        plain, by_token, by_head, *later = (step.elements for step in steps)
        for t, h, d in np.ndindex(T, H, D):
            # Written out by index, without a view: x holds this element at (t, h * D + d).
            number = (t * H + h) * D + d
            assert plain[0, t, h * D + d] == by_token[t, h, d] == by_head[h, t, d] == number
        for one, other in zip(later, (by_head, by_token, plain), strict=True):
            assert np.array_equal(one, other), "and the same way back"


def test_wrong_view():
    for T, H, D in SIZES:
        for back in (TURNED, STRAIGHT):
            heads = trace(T, H, D, wrong=True, back=back)[2].elements
            h, t, d = np.indices((H, T, D))
            # The rule that the lecture states: row t of head h is token (hT + t) // H.
            assert np.array_equal(part_of(heads, TOKEN, H, D), (h * T + t) // H)
            assert np.array_equal(part_of(heads, HEAD, H, D), (h * T + t) % H)
            assert np.array_equal(part_of(heads, CHANNEL, H, D), d)
            right = trace(T, H, D, wrong=False)[2].elements
            assert np.array_equal(heads, right) == (H == 1)


@pytest.mark.parametrize("order", ORDERS)
def test_memory_and_strides(order):
    T, H, D = 5, 3, 2
    steps = trace(T, H, D, **ORDERS[order])
    for step in steps:
        assert sorted(step.memory) == list(range(T * H * D))
        # What a stride means: so many places on in memory for one on along the axis.
        read = np.lib.stride_tricks.as_strided(
            step.memory, step.shape, [8 * stride for stride in step.strides]
        )
        assert np.array_equal(read.reshape(step.elements.shape), step.elements)
    moved = [STEPS[i] for i, step in enumerate(steps) if step.moved]
    assert moved == ["attention"] + ["join"] * (order != "straight")
    assert [step.memory.tolist() == list(range(30)) for step in steps[:3]] == [True] * 3


# Which tokens an output depends on, by gradients of a real attention


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


@pytest.mark.parametrize("order", ORDERS)
def test_causal_reach_is_what_gradients_show(order):
    for T, H in itertools.product((2, 3, 5, 6), HEADS):
        expected = real_reach(T, H, 3, **ORDERS[order])
        assert np.array_equal(causal_reach(trace(T, H, 3, **ORDERS[order]), H, 3), expected)
        future = np.triu(expected, 1).any()
        assert future == (order == "turned" and H > 1), "only one of the two ways back leaks"
        if order == "right":
            assert np.array_equal(expected, np.tri(T, dtype=bool))
        if order == "straight" and T % H == 0:
            assert not expected[T // H :, : T // H].any(), "blocks of T / H tokens, closed"


# The explorer


@pytest.fixture(scope="module")
def split():
    return SplitSteps()


def test_caption(split):
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


def test_caption_at_every_size(split):
    for step, sizes, back in itertools.product(range(len(STEPS)), SIZES, (TURNED, STRAIGHT)):
        words = split.caption(split.compute(step, *sizes, TOKEN, back))
        assert "tokens  " not in words and "..  " not in words
        assert "never sees tokens ." not in words and "1 pieces" not in words


def test_squares_and_titles_fit():
    for T, H, D in SIZES:
        for step in (*trace(T, H, D, wrong=False), *trace(T, H, D, wrong=True)):
            title = TITLE * bool(step.blocks)
            blocks, rows, columns = step.elements.shape
            across, side = block_grid(step.elements.shape, title, 276, 289)
            down = -(-blocks // across)
            assert side >= 14, "a digit still fits"
            assert across * columns * side + (across - 1) * GAP <= 276
            assert down * (rows * side + title) + (down - 1) * GAP <= 289
            assert not title or columns * side + GAP > 52, "“token 0” is 49 pixels wide"


def test_colours_of_the_squares(split):
    assert len(COLOURS) >= max(TOKENS[1], *HEADS, *WIDTHS)
    split.set(step=2, tokens=5, heads=2, width=3, colour_by=TOKEN, back=TURNED)
    right, wrong = (blocks._painted(1) for blocks in split._blocks)
    corners = [TITLE + 2 + 44 * row for row in range(5)]  # squares of 44 pixels
    firsts = [tuple(right[y, 2, :3]) for y in corners]
    assert len(set(firsts)) == 5, "five tokens, five colours"
    held = [tuple(wrong[y, 2, :3]) for y in corners]
    assert held[0] == firsts[0] and held[2] == firsts[1] and held[4] == firsts[2]
    assert len(set(held)) == 5, "the second piece of a token is paler"
    assert np.array_equal(*(memory._painted(1) for memory in split._memory))
    move(split, step=5)
    assert not np.array_equal(*(memory._painted(1) for memory in split._memory))
    assert all(artist.get_visible() for artist in split._reach)
    move(split, step=ATTENTION - 1)
    assert not any(artist.get_visible() for artist in split._reach)
