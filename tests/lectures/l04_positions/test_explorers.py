"""Lecture 04's explorers: what is drawn is what plain complex numbers give."""

import json
import math

import numpy as np
import pytest
import torch

from course_utils.positions import apply_rope

from lectures.l04_positions.explorers.codes import (
    BINARY,
    DIGITS,
    NUMBER,
    POSITIONS,
    WAVES,
    PositionCodes,
)
from lectures.l04_positions.explorers.rope import FARTHEST, PAIRS, RopeClock
from lectures.l04_positions.explorers.torus import BASES as TORUS_BASES
from lectures.l04_positions.explorers.torus import KEYS, RopeTorus
from tests.explorers.support_browser import InBrowser, differences
from tests.explorers.support_node import KIT, run_module

# The codes


@pytest.fixture(scope="module")
def written():
    return PositionCodes()


@pytest.mark.parametrize("m", [0, 7, 63])
def test_distances_of_the_codes(written, m):
    positions = np.arange(POSITIONS)
    one_number = written.compute(code=NUMBER, m=m, n=0).apart
    assert np.allclose(one_number, np.abs(positions - m))
    binary = written.compute(code=BINARY, m=m, n=0).apart
    assert np.allclose(binary**2, [bin(m ^ n).count("1") for n in positions])
    hands = np.exp(1j * positions[:, None] / 2 ** np.arange(DIGITS))
    waves = written.compute(code=WAVES, m=m, n=0).apart
    assert np.allclose(waves, np.linalg.norm(hands - hands[m], axis=1))


def test_only_in_waves_the_distance_is_all_that_counts(written):
    def along(code):  # what all pairs of positions at one distance have
        apart = np.array([written.compute(code=code, m=m, n=0).apart for m in range(POSITIONS)])
        return [apart.diagonal(k) for k in range(1, POSITIONS)]

    assert all(np.ptp(each) < 1e-9 for each in along(WAVES))
    assert max(np.ptp(each) for each in along(BINARY)) > 1
    assert all(len(np.unique(each)) == 1 for each in along(NUMBER))


def test_fifteen_is_closer_to_seven_than_eight(written):
    apart = written.compute(code=BINARY, m=7, n=8).apart
    assert apart[15] == 1 and apart[8] == 2
    caption = written.caption(written.compute(**written.presets["binary: 7 and 8"]))
    assert "[q:000111]" in caption and "4 digits differ" in caption


def test_a_single_digit_differs(written):
    assert "1 digit differs" in written.caption(written.compute(code=BINARY, m=2, n=3))


def speeds(base):
    return base ** (-np.arange(PAIRS) / PAIRS)


# The clock


@pytest.fixture(scope="module")
def clock():
    with InBrowser(RopeClock()) as found:
        yield found


def rotated(place, base):
    """The core's rotation of a vector whose pairs all point to the right, as complex numbers."""
    right = torch.cat([torch.ones(PAIRS), torch.zeros(PAIRS)]).double()
    x, y = apply_rope(right[None], torch.tensor([place]), base=base)[0].chunk(2)
    return (x + 1j * y).numpy()


def expected(m, n, base, aim, pair):
    query, key = rotated(m - aim, base), rotated(n, base)
    shares = (query * key.conj()).real
    return {
        "shares": shares,
        "score": shares.mean(),
        "turn": 2 * math.pi / speeds(base)[pair],
        "apart": abs(math.degrees(np.angle(query[pair] * key[pair].conj()))),
    }


def test_the_clock_rotates_as_the_core_does(clock):
    assert differences(clock, expected) == []


@pytest.mark.parametrize(("m", "n", "aim"), [(3, 8001, 5), (FARTHEST, 0, 20)])
def test_hands_of_the_clock(clock, m, n, aim):
    state = clock.compute(m=m, n=n, base=1000, pair=7, aim=aim)
    assert np.allclose(np.exp(1j * state.q_angles), rotated(m - aim, 1000), atol=1e-9)
    assert np.allclose(np.exp(1j * state.k_angles), rotated(n, 1000), atol=1e-9)


