"""Lecture 02's explorer: the weights, the Jacobian and its norm are what definitions say."""

import math

import numpy as np
import pytest
import torch

from course_utils.attention import effective_tokens, softmax_jacobian
from lectures.l02_softmax.explorers.softmax import (
    DRAWS,
    HIGHEST,
    KEYS,
    ONE_AHEAD,
    TYPICAL,
    SoftmaxJacobian,
    running_scores,
    typical_scores,
)
from tests.explorers.support_browser import InBrowser, differences

SHARPNESS = torch.logspace(math.log10(1 / 16), 1, 121, dtype=torch.float64)


@pytest.fixture(scope="module")
def picture():
    with InBrowser(SoftmaxJacobian()) as found:
        yield found


def norm_of(weights):
    """The Frobenius norm of each row's whole Jacobian."""
    return softmax_jacobian(weights).norm(dim=(-2, -1))


def expected(scores, temperature):
    raw = torch.tensor(scores, dtype=torch.float64)
    weights = (raw / temperature).softmax(dim=-1)
    rows = (SHARPNESS[:, None] * raw).softmax(dim=-1)
    return {
        "scores": raw,
        "weights": weights,
        "jacobian": softmax_jacobian(weights) / temperature,
        "path": torch.stack([rows.amax(dim=-1), SHARPNESS * norm_of(rows)]),
        "largest": weights.amax(),
        "norm": norm_of(weights) / temperature,
        "effective": effective_tokens(weights),
    }


def test_the_picture_is_the_cores_softmax(picture):
    assert differences(picture, expected) == []


def test_norm_is_the_matrixs(picture):
    scores = 3 * np.random.default_rng(0).normal(size=(50, KEYS))
    for state in picture.states([{"scores": row.tolist()} for row in scores]):
        assert state.norm == pytest.approx(np.linalg.norm(state.jacobian), rel=1e-12)


def test_norm_near_a_vertex(picture):
    # All but e^-69 on one key, the rest on another: 2 e^-69, and a temperature of 0.1 makes it ten
    # times as much. diag(p) - p p^T gives less there, for 1 - e^-69 is 1.
    scores = [0.0, -6.9] + [-HIGHEST] * (KEYS - 2)
    state = picture.compute(scores=scores, temperature=0.1)
    assert state.norm == pytest.approx(20 * math.exp(-69))
    assert np.linalg.norm(state.jacobian) < 0.9 * state.norm


@pytest.mark.parametrize("spread", [0.0, 0.3, 3.0, 20.0])
@pytest.mark.parametrize("temperature", [0.1, 1.0, 16.0])
def test_state_is_softmax_and_derivative(picture, spread, temperature):
    raw = torch.randn(KEYS, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    found = picture.compute(scores=(spread * raw).tolist(), temperature=temperature)
    scores = spread * raw
    weights = torch.softmax(scores / temperature, dim=0)
    torch.testing.assert_close(torch.from_numpy(found.weights), weights)
    jacobian = torch.autograd.functional.jacobian(
        lambda s: torch.softmax(s / temperature, dim=0), scores
    )
    ours = torch.from_numpy(found.jacobian).view(KEYS, KEYS)
    torch.testing.assert_close(ours, jacobian, atol=1e-12, rtol=1e-9)
    assert found.norm == pytest.approx(jacobian.norm().item(), rel=1e-6, abs=1e-12)
    entropy = torch.distributions.Categorical(probs=weights).entropy().item()
    assert found.effective == pytest.approx(math.exp(entropy), rel=1e-6)
    assert found.largest == pytest.approx(weights.max().item(), rel=1e-12)
    assert np.abs(found.jacobian).max() <= 0.25 / temperature and found.norm <= 0.5 / temperature


def test_typical_scores_are_products():
    random = torch.Generator().manual_seed(2)
    q = torch.randn((DRAWS, 1, 512), generator=random, dtype=torch.float64)
    k = torch.randn((DRAWS, KEYS, 512), generator=random, dtype=torch.float64)
    for width in (1, 16, 64, 512):
        exact = k[TYPICAL - 1, :, :width] @ q[TYPICAL - 1, 0, :width]
        assert np.abs(np.array(typical_scores(width)) - exact.numpy()).max() <= 0.05 + 1e-9


def test_path_ends_where_the_temperatures_slider_does(picture):
    scores = typical_scores(64)
    ends = [{"scores": scores, "temperature": temperature} for temperature in (16.0, 0.1)]
    for place, state in zip((0, -1), picture.states(ends), strict=True):
        largest, norm = state.path.reshape(2, -1)
        assert largest[place] == pytest.approx(state.largest)
        assert norm[place] == pytest.approx(state.norm)
    assert (np.diff(largest) >= 0).all() and largest[-1] > 1 - 1e-9 and norm[-1] < 1e-9
    # It rises before it falls: sharper weights do not always let less through.
    assert norm.max() > 1.3 * norm[0] and 0 < norm.argmax() < len(norm) - 1


@pytest.mark.parametrize("temperature", [0.8, 8.0])
def test_a_gain_is_what_the_weights_do(picture, temperature):
    """A score raised by a little: the weights move as the square says."""
    scores, little = typical_scores(64), 1e-4
    for key in (0, 6, 11):
        raised = [each + little * (i == key) for i, each in enumerate(scores)]
        states = [{"scores": row, "temperature": temperature} for row in (scores, raised)]
        before, after = picture.states(states)
        column = before.jacobian.reshape(KEYS, KEYS)[:, key]
        np.testing.assert_allclose((after.weights - before.weights) / little, column, atol=1e-5)


def test_one_ahead_is_at_the_top(picture):
    """Moved either way, the score that is ahead lets less gradient through."""
    ahead = ONE_AHEAD.index(max(ONE_AHEAD))
    moved = [
        [each + move * (i == ahead) for i, each in enumerate(ONE_AHEAD)] for move in (-0.5, 0, 0.5)
    ]
    lower, top, higher = picture.states([{"scores": scores} for scores in moved])
    assert top.norm > lower.norm and top.norm > higher.norm


def test_typical_draw_is_near_medians():
    off = torch.zeros(DRAWS, dtype=torch.float64)
    for width in (16, 64, 512):
        random = torch.Generator().manual_seed(0)
        q, k = (torch.randn(n, width, generator=random) for n in (10_000, 16))
        median = norm_of((q @ k.T).double().softmax(-1)).median()
        norms = norm_of(running_scores()[:, :, width - 1].softmax(-1))
        # Ratios, not differences: at 512 the norms span ten powers of ten.
        off += (norms.log() - median.log()).abs()
    assert off.argmin() == TYPICAL - 1


def test_presets_show_what_they_say(picture):
    presets = SoftmaxJacobian.presets
    found = dict(zip(presets, picture.states(presets.values()), strict=True))
    narrow, middle, wide = (found[f"d_k = {width}"] for width in (16, 64, 512))
    assert narrow.norm > middle.norm > wide.norm and wide.norm < 0.01
    divided = found["d_k = 64, divided"]
    assert divided.norm < 0.5 * middle.norm and divided.effective > 7
    won = found["one has won"]
    assert won.largest == pytest.approx(0.99, abs=1e-4)
    assert won.norm == pytest.approx(0.011, abs=1e-3)
    assert found["two compete"].norm == pytest.approx(0.5, abs=0.001)
    assert found["all equal"].norm == pytest.approx(math.sqrt(KEYS - 1) / KEYS)
