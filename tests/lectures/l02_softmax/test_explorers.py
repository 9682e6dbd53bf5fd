"""Lecture 02's explorer: the weights, the Jacobian and its norm are what definitions say."""

import math

import numpy as np
import pytest
import torch

from course_utils.lectures.l02_softmax.explorers import (
    DIVIDED,
    DRAWS,
    KEYS,
    PLAIN,
    TEMPERATURES,
    TYPICAL,
    WIDTHS,
    SoftmaxSaturation,
    jacobian_norm,
)
from tests.explorers.support_explorers import press


def weights_of(*shape, spread=3.0, seed=0):
    scores = np.random.default_rng(seed).normal(size=shape) * spread
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_norm_is_the_matrixs():
    for row in weights_of(50, 7):
        matrix = np.diag(row) - np.outer(row, row)
        assert jacobian_norm(row) == pytest.approx(np.linalg.norm(matrix), rel=1e-12)


def test_norm_near_a_vertex():
    # All but 1e-30 on one key, the rest on another: 2 * 1e-30. diag(p) - p p^T gives 0 there,
    # for 1 - 1e-30 is 1.
    row = np.array([1.0, 1e-30])
    assert jacobian_norm(row) == pytest.approx(2e-30)
    assert np.square(row).sum() - 2 * (row**3).sum() + np.square(row).sum() ** 2 == 0


def test_norm_is_at_most_a_half():
    assert jacobian_norm(np.array([0.5, 0.5, 0.0])) == 0.5
    for spread in (0.3, 1, 3, 10):
        for keys in (2, 3, 5, 64):
            assert jacobian_norm(weights_of(500, keys, spread=spread)).max() <= 0.5 + 1e-12


@pytest.fixture(scope="module")
def explorer():
    made = SoftmaxSaturation()
    made.widget()
    return made


def scores_of(width, draw):
    """The scores of one draw, made anew: as many coordinates as the head is wide."""
    random = torch.Generator().manual_seed(2)
    q = torch.randn((DRAWS, 1, 512), generator=random, dtype=torch.float64)
    k = torch.randn((DRAWS, KEYS, 512), generator=random, dtype=torch.float64)
    return k[draw - 1, :, :width] @ q[draw - 1, 0, :width]


@pytest.mark.parametrize("width", [1, 16, 64, 512])
@pytest.mark.parametrize("division", [DIVIDED, PLAIN])
@pytest.mark.parametrize("temperature", [0.125, 1, 16])
def test_state_is_softmax_and_derivative(explorer, width, division, temperature):
    state = explorer.compute(width=width, division=division, temperature=temperature, draw_number=3)
    scores = scores_of(width, 3) / temperature
    scores = scores / math.sqrt(width) if division == DIVIDED else scores
    weights = torch.softmax(scores, dim=0)
    torch.testing.assert_close(torch.from_numpy(state.weights), weights)
    jacobian = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, dim=0), scores)
    torch.testing.assert_close(torch.from_numpy(state.jacobian), jacobian, atol=1e-12, rtol=1e-9)
    assert state.norm == pytest.approx(jacobian.norm().item(), rel=1e-6, abs=1e-12)
    entropy = torch.distributions.Categorical(probs=weights).entropy().item()
    assert state.effective == pytest.approx(math.exp(entropy), rel=1e-6)
    assert state.spread == pytest.approx(scores.std(correction=0).item())
    assert state.largest + state.others == pytest.approx(1)


def test_mean_largest_over_draws(explorer):
    values = {"width": 64, "division": PLAIN, "temperature": 2}
    largest = [
        explorer.compute(**values, draw_number=number).largest for number in range(1, DRAWS + 1)
    ]
    assert explorer.compute(**values, draw_number=7).mean_largest == pytest.approx(np.mean(largest))


