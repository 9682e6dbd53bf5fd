"""Lecture 02's explorer: the weights, the Jacobian and its norm are what definitions say."""

import math

import numpy as np
import pytest
import torch

from lectures.l02_softmax.explorers.softmax import (
    DRAWS,
    KEYS,
    ONE_AHEAD,
    TYPICAL,
    SoftmaxJacobian,
    jacobian_norm,
    running_scores,
    typical_scores,
)


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


def state(scores, temperature=1.0):
    return SoftmaxJacobian().compute(scores=list(scores), temperature=temperature)


@pytest.mark.parametrize("spread", [0.0, 0.3, 3.0, 20.0])
@pytest.mark.parametrize("temperature", [0.1, 1.0, 16.0])
def test_state_is_softmax_and_derivative(spread, temperature):
    raw = torch.randn(KEYS, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    found = state((spread * raw).tolist(), temperature)
    scores = spread * raw / temperature
    weights = torch.softmax(scores, dim=0)
    torch.testing.assert_close(torch.from_numpy(found.weights), weights)
    jacobian = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, dim=0), scores)
    torch.testing.assert_close(torch.from_numpy(found.jacobian), jacobian, atol=1e-12, rtol=1e-9)
    assert found.norm == pytest.approx(jacobian.norm().item(), rel=1e-6, abs=1e-12)
    entropy = torch.distributions.Categorical(probs=weights).entropy().item()
    assert found.effective == pytest.approx(math.exp(entropy), rel=1e-6)
    assert found.largest == weights.max().item()
    assert np.abs(found.jacobian).max() <= 0.25 and found.norm <= 0.5


def test_typical_scores_are_products():
    random = torch.Generator().manual_seed(2)
    q = torch.randn((DRAWS, 1, 512), generator=random, dtype=torch.float64)
    k = torch.randn((DRAWS, KEYS, 512), generator=random, dtype=torch.float64)
    for width in (1, 16, 64, 512):
        exact = k[TYPICAL - 1, :, :width] @ q[TYPICAL - 1, 0, :width]
        assert np.abs(np.array(typical_scores(width)) - exact.numpy()).max() <= 0.05 + 1e-9


def test_path_from_equal_to_a_vertex():
    found = state(typical_scores(64))
    largest, norm = found.path
    assert largest[0] == pytest.approx(1 / KEYS, abs=0.01)
    assert norm[0] == pytest.approx(math.sqrt(KEYS - 1) / KEYS, abs=0.01)
    assert largest[-1] > 1 - 1e-12 and norm[-1] < 1e-12
    assert (np.diff(largest) >= 0).all()
    near = np.argmin(np.abs(largest - found.largest))
    assert largest[near] == pytest.approx(found.largest) and norm[near] == pytest.approx(found.norm)
    # It rises before it falls: sharper weights do not always let less through.
    assert norm.max() > 1.3 * norm[0] and 0 < norm.argmax() < len(norm) - 1


def test_one_ahead_is_at_the_top():
    """Moved either way, the score that is ahead lets less gradient through."""
    ahead = ONE_AHEAD.index(max(ONE_AHEAD))
    norms = []
    for move in (-0.5, 0.0, 0.5):
        norms.append(state([each + move * (i == ahead) for i, each in enumerate(ONE_AHEAD)]).norm)
    assert norms[1] > norms[0] and norms[1] > norms[2]


def test_typical_draw_is_near_medians():
    off = np.zeros(DRAWS)
    for width in (16, 64, 512):
        random = torch.Generator().manual_seed(0)
        q, k = (torch.randn(n, width, generator=random) for n in (10_000, 16))
        median = np.median(jacobian_norm((q @ k.T).double().softmax(-1).numpy()))
        norms = jacobian_norm(running_scores()[:, :, width - 1].softmax(-1).numpy())
        # Ratios, not differences: at 512 the norms span ten powers of ten.
        off += np.abs(np.log(norms) - np.log(median))
    assert off.argmin() == TYPICAL - 1


def test_presets_show_what_they_say():
    found = {name: state(**values) for name, values in SoftmaxJacobian.presets.items()}
    narrow, middle, wide = (found[f"d_k = {width}"] for width in (16, 64, 512))
    assert narrow.norm > middle.norm > wide.norm and wide.norm < 0.01
    divided = found["d_k = 64, divided"]
    assert divided.norm > 0.2 and divided.effective > 7
    won = found["one has won"]
    assert won.largest == pytest.approx(0.99, abs=1e-4)
    assert won.norm == pytest.approx(0.011, abs=1e-3)
    assert found["two compete"].norm == pytest.approx(0.5, abs=0.001)
    assert found["all equal"].norm == pytest.approx(math.sqrt(KEYS - 1) / KEYS)