@pytest.mark.parametrize(
    ("old", "new"), [("(offset + aim)", "(offset - aim)"), ("TURN / speed", "TURN * speed")]
)
def test_a_planted_difference_is_found(tmp_path, old, new):
    source = RopeClock.compute_path().read_text(encoding="utf-8")
    assert old in source
    broken = tmp_path / "rope.compute.js"
    kit = f'"{KIT.as_uri()}/'
    source = source.replace(old, new).replace('"../../../course_utils/explorers/kit/', kit)
    broken.write_text(source, encoding="utf-8")
    with InBrowser(RopeClock(), broken) as clock:
        assert differences(clock, expected)


@pytest.fixture(scope="module")
def offsets():
    module = json.dumps(RopeClock.compute_path().as_uri())
    return np.array(run_module(f"console.log(JSON.stringify((await import({module})).OFFSETS))"))


@pytest.mark.parametrize("aim", [0, 5, 20])
def test_curve_peaks_where_the_query_aims(clock, offsets, aim):
    state = clock.compute(m=5, n=0, base=10_000, pair=0, aim=aim)
    exact = np.cos((offsets[:, None] + aim) * speeds(10_000)).mean(1)
    assert np.allclose(state.curve, exact, atol=1e-9)
    assert offsets[state.curve.argmax()] == -aim and state.curve.max() == pytest.approx(1)
    assert state.curve[offsets == -5][0] == pytest.approx(state.score, abs=1e-12)
    assert np.isin(np.arange(-20, 21), offsets).all()
    assert (offsets[0], offsets[-1]) == (-FARTHEST, FARTHEST)


def test_shifting_both_leaves_the_scores(clock):
    labels = ("5 apart", "move both: nothing changes", "both 5,000 further")
    near, *others = clock.states([RopeClock.presets[label] for label in labels])
    for other in others:
        assert np.allclose(other.shares, near.shares, atol=1e-12)
        assert np.allclose(other.curve, near.curve)
        assert np.abs(np.exp(1j * other.q_angles) - np.exp(1j * near.q_angles)).max() > 1


# The torus


@pytest.fixture(scope="module")
def torus():
    return RopeTorus()


@pytest.mark.parametrize("slow", [0, 35, 100])
@pytest.mark.parametrize("base", TORUS_BASES)
def test_torus_against_complex_numbers(torus, slow, base):
    state = torus.compute(m=21, n=5, slow=slow, base=base)
    turns = np.arange(KEYS)[:, None] * np.array([1, base**-0.5])  # two pairs: D = 4
    lengths = np.sqrt([1 - slow / 100, slow / 100])
    keys = lengths * np.exp(1j * turns)
    parts = (keys * keys[21].conj()).real
    assert np.allclose(np.c_[state.fast, state.slow], parts, atol=1e-9)
    assert np.allclose(state.scores, parts.sum(1), atol=1e-9)
    assert np.allclose(np.c_[state.fast_angles, state.slow_angles], turns)
    assert state.tube == pytest.approx(lengths[0])
    assert state.scores[21] == pytest.approx(1), "a rotation keeps the length, 1"


def test_the_mean_of_the_cosines_needs_equal_lengths(torus):
    cosines = np.cos(np.arange(KEYS)[:, None] * np.array([1, 0.1])).mean(1)
    equal, unequal = (torus.compute(m=0, n=0, slow=each, base=100).scores for each in (50, 10))
    assert np.allclose(equal, cosines) and np.abs(unequal - cosines).max() > 0.3


def test_only_the_distance_counts(torus):
    near, far = (torus.compute(m=m, n=0, slow=30, base=100) for m in (3, 40))
    assert np.allclose(near.scores[:27], far.scores[37:])


def test_presets_of_the_torus(torus):
    states = {label: torus.compute(**values) for label, values in torus.presets.items()}
    at = {label: state.scores[state.n] for label, state in states.items()}
    assert at["… with a long fast pair"] > 0.8 > 0.4 > at["44 apart"]
    assert at["… and a slower slow pair"] < at["… with a long slow pair"] < 0
    assert states["only the slow pair"].tube == 0 and (states["only the slow pair"].fast == 0).all()
    assert {state.n - state.m for state in states.values()} == {6, 44}
