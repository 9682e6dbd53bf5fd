"""Lecture 03's explorers: the split against gradients, two places against a trained readout."""

import itertools
import re
from functools import cache

import numpy as np
import pytest
import torch

from course_utils.attention import attend
from course_utils.masks import causal_mask
from lectures.l03_heads.explorers.split import HEADS, TOKENS, TRANSPOSE, VIEW, WIDTH, Split
from lectures.l03_heads.explorers.two_places import (
    EVEN,
    LETTERS,
    ONE_BACK,
    THREE_BACK,
    TwoPlaces,
)
from tests.explorers.support_browser import InBrowser, cases, differences

# The split


@pytest.fixture(scope="module")
def split():
    with InBrowser(Split()) as found:
        yield found


@cache
def real_places(heads):
    """Head, row and column of each number under the right split and the wrong one (2, 72, 3)."""
    D = WIDTH // heads
    right, wrong = np.zeros((2, TOKENS * WIDTH, 3), dtype=int)
    for h, t, d in np.ndindex(heads, TOKENS, D):
        # Written out by index, without a view: x holds this number at (t, h * D + d).
        right[t * WIDTH + h * D + d] = h, t, d
        # The rule that the lecture states: row t of head h is token (hT + t) // H.
        token, piece = divmod(h * TOKENS + t, heads)
        wrong[token * WIDTH + piece * D + d] = h, t, d
    return right, wrong


@cache
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


def real_split(heads, number, merge):
    right, wrong = real_places(heads)
    reach = [
        real_reach(heads, wrong=False, by_view=False),
        real_reach(heads, wrong=True, by_view=merge == VIEW),
    ]
    return {"right": right, "wrong": wrong, "reach": np.array(reach).astype(int)}


def test_the_split_is_what_indices_and_gradients_show(split):
    assert differences(split, real_split) == []


@pytest.mark.parametrize(("heads", "merge"), list(itertools.product(HEADS, (TRANSPOSE, VIEW))))
def test_only_one_way_back_leaks(split, heads, merge):
    state = split.compute(heads=heads, merge=merge)
    right, wrong = state.reach.reshape(2, TOKENS, TOKENS)
    assert np.array_equal(state.right, state.wrong) == (heads == 1)
    assert np.array_equal(right, np.tri(TOKENS, dtype=bool))
    # The other way back closes blocks of T / H tokens.
    assert np.triu(wrong, 1).any() == (merge == TRANSPOSE and heads > 1)
    block = TOKENS // heads
    if merge == VIEW and TOKENS % heads == 0:
        assert not wrong[block:, :block].any()


def test_words_of_the_split(split):
    tried = [values for values in cases(split.explorer) if values["heads"] > 1]
    for values, state in zip(tried, split.states(tried), strict=True):
        token, place = divmod(values["number"], WIDTH)
        right, wrong = (each[values["number"], :2] for each in real_places(values["heads"]))
        where, seen = state.words.split(" depends on ")
        told = [int(each) for each in re.findall(r"\d+", where)]
        assert told == [place, token, *right, *wrong, token]
        ends = [int(each) for each in re.findall(r"\d+", seen)]
        told = range(ends[0], ends[-1] + 1) if " to " in seen else ends
        reach = real_split(**values)["reach"][1, token]
        assert list(told) == np.flatnonzero(reach).tolist()


def test_one_head_has_nothing_to_cut(split):
    words = split.compute(heads=1, number=31).words
    assert "number 7 of token 2 is in row 2 of both" in words


# Two places

ASKED = (3, 1)  # where one back and three back are
CORNERS = np.array([[0, 1], [-(3**0.5) / 2, -1 / 2], [3**0.5 / 2, -1 / 2]])
TEXTS = np.array(list(itertools.product(range(3), repeat=4)))
LABELS = ("half and half", "70 % and 30 %")
BETWEEN = [[0, 100 - w, 0, w] for w in (30, 45, 55, 70, 90)]


@pytest.fixture(scope="module")
def places():
    with InBrowser(TwoPlaces()) as found:
        yield found


