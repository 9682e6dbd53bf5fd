"""Lecture 04's figures and explorers: what is drawn is what plain complex numbers give."""

import math

import numpy as np
import pytest
import torch

from course_utils.lectures.l04_positions import figures as figures_04
from course_utils.lectures.l04_positions.explorers.rope import (
    AIMS,
    BASES,
    DISTANCES,
    FARTHEST,
    PAIRS,
    RopeClock,
    place,
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
from course_utils.positions import apply_rope, sinusoidal_positions
from tests.core.support_properties import given, st
from tests.explorers.support_explorers import move
from tests.explorers.support_explorers import overhang

LENGTHS = np.array([32.0, 64.0, 128.0, 256.0])
RESULTS = {
    name: np.linspace(start, end, 4) + np.array([[-0.03], [0.0], [0.03]])
    for name, start, end in (
        ("none", 0.5, 0.2),
        ("learned", 0.9, 0.11),
        ("sinusoidal", 0.95, 0.1),
        ("RoPE", 0.97, 0.35),
        ("RoPE, interpolated", 0.97, 0.33),
        ("RoPE, NTK base", 0.97, 0.6),
        ("ALiBi", 0.97, 0.9),
    )
}
TABLE = sinusoidal_positions(31, 14).numpy()


def score_table(pairing):
    places = torch.arange(29)
    q, k = torch.randn(2, 10, generator=torch.Generator().manual_seed(0))
    turned = apply_rope(q.expand(29, 10), places)
    return (turned @ apply_rope(k.expand(29, 10), places, pairing=pairing).mT).numpy()


SCORES = {"one pairing": score_table("half"), "mixed": score_table("interleaved")}
FIGURES = {
    "extrapolation": lambda: figures_04.draw_extrapolation(RESULTS, LENGTHS, 32),
    "sinusoids": lambda: figures_04.draw_sinusoids(TABLE),
    "scores": lambda: figures_04.draw_relative_scores(SCORES),
}


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_cut_off(name):
    assert overhang(FIGURES[name]()) <= 1


def defaults(explorer):
    return {name: each.default for name, each in explorer.inputs.items()}


def speeds(base):
    return base ** (-np.arange(PAIRS) / PAIRS)


# The clock


@pytest.fixture(scope="module")
def clock():
    return RopeClock()


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(("m", "n", "aim"), [(17, 12, 0), (3, 8001, 5), (FARTHEST, 0, 20)])
def test_hands_and_scores_are_those_of_complex_numbers(clock, base, m, n, aim):
    state = clock.compute(m=m, n=n, base=base, pair=7, aim=aim)
    query, key = np.exp(1j * (m - aim) * speeds(base)), np.exp(1j * n * speeds(base))
    assert np.allclose(np.exp(1j * state.q_angles), query, atol=1e-9)
    assert np.allclose(np.exp(1j * state.k_angles), key, atol=1e-9)
    shares = (query * key.conj()).real
    assert np.allclose(state.shares, shares, atol=1e-9)
    assert state.score == pytest.approx(shares.mean(), abs=1e-9)
    assert state.still == (shares > 0.5).sum()
    assert state.speed == pytest.approx(speeds(base)[7])


@pytest.mark.parametrize("aim", AIMS)
def test_the_curve_is_the_score_at_every_distance_and_peaks_where_the_query_aims(clock, aim):
    state = clock.compute(m=5, n=0, base=10_000, pair=0, aim=aim)
    exact = np.cos((DISTANCES[:, None] - aim) * speeds(10_000)).mean(1)
    assert np.allclose(state.curve, exact, atol=1e-9)
    assert DISTANCES[state.curve.argmax()] == aim and state.curve.max() == pytest.approx(1)
    assert state.curve[DISTANCES == 5][0] == pytest.approx(state.score, abs=1e-12)
    assert np.isin(np.arange(-20, 21), DISTANCES).all()
    assert (DISTANCES[0], DISTANCES[-1]) == (-FARTHEST, FARTHEST)


def test_shifting_both_turns_the_hands_and_leaves_the_scores(clock):
    near, shifted, far_shifted, _, _, _ = (clock.compute(**v) for v in clock.scenes.values())
    for other in (shifted, far_shifted):
        assert np.allclose(other.shares, near.shares, atol=1e-12)
        assert np.allclose(other.curve, near.curve)
        assert np.abs(np.exp(1j * other.q_angles) - np.exp(1j * near.q_angles)).max() > 1


def test_the_scenes_of_the_clock_show_what_they_say(clock):
    _, _, _, far, slow, aimed = (clock.compute(**v) for v in clock.scenes.values())
    assert abs(far.score) < 0.05 < 0.3 < slow.score
    assert far.m - far.n == slow.m - slow.n == 4000
    assert aimed.score == pytest.approx(1) and np.allclose(aimed.q_angles, aimed.k_angles)
    clock.set(**clock.scenes["a query that aims 5 back"])
    assert "m − n = 5, and the query aims 5 back. The score is 1.000" in clock.words


def test_the_drawing_of_the_clock_is_the_state(clock):
    clock.set(m=40, n=43, base=1_000, pair=18, aim=1)
    state = clock.state
    (_, x), (_, y) = clock._hands[1].get_data()
    assert math.atan2(y, x) == pytest.approx(state.q_angles[18])
    assert clock._dot.get_xdata() == place(np.array([-3]))
    assert clock._dot.get_ydata() == [state.score]
    clock.set(m=7235, n=0, base=10_000)  # a distance that the curve's own points skip
    assert 7235 not in DISTANCES
    x, y = clock._curve.get_data()
    assert y[x == place(np.array([7235]))] == [clock.state.score] and (np.diff(x) > 0).all()
    clock.set(m=40, n=43, base=1_000)
    assert clock._frame.get_xy() == pytest.approx((2 - 0.47, 1 - 0.47))
    x, y = (part.reshape(PAIRS, 3) for part in clock._small[0].get_data())
    # On the screen y grows downwards.
    assert np.allclose(np.arctan2(y[:, 0] - y[:, 1], x[:, 1] - x[:, 0]), state.k_angles)
    assert "m − n = −3, and the query aims 1 back" in clock.words
    wave = clock._wave
    middle = wave.get_xdata()[np.nanargmax(wave.get_ydata())]
    assert middle == pytest.approx(place(np.array([1]))[0])


@given(distance=st.integers(-FARTHEST, FARTHEST))
def test_the_axis_of_distances_is_odd_and_rises(distance):
    before, here, mirrored = place(np.array([distance - 1, distance, -distance]))
    assert mirrored == -here and before < here


# The sphere


@pytest.fixture(scope="module")
def sphere():
    return RopeSphere()


@pytest.mark.parametrize("lengths", [OFF, ON])
@pytest.mark.parametrize("pairs", PAIR_COUNTS)
@pytest.mark.parametrize("base", SPHERE_BASES)
def test_angles_and_scores_are_those_of_complex_numbers(sphere, lengths, pairs, base):
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


def test_one_pair_is_a_circle_and_several_are_not(sphere):
    one = sphere.compute(distance=3, lengths=ON, spread=0.0, pairs=1, base=100)
    turns = np.arange(KEYS) % (2 * math.pi)
    assert np.allclose(one.angles, np.degrees(np.minimum(turns, 2 * math.pi - turns)), atol=1e-5)
    eight = sphere.compute(distance=3, lengths=ON, spread=0.0, pairs=8, base=100)
    assert np.abs(eight.angles - one.angles).max() > 50


def test_lengths_do_no_harm_where_all_are_equal(sphere):
    scenes = [sphere.compute(**values) for values in sphere.scenes.values()]
    mixed, unit, same, circle, slow = scenes
    assert np.allclose(same.scores, unit.scores) and not np.allclose(mixed.scores, unit.scores)
    assert circle.pairs == 1 and circle.angles[4] == pytest.approx(360 - math.degrees(4))
    assert slow.angles.max() < unit.angles.max(), "slower pairs keep more keys near"


def test_the_drawing_and_the_words_of_the_sphere_are_the_state(sphere):
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


def test_twins_are_the_widest_apart_of_those_at_one_angle():
    angles = np.array([10.0, 11.5, 40.0, 41.0, 90.0])
    assert find_twins(angles, np.array([1.0, 0.2, 0.9, 0.5, -9.0])) == (0, 1)
    assert find_twins(angles, np.array([1.0, 0.9, 0.9, 0.5, -9.0])) == (2, 3)


# Static figures


def test_every_scheme_has_its_line_its_band_and_its_name():
    axes = FIGURES["extrapolation"]().axes[0]
    lines = [line for line in axes.lines if line.get_marker() not in ("None", None, "")]
    for line, (name, table) in zip(lines, RESULTS.items(), strict=True):
        assert np.allclose(line.get_ydata(), table.mean(0)), name
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == len(RESULTS)
    names = [text for text in axes.texts if text.get_text() in RESULTS]
    assert [text.get_text() for text in names] == list(RESULTS)
    heights = sorted(text.get_position()[1] for text in names)
    assert np.diff(heights).min() >= figures_04.LABEL_GAP - 1e-9
    for band, table in zip(axes.collections, RESULTS.values(), strict=True):
        edge = band.get_paths()[0].vertices[:, 1]
        assert (edge.min(), edge.max()) == pytest.approx((table.min(), table.max()))


def test_extrapolation_is_told_from_the_trained_length_to_the_longest():
    words = figures_04.describe_extrapolation(RESULTS, LENGTHS, 100)
    assert "mean of 3 seeds" in words and "up to 100 tokens. From 64 to 256 tokens" in words
    assert "ALiBi 0.95 → 0.90 (0.87 to 0.93)" in words


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_labels_keep_their_order_and_stand_apart(places):
    places = np.array(places)
    spread = figures_04.spread_out(places, 0.1)
    order = np.argsort(places, kind="stable")
    if len(places) > 1:
        assert np.diff(spread[order]).min() >= 0.1 - 1e-9
    assert spread.min() >= -1e-9 and spread.max() <= 1 + 1e-9
    # Where there is room from the start, nothing moves.
    apart = np.linspace(0.0, 1.0, len(places)) if len(places) > 1 else np.array([0.3])
    assert np.allclose(figures_04.spread_out(apart, 0.1), apart)


def test_labels_that_clash_move_as_little_as_possible():
    assert figures_04.spread_out(np.array([0.5, 0.5]), 0.2) == pytest.approx([0.4, 0.6])
    assert figures_04.spread_out(np.array([0.0, 0.02]), 0.1) == pytest.approx([0.0, 0.1])
    # A pair that spreads meets the third, and the three spread about their mean.
    spread = figures_04.spread_out(np.array([0.62, 0.5, 0.5]), 0.1)
    assert spread == pytest.approx([0.64, 0.44, 0.54])


def test_the_sinusoidal_table_is_drawn_as_it_is():
    image = FIGURES["sinusoids"]().axes[0].images[0]
    assert np.array_equal(image.get_array(), TABLE) and image.get_clim() == (-1, 1)
    changes = (np.diff(np.sign(np.cos(np.arange(31)))) != 0).sum()
    words = figures_04.describe_sinusoids(TABLE)
    assert f"changes its sign {changes} times, the last 0 times" in words


def test_score_tables_share_one_scale_and_say_how_even_their_diagonals_are():
    figure = FIGURES["scores"]()
    images = [image for axes in figure.axes for image in axes.images]
    assert [np.array_equal(i.get_array(), t) for i, t in zip(images, SCORES.values(), strict=True)]
    reach = max(np.abs(table).max() for table in SCORES.values())
    assert all(image.get_clim() == pytest.approx((-reach, reach)) for image in images)
    assert figures_04._diagonal_spread(SCORES["one pairing"]) < 1e-5
    assert figures_04._diagonal_spread(SCORES["mixed"]) > 1
    words = figures_04.describe_relative_scores(SCORES)
    assert f"mixed: {figures_04._diagonal_spread(SCORES['mixed']):.2g}" in words
