"""Lecture 03's explorers: the split against gradients, two places against a trained readout."""

import itertools

import numpy as np
import pytest
import torch

from course_utils.attention import attend
from course_utils.masks import causal_mask
from lectures.l03_heads.explorers.split import (
    HEADS,
    TOKENS,
    TRANSPOSE,
    VIEW,
    WIDTH,
    Split,
)
from lectures.l03_heads.explorers.two_places import (
    ASKED,
    EVEN,
    LETTERS,
    MIDDLE,
    ONE_BACK,
    TEXTS,
    THREE_BACK,
    TwoPlaces,
    answers,
    shares_at,
)

# The split


@pytest.fixture(scope="module")
def split():
    return Split()


@pytest.mark.parametrize("heads", HEADS)
def test_where_each_number_goes(split, heads):
    state, D = split.compute(heads, 0, TRANSPOSE), WIDTH // heads
    for h, t, d in np.ndindex(heads, TOKENS, D):
        # Written out by index, without a view: x holds this number at (t, h * D + d).
        assert state.right[t * WIDTH + h * D + d].tolist() == [h, t, d]
        # The rule that the lecture states: row t of head h is token (hT + t) // H.
        token, piece = divmod(h * TOKENS + t, heads)
        assert state.wrong[token * WIDTH + piece * D + d].tolist() == [h, t, d]
    assert np.array_equal(state.right, state.wrong) == (heads == 1)


def real_reach(heads, *, wrong, by_view):
    """Which tokens the output of each depends on: gradients of attention with random weights."""
    T, C, D = TOKENS, WIDTH, WIDTH // heads
    random = torch.Generator().manual_seed(0)
    x = torch.randn(T, C, generator=random, dtype=torch.float64, requires_grad=True)
    # Projections that keep each number to itself, so that nothing mixes but the split.
    q, k, v = (x * torch.randn(C, generator=random, dtype=torch.float64) for _ in "qkv")

    def cut(y):
        return y.view(heads, T, D) if wrong else y.view(T, heads, D).transpose(0, 1)

    out, _ = attend(cut(q), cut(k), cut(v), may_attend=causal_mask(T))
    joined = out.reshape(T, C) if by_view else out.transpose(0, 1).reshape(T, C)
    reach = [torch.autograd.grad(row.sum(), x, retain_graph=True)[0] for row in joined]
    return (torch.stack(reach).abs().sum(-1) > 0).numpy()


@pytest.mark.parametrize(("heads", "merge"), list(itertools.product(HEADS, (TRANSPOSE, VIEW))))
def test_reach_is_what_gradients_show(split, heads, merge):
    right, wrong = split.compute(heads, 0, merge).reach
    assert np.array_equal(right, real_reach(heads, wrong=False, by_view=False))
    assert np.array_equal(wrong, real_reach(heads, wrong=True, by_view=merge == VIEW))
    assert np.array_equal(right, np.tri(TOKENS, dtype=bool))
    # Only one of the two ways back leaks; the other closes blocks of T / H tokens.
    assert np.triu(wrong, 1).any() == (merge == TRANSPOSE and heads > 1)
    block = TOKENS // heads
    if merge == VIEW and TOKENS % heads == 0:
        assert not wrong[block:, :block].any()


# Two places

BETWEEN = [[0, 100 - w, 0, w] for w in (30, 45, 55, 70, 90)]


def shares(first, second=None, cut_one=MIDDLE, cut_three=MIDDLE):
    """Share of texts right for one back, for three back, and for both."""
    two = second is not None
    state = TwoPlaces().compute(first, second or THREE_BACK, two, "CABC", cut_one, cut_three)
    return *state.right, state.both


def mixtures(weights):
    """Each text's mixture of one-hot values (81, 3), written out text by text."""
    rows = [sum(w * np.eye(3)[letter] for w, letter in zip(weights, text, strict=True))
            for text in itertools.product(range(3), repeat=4)]  # fmt: skip
    return np.array(rows) / 100


