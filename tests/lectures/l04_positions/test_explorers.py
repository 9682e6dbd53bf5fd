"""Lecture 04's explorers: what is drawn is what plain complex numbers give."""

import math

import numpy as np
import pytest

from course_utils.lectures.l04_positions.explorers.rope import (
    AIMS,
    BASES,
    FARTHEST,
    OFFSETS,
    PAIRS,
    RopeClock,
)
from course_utils.lectures.l04_positions.explorers.sphere import BASES as SPHERE_BASES
from course_utils.lectures.l04_positions.explorers.sphere import (
    KEYS,
    LONGEST,
    OFF,
    ON,
    PAIR_COUNTS,
    SAME_ANGLE,
    RopeSphere,
    find_twins,
)
from tests.explorers.support_explorers import move


def speeds(base):
    return base ** (-np.arange(PAIRS) / PAIRS)


# The clock


@pytest.fixture(scope="module")
def clock():
    return RopeClock()


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(("m", "n", "aim"), [(3, 8001, 5), (FARTHEST, 0, 20)])
def test_clock_against_complex_numbers(clock, base, m, n, aim):
    state = clock.compute(m=m, n=n, base=base, pair=7, aim=aim)
    query, key = np.exp(1j * (m - aim) * speeds(base)), np.exp(1j * n * speeds(base))
    assert np.allclose(np.exp(1j * state.q_angles), query, atol=1e-9)
    assert np.allclose(np.exp(1j * state.k_angles), key, atol=1e-9)
    shares = (query * key.conj()).real
    assert np.allclose(state.shares, shares, atol=1e-9)
    assert state.score == pytest.approx(shares.mean(), abs=1e-9)
    apart = abs(math.degrees(np.angle(query[7] * key[7].conj())))
    assert state.apart == pytest.approx(apart, abs=1e-6)
    assert state.turn == pytest.approx(2 * math.pi / speeds(base)[7])


@pytest.mark.parametrize("aim", AIMS)
def test_curve_peaks_where_the_query_aims(clock, aim):
    state = clock.compute(m=5, n=0, base=10_000, pair=0, aim=aim)
    exact = np.cos((OFFSETS[:, None] + aim) * speeds(10_000)).mean(1)
    assert np.allclose(state.curve, exact, atol=1e-9)
    assert OFFSETS[state.curve.argmax()] == -aim and state.curve.max() == pytest.approx(1)
    assert state.curve[OFFSETS == -5][0] == pytest.approx(state.score, abs=1e-12)
    assert np.isin(np.arange(-20, 21), OFFSETS).all()
    assert (OFFSETS[0], OFFSETS[-1]) == (-FARTHEST, FARTHEST)


def test_shifting_both_leaves_the_scores(clock):
    near, shifted, far_shifted, _, _, _ = (clock.compute(**v) for v in clock.presets.values())
    for other in (shifted, far_shifted):
        assert np.allclose(other.shares, near.shares, atol=1e-12)
        assert np.allclose(other.curve, near.curve)
        assert np.abs(np.exp(1j * other.q_angles) - np.exp(1j * near.q_angles)).max() > 1


def test_presets_of_the_clock(clock):
    _, _, _, far, slow, aimed = (clock.compute(**v) for v in clock.presets.values())
    assert abs(far.score) < 0.05 < 0.3 < slow.score
    assert far.m - far.n == slow.m - slow.n == 4000
    assert aimed.score == pytest.approx(1) and np.allclose(aimed.q_angles, aimed.k_angles)
    clock.set(**clock.presets["a query that aims 5 back"])
    assert clock.words == (
        "With the query at 17 and the key at 12, the score is 1.000 of its maximum. "
        "In pair 4, the hands are 0° apart."
    )


# The sphere


@pytest.fixture(scope="module")
def sphere():
    return RopeSphere()


@pytest.mark.parametrize("lengths", [OFF, ON])
@pytest.mark.parametrize("pairs", PAIR_COUNTS)
@pytest.mark.parametrize("base", SPHERE_BASES)
def test_sphere_against_complex_numbers(sphere, lengths, pairs, base):
    state = sphere.compute(distance=3, lengths=lengths, spread=0.2, pairs=pairs, base=base)
    speed = float(base) ** (-np.arange(pairs) / pairs)
    cosines = np.cos(np.arange(KEYS)[:, None] * speed).mean(1)
    # The arc cosine loses half of the digits where the cosine is 1.
    assert np.allclose(np.cos(np.radians(state.angles)), cosines, atol=1e-9)
    assert np.allclose(state.scores, state.norms * cosines, atol=1e-9)
    assert state.changed_norm < 1e-12
    assert state.norms.max() < LONGEST
    one, other = state.twins
    assert one != other and abs(state.angles[one] - state.angles[other]) <= SAME_ANGLE
    gap = abs(state.scores[one] - state.scores[other])
    if lengths == ON:
        assert np.allclose(state.scores, cosines) and np.allclose(state.norms, 1)
        assert gap < 0.05, "two degrees make no larger difference on the sphere"
    else:
        assert gap > 0.1 and np.ptp(state.norms) > 0.5


def test_one_pair_is_a_circle(sphere):
    one = sphere.compute(distance=3, lengths=ON, spread=0.0, pairs=1, base=100)
    turns = np.arange(KEYS) % (2 * math.pi)
    assert np.allclose(one.angles, np.degrees(np.minimum(turns, 2 * math.pi - turns)), atol=1e-5)
    eight = sphere.compute(distance=3, lengths=ON, spread=0.0, pairs=8, base=100)
    assert np.abs(eight.angles - one.angles).max() > 50


def test_scenes_of_the_sphere(sphere):
    scenes = [sphere.compute(**values) for values in sphere.scenes.values()]
    mixed, unit, same, circle, slow = scenes
    assert np.allclose(same.scores, unit.scores) and not np.allclose(mixed.scores, unit.scores)
    assert circle.pairs == 1 and circle.angles[4] == pytest.approx(360 - math.degrees(4))
    assert slow.angles.max() < unit.angles.max(), "slower pairs keep more keys near"


def test_drawing_and_caption_of_the_sphere(sphere):
    sphere.set(distance=4, lengths=OFF, spread=0.3, pairs=8, base=10_000)
    state = sphere.state
    x, y = sphere._tips.get_data()
    assert np.allclose(np.hypot(x, y), state.norms) and np.allclose(x, state.scores)
    assert np.allclose(np.degrees(np.arctan2(y, x)), state.angles)
    assert sphere._shadow.get_xdata()[1] == state.scores[4] == sphere._here.get_ydata()[0]
    assert f"score is {state.norms[4]:.2f} times the cosine, {state.scores[4]:.2f}" in sphere.words
    move(sphere, distance=0)
    assert "At the query's own place, the key stands at 0°" in sphere.words
    move(sphere, pairs=1, distance=1)
    assert "1 position of 57.3°" in sphere.words and "make 57°" in sphere.words


def test_twins_differ_most_at_one_angle():
    angles = np.array([10.0, 11.5, 40.0, 41.0, 90.0])
    assert find_twins(angles, np.array([1.0, 0.2, 0.9, 0.5, -9.0])) == (0, 1)
    assert find_twins(angles, np.array([1.0, 0.9, 0.9, 0.5, -9.0])) == (2, 3)
