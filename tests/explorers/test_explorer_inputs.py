"""The descriptions of controls: what they build, refuse, sweep and draw at random."""

from random import Random

import ipywidgets
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_utils.explorers.drawn_inputs import Choice, FreeText, Slider, Steps
from tests.support_errors import raises_saying

WHOLE = Slider("head width d_k", 2, 13, 1, 5)
BROKEN = Slider("correlation", -1.0, 1.0, 0.05, 0.25)
STEPS = Steps("width", (2, 3, 5, 7), 5)
CHOICE = Choice("coordinates are", ("normal", "uniform"), "normal")
TEXT = FreeText("own text", "it", examples=("", "a b"), placeholder="type here")
ALL = [WHOLE, BROKEN, STEPS, CHOICE, TEXT]


@pytest.mark.parametrize(
    ("given_as", "kind"),
    [
        (WHOLE, ipywidgets.IntSlider),
        (BROKEN, ipywidgets.FloatSlider),
        (STEPS, ipywidgets.SelectionSlider),
        (CHOICE, ipywidgets.Dropdown),
        (TEXT, ipywidgets.Text),
    ],
)
def test_a_description_builds_its_control(given_as, kind):
    control = given_as.build()
    assert type(control) is kind
    assert control.value == given_as.default
    assert control.description == given_as.description
    assert control is not given_as.build()


def test_a_slider_hands_on_its_ends_and_its_step():
    whole, broken = WHOLE.build(), BROKEN.build()
    assert (whole.min, whole.max, whole.step) == (2, 13, 1)
    assert (broken.min, broken.max, broken.step) == (-1.0, 1.0, 0.05)
    assert broken.readout_format == ".2f"


def test_sliders_and_text_answer_while_they_move():
    assert all(each.build().continuous_update for each in (WHOLE, BROKEN, STEPS, TEXT))


@pytest.mark.parametrize("each", ALL, ids=lambda each: type(each).__name__)
def test_the_control_can_stand_at_every_value_it_sweeps_or_draws(each):
    control, random = each.build(), Random(0)
    for value in [*each.sweep(), *(each.sample(random) for _ in range(50))]:
        each.check("x", value)
        control.value = value
        assert control.value == value and type(control.value) is type(value)


def test_a_sweep_has_both_ends_and_places_between():
    assert WHOLE.sweep() == [2, 4, 7, 10, 13]
    assert BROKEN.sweep() == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert STEPS.sweep() == [2, 3, 5, 7]
    assert TEXT.sweep() == ["it", "", "a b"]
    assert Slider("two", 0, 1, 1, 0).sweep() == [0, 1]


def test_random_values_reach_every_step_and_depend_on_the_seed_alone():
    drawn = {BROKEN.sample(random) for random in [Random(0)] for _ in range(2000)}
    assert len(drawn) == 41 and {-1.0, 0.35, 1.0} <= drawn
    assert {STEPS.sample(random) for random in [Random(0)] for _ in range(99)} == {2, 3, 5, 7}
    assert WHOLE.sample(Random(3)) == WHOLE.sample(Random(3))


@given(
    low=st.integers(-50, 50),
    steps=st.integers(1, 60),
    rest=st.floats(0, 0.99),
    step=st.sampled_from([1, 3, 0.05, 0.1, 0.25]),
    seed=st.integers(0, 9),
)
def test_no_value_lies_beyond_an_end_that_is_no_whole_step(low, steps, rest, step, seed):
    slider = Slider("x", low, low + step * (steps + rest), step, low)
    values = [*slider.sweep(), slider.sample(Random(seed))]
    assert values[0] == low
    # Steps are rounded to ten digits.
    assert max(values) <= slider.maximum + 1e-9
    assert slider.sweep()[-1] == pytest.approx(low + step * steps)


@pytest.mark.parametrize(
    ("each", "value", "error", "message"),
    [
        (WHOLE, 1, ValueError, "x must lie between 2 and 13, got 1"),
        (WHOLE, 14, ValueError, "x must lie between 2 and 13, got 14"),
        (WHOLE, 5.0, TypeError, "x must be a whole number, got 5.0"),
        (WHOLE, False, TypeError, "x must be a whole number, got False"),
        (BROKEN, 1.01, ValueError, "x must lie between -1.0 and 1.0, got 1.01"),
        (BROKEN, float("nan"), ValueError, "x must lie between -1.0 and 1.0, got nan"),
        (BROKEN, "0", TypeError, "x must be a number, got '0'"),
        (STEPS, 4, ValueError, "x must be one of [2, 3, 5, 7], got 4"),
        (CHOICE, "cauchy", ValueError, "x must be one of ['normal', 'uniform'], got 'cauchy'"),
        (CHOICE, ["normal"], ValueError, "x must be one of ['normal', 'uniform'], got ['normal']"),
        (TEXT, None, TypeError, "x must be text, got NoneType"),
    ],
)
def test_a_value_that_the_control_cannot_hold_is_refused(each, value, error, message):
    with raises_saying(error, message):
        each.check("x", value)


def test_a_whole_number_will_do_where_a_broken_one_may_stand():
    BROKEN.check("x", 1)
    control = BROKEN.build()
    control.value = 1
    assert control.value == 1.0
