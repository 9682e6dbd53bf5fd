"""Attention in the plane: what is drawn is what the core's attention gives."""

import numpy as np
import pytest
import torch

from course_utils.attention import attend
from lectures.l00_start_here.explorers.plane import WORDS, AttentionInThePlane, ThreeMatrices
from tests.explorers.support_browser import InBrowser, cases, differences


@pytest.fixture(scope="module")
def plane():
    with InBrowser(AttentionInThePlane()) as found:
        yield found


@pytest.fixture(scope="module")
def matrices():
    with InBrowser(ThreeMatrices()) as found:
        yield found


def attended(query, keys, values, asks=""):
    q, k, v = (torch.tensor(each, dtype=torch.float64) for each in (query, keys, values))
    out, weights = attend(q[None], k, v)
    direction = torch.nn.functional.normalize(q, dim=0)
    steps = torch.cat([torch.zeros(1, 2), (weights.T * v).cumsum(dim=0)])
    return {
        "q": q, "k": k, "v": v, "asks": asks, "out": out[0], "weights": weights[0], "steps": steps,
        "feet": torch.outer(k @ direction, direction), "scores": k @ q / 2**0.5,
    }  # fmt: skip


def made(asks, tokens, w_q, w_k, w_v):
    query, keys, values = (np.array(tokens) @ np.array(each) for each in (w_q, w_k, w_v))
    return attended(query[WORDS.index(asks)], keys, values, asks)


def test_arrows_in_the_hand_attend_as_the_core_does(plane):
    assert differences(plane, attended) == []


def test_matrices_make_the_arrows(matrices):
    assert differences(matrices, made) == []


def test_the_output_never_leaves_the_triangle(plane):
    for state in plane.states(cases(plane.explorer)):
        for direction in np.exp(2j * np.pi * np.arange(24) / 24):
            along = np.array([direction.real, direction.imag])
            assert along @ state.out <= (state.v @ along).max() + 1e-9


def test_a_longer_query_is_choosier(plane):
    labels = ("short query", "three times as long", "the other way")
    short, long, other = plane.states([AttentionInThePlane.presets[label] for label in labels])
    assert np.allclose(long.scores, 3 * short.scores)
    assert long.weights.max() > short.weights.max()
    assert np.allclose(other.feet, long.feet), "a shadow falls on a line, not on a direction"
    assert other.weights.argmax() == long.weights.argmin()


def test_equal_shadows_give_the_average(plane):
    state = plane.compute(**AttentionInThePlane.presets["equal shadows"])
    assert np.ptp(state.scores) < 1e-12 and np.ptp(state.k[:, 1]) > 4
    assert np.allclose(state.out, state.v.mean(axis=0))
    assert state.words.endswith("is the average of the values.")


def test_presets_of_the_matrices(matrices):
    states = {label: matrices.compute(**each) for label, each in ThreeMatrices.presets.items()}
    same = states["q = k = v"]
    assert np.array_equal(same.k, same.v) and np.array_equal(same.q, same.k[WORDS.index("it")])
    assert WORDS[same.weights.argmax()] == "it"
    assert WORDS[states["it asks for an animal"].weights.argmax()] == "cat"
    cat = states["what cat asks for"]
    assert WORDS[cat.weights.argmax()] == "cat" and cat.weights.max() < 0.4, "it asks for little"


def test_with_one_matrix_for_both_a_query_finds_itself(matrices):
    """Keys made by W_Q, as the lecture proposes: scores are symmetric, and *it* is drawn to it."""
    one = ThreeMatrices.presets["it asks for an animal"]
    one = {**one, "w_k": one["w_q"]}
    scores = np.array([matrices.compute(**{**one, "asks": word}).scores for word in WORDS])
    assert np.allclose(scores, scores.T)
    weights = dict(zip(WORDS, matrices.compute(**one).weights.round(2), strict=True))
    assert weights == {"cat": 0.23, "milk": 0.23, "it": 0.54}