def trained_readout(weights, place):
    """Scores (81, 3) of a linear readout with the lowest cross-entropy, found by training."""
    x, y = torch.tensor(mixtures(weights)), torch.tensor(TEXTS[:, place])
    matrix = torch.zeros(3, 3, dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([matrix, bias], max_iter=300, line_search_fn="strong_wolfe")

    def loss():
        optimizer.zero_grad()
        value = torch.nn.functional.cross_entropy(x @ matrix.T + bias, y)
        value.backward()
        return value

    optimizer.step(loss)
    return (x @ matrix.T + bias).detach().numpy()


@pytest.mark.parametrize("weights", [EVEN, [10, 30, 10, 50], *BETWEEN])
def test_cuts_in_the_middle_are_what_training_finds(weights):
    said = answers(weights, MIDDLE)
    for place in ASKED:
        scores = np.sort(trained_readout(weights, place))
        clear = said >= 0
        assert (scores[clear, -1] - scores[clear, -2] > 1e-3).all()
        assert np.array_equal(trained_readout(weights, place).argmax(axis=1)[clear], said[clear])
        assert np.allclose(scores[~clear, -1], scores[~clear, -2], atol=1e-3)


def test_one_head_gets_one_of_the_two():
    for weights in (*BETWEEN, ONE_BACK, THREE_BACK):
        one, three, both = shares(weights)
        assert sorted((one, three)) == pytest.approx([1 / 3, 1]) and both == pytest.approx(1 / 3)
        assert (one > three) == (weights[ASKED[0]] > 50)
        assert len(np.unique(mixtures(weights).round(9), axis=0)) == (
            9 if weights in BETWEEN else 3
        )
    assert shares([0, 50, 0, 50]) == pytest.approx([1 / 3] * 3), "ties are not right"


def test_other_cuts_reach_what_a_coin_does_and_no_linear_readout_more():
    moved = TwoPlaces.presets["cuts moved by hand"]
    assert shares(moved["first"], None, moved["cut_one"], moved["cut_three"]) == pytest.approx(
        [1, 2 / 3, 2 / 3]
    )
    random = np.random.default_rng(0)
    x, best = mixtures(moved["first"]), 0.0
    for _ in range(20_000):
        scores = x @ random.normal(size=(3, 3))
        best = max(best, float((scores.argmax(axis=1) == TEXTS[:, ASKED[1]]).mean()))
    assert best == pytest.approx(2 / 3)


def test_the_lines_of_the_proof_allow_six_of_nine():
    """Every set of pairs, answered three back, that the two lines allow for w ≥ 1/2."""
    pairs = list(itertools.product(range(3), repeat=2))
    most = 0
    for bits in itertools.product((False, True), repeat=9):
        right = dict(zip(pairs, bits, strict=True))
        for i, j in ((0, 1), (0, 2), (1, 2)):
            positive = right[i, j] and right[j, i]
            negative = any(right[m, i] and right[m, j] for m in range(3))
            if positive and negative:  # S would be above 0 and below 0
                break
        else:
            most = max(most, sum(bits))
    assert most == 6


def test_two_heads_get_both():
    assert shares(ONE_BACK, THREE_BACK) == (1, 1, 1)
    assert shares([10, 10, 10, 70], [0, 60, 20, 20])[2] > 0.99
    assert shares(THREE_BACK, ONE_BACK)[2] == pytest.approx(1 / 3), "only where they are equal"


def test_spots_are_mixtures_of_the_corners():
    state = TwoPlaces(first=[10, 20, 30, 40], text="BCAB").state
    assert np.allclose(
        [shares_at(spot.tolist()) for spot in state.spots[0]], mixtures([10, 20, 30, 40])
    )
    assert np.array_equal(state.spots[0], state.spots[1]), "one head, one output"
    assert "".join(LETTERS[i] for i in TEXTS[state.at]) == "BCAB"