def test_path_from_equal_to_a_vertex(explorer):
    state = explorer.compute(width=64, division=PLAIN, temperature=1, draw_number=TYPICAL)
    largest, norm = state.path
    assert largest[0] == pytest.approx(1 / KEYS, abs=0.01)
    assert norm[0] == pytest.approx(math.sqrt(KEYS - 1) / KEYS, abs=0.01)
    assert largest[-1] > 1 - 1e-12 and norm[-1] < 1e-12
    assert (np.diff(largest) >= 0).all()
    near = np.argmin(np.abs(largest - state.largest))
    assert largest[near] == pytest.approx(state.largest) and norm[near] == pytest.approx(state.norm)
    # It rises before it falls: sharper weights do not always let less through.
    assert norm.max() > 1.3 * norm[0] and 0 < norm.argmax() < len(norm) - 1


def test_division_is_a_temperature(explorer):
    divided = explorer.compute(width=64, division=DIVIDED, temperature=1, draw_number=5)
    warm = explorer.compute(width=64, division=PLAIN, temperature=8, draw_number=5)
    assert np.allclose(divided.weights, warm.weights) and divided.norm == pytest.approx(warm.norm)


def test_typical_draw_is_near_medians(explorer):
    off = np.zeros(DRAWS)
    for width in (16, 64, 512):
        random = torch.Generator().manual_seed(0)
        q, k = (torch.randn(n, width, generator=random) for n in (10_000, 16))
        median = np.median(jacobian_norm((q @ k.T).double().softmax(-1).numpy()))
        norms = [
            explorer.compute(width=width, division=PLAIN, temperature=1, draw_number=n + 1).norm
            for n in range(DRAWS)
        ]
        # Ratios, not differences: at 512 the norms span ten powers of ten.
        off += np.abs(np.log(norms) - np.log(median))
    assert off.argmin() == TYPICAL - 1


def test_drawing_is_the_state(explorer):
    explorer.set(width=16, division=PLAIN, temperature=1, draw_number=TYPICAL)
    state = explorer.state
    _, heights = explorer._bars.get_data()
    assert np.allclose(heights.reshape(-1, 3)[:, 1], state.weights)
    assert (heights.reshape(-1, 3)[:, 0] == 0).all()
    assert explorer._dot.get_data() == ([state.largest], [state.norm])
    levels = explorer._heat._levels.astype(int)
    middle = levels[np.abs(state.jacobian) < 1e-9]
    assert np.ptp(middle) <= 1 and abs(middle.mean() - 127) <= 1, "nothing is the map's middle"
    assert (levels[state.jacobian > 1e-3] > 128).all() and (levels == levels.T).all()
    assert (levels[state.jacobian < -1e-3] < 126).all()


def test_words_at_both_ends(explorer):
    explorer.set(width=512, division=PLAIN, temperature=0.125, draw_number=20)
    assert "The largest weight is 1 − 9e-17" in explorer.words
    assert "less than 0.01% of the most there can be" in explorer.words
    explorer.set(width=1, division=DIVIDED, temperature=16, draw_number=20)
    assert "effectively attends to 16.0 of 16 keys" in explorer.words
    assert "d_k = 1, divided by √d_k, temperature 16:" in explorer.words


def test_scenes_show_what_they_say(explorer):
    states = []
    for label in explorer.scenes:
        press(explorer, label)
        states.append(explorer.state)
    narrow, middle, wide, divided, warm = states
    assert narrow.norm > middle.norm > wide.norm and wide.norm < 0.01
    assert divided.norm > 0.2 and warm.norm > 0.2 and divided.effective > 8
    assert all(set(scene) == set(explorer.inputs) for scene in explorer.scenes.values())


def test_entries_are_inside_the_scales(explorer):
    for width in WIDTHS:
        for temperature in TEMPERATURES:
            state = explorer.compute(width, PLAIN, temperature, 1)
            assert np.abs(state.jacobian).max() <= 0.25 and state.norm <= 0.5
            assert state.path[1].max() < 0.55
