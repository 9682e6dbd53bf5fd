"""Lecture 04's explorers: what is drawn is what plain complex numbers give."""

import json
import math
from functools import cache

import numpy as np
import pytest
import torch

from course_utils.positions import apply_rope
from lectures.l04_positions.explorers.codes import (
    BINARY,
    NUMBER,
    POSITIONS,
    WAVES,
    PositionCodes,
)
from lectures.l04_positions.explorers.rope import FARTHEST, PAIRS, RopeClock
from lectures.l04_positions.explorers.torus import KEYS, RopeTorus
from tests.explorers.support_browser import InBrowser, differences
from tests.explorers.support_node import KIT, run_module


def exported(explorer, names, what):
    """What an expression gives of an explorer's own JavaScript."""
    module = json.dumps(explorer.compute_path().as_uri())
    source = f"const {{ {names} }} = await import({module});"
    return run_module(f"{source} console.log(JSON.stringify({what}));")


# The codes


HANDS = np.exp(1j * np.arange(POSITIONS)[:, None] / 2 ** np.arange(6))


@pytest.fixture(scope="module")
def written():
    with InBrowser(PositionCodes()) as found:
        yield found


def distances(code, m, n):
    apart = {
        NUMBER: [abs(at - m) for at in range(POSITIONS)],
        BINARY: [(at ^ m).bit_count() ** 0.5 for at in range(POSITIONS)],
        WAVES: np.linalg.norm(HANDS - HANDS[m], axis=1),
    }
    return {"apart": apart[code]}


def test_distances_of_the_codes(written):
    assert differences(written, distances) == []


def test_table_of_the_codes():
    number, binary, waves = exported(
        PositionCodes,
        "KINDS, POSITIONS, codeOf",
        "KINDS.map(kind => Array.from({ length: POSITIONS }, (_, at) => codeOf(kind, at)))",
    )
    assert number == [[at] for at in range(POSITIONS)]
    assert binary == [[int(digit) for digit in f"{at:06b}"[::-1]] for at in range(POSITIONS)]
    assert np.allclose(np.array(waves).view(complex), HANDS)


def test_only_in_waves_the_distance_is_all_that_counts(written):
    def along(code):  # what all pairs of positions at one distance have
        states = written.states([{"code": code, "m": m} for m in range(POSITIONS)])
        apart = np.array([state.apart for state in states])
        return [apart.diagonal(k) for k in range(1, POSITIONS)]

    assert all(np.ptp(each) < 1e-9 for each in along(WAVES))
    assert max(np.ptp(each) for each in along(BINARY)) > 1
    assert all(len(np.unique(each)) == 1 for each in along(NUMBER))


def test_fifteen_is_closer_to_seven_than_eight(written):
    state = written.compute(code=BINARY, m=7, n=8)
    assert state.apart[15] == 1 and state.apart[8] == 2
    assert "[q:000111]" in state.caption and "4 digits differ" in state.caption


def test_waves_have_false_neighbours(written):
    """Fifty positions on, the four fastest hands are nearly where they were."""
    state = written.compute(code=WAVES, m=7, n=57)
    assert [round(float(state.apart[at]), 2) for at in (57, 10)] == [2.47, 2.56]
    turns = 50 / 2.0 ** np.arange(6) / (2 * math.pi)
    assert (abs(turns - turns.round()) < 0.05).tolist() == [True] * 4 + [False] * 2


def test_words_of_the_codes(written):
    one, several, number, waves = written.states(
        [{"code": BINARY, "m": 2, "n": 3}, {"code": BINARY, "m": 5, "n": 58},
         {"code": NUMBER, "m": 7, "n": 57}, {"code": WAVES, "m": 40, "n": 9}]
    )  # fmt: skip
    assert "1 digit differs" in one.words
    assert several.words.startswith("In binary, 5 is 000101 and 58 is 111010: 6 digits differ")
    assert several.words.endswith("2.45 apart.")
    assert number.words == "As numbers, the codes of 7 and 57 are 50.00 apart."
    far = np.linalg.norm(HANDS[40] - HANDS[9])
    assert f"40 and 9 are {far:.2f} apart, like those of" in waves.words
    assert waves.words.endswith("at distance 31.")


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
    ("old", "new"), [("(distance - aim)", "(distance + aim)"), ("TURN / speed", "TURN * speed")]
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
def distances_apart():
    return np.array(exported(RopeClock, "DISTANCES", "DISTANCES"))