def mixtures(weights):
    """Each text's mixture of one-hot values (81, 3)."""
    return np.einsum("p,npl->nl", weights, np.eye(3)[TEXTS]) / 100


def answers(spots, cut):
    """The corner towards which each spot lies from where the cuts meet; −1 between two."""
    towards = (spots - np.array(cut)) @ CORNERS.T
    first, second = np.sort(towards)[:, :-3:-1].T
    return np.where(first - second < 1e-9, -1, towards.argmax(axis=1))


def expected(first, second, two, triangle, text, cut_one, cut_three):
    spots = [mixtures(head) @ CORNERS for head in (first, second if two else first)]
    said = np.array([answers(*each) for each in zip(spots, (cut_one, cut_three), strict=True)])
    truth = TEXTS[:, ASKED].T
    right = said == truth
    return {
        "spots": spots,
        "said": said,
        "truth": truth,
        "at": int("".join(str(LETTERS.index(letter)) for letter in text), 3),
        "right": right.mean(axis=1),
        "both": right.all(axis=0).mean(),
    }


def test_places_are_corners_mixed_and_cut(places):
    assert differences(places, expected) == []


def test_words_of_two_places(places):
    half, far = (places.compute(**TwoPlaces.presets[label]).words for label in LABELS)
    assert "right in 33 % of texts, three back in 33 %, both in 33 %. Here: a tie, a tie." in half
    assert "right in 100 % of texts, three back in 33 %, both in 33 %" in far
    assert far.endswith("At the rings: C (right), C (wrong).")


def shares(places, first, second=None):
    """Share of texts right for one back, for three back, and for both."""
    state = places.compute(first=first, second=second or THREE_BACK, two=second is not None)
    return *state.right, state.both


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
def test_cuts_in_the_middle_are_what_training_finds(places, weights):
    both = places.compute(first=weights).said.reshape(2, -1)
    for place, said in zip(ASKED, both, strict=True):
        scores = np.sort(trained_readout(weights, place))
        clear = said >= 0
        assert (scores[clear, -1] - scores[clear, -2] > 1e-3).all()
        assert np.array_equal(trained_readout(weights, place).argmax(axis=1)[clear], said[clear])
        assert np.allclose(scores[~clear, -1], scores[~clear, -2], atol=1e-3)


def test_one_head_gets_one_of_the_two(places):
    for weights in (*BETWEEN, ONE_BACK, THREE_BACK):
        one, three, both = shares(places, weights)
        assert sorted((one, three)) == pytest.approx([1 / 3, 1]) and both == pytest.approx(1 / 3)
        assert (one > three) == (weights[ASKED[0]] > 50)
        assert len(np.unique(mixtures(weights).round(9), axis=0)) == (
            9 if weights in BETWEEN else 3
        )
    assert shares(places, [0, 50, 0, 50]) == pytest.approx([1 / 3] * 3), "ties are not right"


def test_other_cuts_reach_what_a_coin_does_and_no_linear_readout_more(places):
    moved = TwoPlaces.presets["cuts moved by hand"]
    state = places.compute(**moved)
    assert [*state.right, state.both] == pytest.approx([1, 2 / 3, 2 / 3])
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


def test_two_heads_get_both(places):
    assert shares(places, ONE_BACK, THREE_BACK) == (1, 1, 1)
    assert shares(places, [10, 10, 10, 70], [0, 60, 20, 20])[2] > 0.99
    crossed = shares(places, THREE_BACK, ONE_BACK)
    assert crossed[2] == pytest.approx(1 / 3), "only where they are equal"


def test_spots_are_mixtures_of_the_corners(places):
    state = places.compute(first=[10, 20, 30, 40], text="BCAB")
    one, other = state.spots.reshape(2, 81, 2)
    # Shares that sum to 1 and give this place: there is one such mixture.
    corners = np.c_[CORNERS, np.ones(3)]
    shares_at = np.linalg.solve(corners.T, np.c_[one, np.ones(81)].T).T
    assert np.allclose(shares_at, mixtures([10, 20, 30, 40]))
    assert np.array_equal(one, other), "one head, one output"
    assert "".join(LETTERS[i] for i in TEXTS[state.at]) == "BCAB"