@pytest.mark.parametrize("aim", [0, 5, 20])
def test_curve_peaks_where_the_query_aims(clock, distances_apart, aim):
    state = clock.compute(m=5, n=0, base=10_000, pair=0, aim=aim)
    exact = np.cos((distances_apart[:, None] - aim) * speeds(10_000)).mean(1)
    assert np.allclose(state.curve, exact, atol=1e-9)
    assert distances_apart[state.curve.argmax()] == aim and state.curve.max() == pytest.approx(1)
    assert state.curve[distances_apart == 5][0] == pytest.approx(state.score, abs=1e-12)
    assert np.isin(np.arange(-20, 21), distances_apart).all()
    assert (distances_apart[0], distances_apart[-1]) == (-FARTHEST, FARTHEST)


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
    with InBrowser(RopeTorus()) as found:
        yield found


@cache
def turned(base):
    """Both pairs (64, 2) at every position as complex numbers: the core turns them, D = 4."""
    right = torch.tensor([1, 1, 0, 0]).double().expand(KEYS, -1)
    x, y = apply_rope(right, torch.arange(KEYS), base=base).unflatten(-1, (2, 2)).unbind(-2)
    return (x + 1j * y).numpy()


def wound(m, n, slow, base):
    lengths = np.sqrt([1 - slow / 100, slow / 100])
    keys = lengths * turned(base)
    fast, slow_part = (keys * keys[m].conj()).real.T
    return {
        "fast": fast,
        "slow": slow_part,
        "scores": fast + slow_part,
        "fast_angles": np.arange(KEYS),
        "slow_angles": np.arange(KEYS) * base**-0.5,
        "tube": lengths[0],
    }


def test_the_torus_is_wound_as_the_core_rotates(torus):
    assert differences(torus, wound) == []


@pytest.mark.parametrize("slow", [0, 35, 100])
def test_a_rotation_keeps_the_length(torus, slow):
    state = torus.compute(m=21, slow=slow)
    assert state.scores[21] == pytest.approx(1)


def test_the_mean_of_the_cosines_needs_equal_lengths(torus):
    cosines = np.cos(np.arange(KEYS)[:, None] * np.array([1, 0.1])).mean(1)
    settings = [{"m": 0, "n": 0, "slow": each, "base": 100} for each in (50, 10)]
    equal, unequal = (state.scores for state in torus.states(settings))
    assert np.allclose(equal, cosines) and np.abs(unequal - cosines).max() > 0.3


def test_only_the_distance_counts(torus):
    near, far = torus.states([{"m": m, "n": 0, "slow": 30, "base": 100} for m in (3, 40)])
    assert np.allclose(near.scores[:27], far.scores[37:])


def test_presets_of_the_torus(torus):
    states = dict(zip(RopeTorus.presets, torus.states(RopeTorus.presets.values()), strict=True))
    at = {label: state.scores[state.n] for label, state in states.items()}
    assert at["… with a long fast pair"] > 0.8 > 0.4 > at["44 apart"]
    assert at["… and a slower slow pair"] < at["… with a long slow pair"] < 0
    assert states["only the slow pair"].tube == 0 and (states["only the slow pair"].fast == 0).all()
    assert {state.n - state.m for state in states.values()} == {6, 44}


def test_words_of_the_torus(torus):
    # 0.5 cos 44 + 0.5 cos 4.4 = 0.49992 − 0.15367
    assert torus.compute(**RopeTorus.presets["44 apart"]).words == (
        "With the query at 10 and the key at 54, the fast pair adds 0.50 and the slow pair −0.15: "
        "the score is 0.35."
    )
