"""What goes wrong in an explorer: said under the controls, never swallowed, nothing half-drawn."""

import numpy as np
import pytest

from course_utils.explorers.drawn import DrawnExplorer
from tests.explorers.support_explorers import (
    Toy,
    error_line,
    move,
    press,
    shown_png,
    words_widget,
)
from tests.support_errors import raises_saying


class Failing(Toy):
    """Fails at slope 10, in the method named by `where`, after half of its work."""

    where = "compute"
    scenes = {"bad": {"slope": 10, "paper": "lined"}, "good": {"slope": 4, "paper": "plain"}}

    def _fail_at_ten(self, method, slope):
        if method == self.where and slope == 10:
            raise ZeroDivisionError("a <slope> of ten & more")

    def compute(self, **values):
        self._fail_at_ten("compute", values["slope"])
        return super().compute(**values)

    def draw_backdrop(self, state):
        self._axes.set_xlim(-9, 9)
        self._fail_at_ten("draw_backdrop", state.slope)
        super().draw_backdrop(state)

    def update(self, state):
        self._line.set_data([0, 1], [0, 1])
        self._fail_at_ten("update", state.slope)
        super().update(state)

    def caption(self, state):
        self._fail_at_ten("caption", state.slope)
        return super().caption(state)


@pytest.fixture(params=["compute", "caption", "update", "draw_backdrop"])
def failing(request):
    toy = Failing()
    toy.where = request.param
    toy.widget()
    return toy


class TestFailures:
    def test_an_event_says_why_and_keeps_the_last_good_picture(self, failing):
        png, words, state = failing.png(), failing.words, failing.state
        press(failing, "bad")
        assert isinstance(failing.error, ZeroDivisionError)
        assert (failing.png(), failing.words) == (png, words)
        assert failing.state is state
        assert shown_png(failing) == png
        assert failing.png(fresh=True) == png
        assert words_widget(failing, "course-caption").value.count("rises by 3")

    def test_the_reason_is_in_words_with_the_values_and_escaped(self, failing):
        press(failing, "bad")
        line = error_line(failing)
        assert "ZeroDivisionError: a &lt;slope&gt; of ten &amp; more" in line
        assert "slope = 10, shift = 0.0, paper = &#x27;lined&#x27;" in line
        assert "the last values that worked" in line
        assert "<slope>" not in line and "Traceback" not in line
        assert 'role="alert"' in line

    def test_the_next_good_event_clears_it(self, failing):
        press(failing, "bad")
        assert error_line(failing) is not None
        press(failing, "good")
        assert failing.error is None and error_line(failing) is None
        assert failing.png() == Toy(slope=4).png() == failing.png(fresh=True)

    def test_set_raises_and_shows(self, failing):
        png = failing.png()
        with raises_saying(ZeroDivisionError, "a <slope> of ten & more"):
            failing.set(slope=10, paper="lined")
        assert error_line(failing) is not None and failing.png() == png
        failing.set(slope=9)
        assert error_line(failing) is None

    def test_a_control_event_does_not_raise(self):
        toy = Failing()
        toy.png()
        move(toy, slope=10)
        assert isinstance(toy.error, ZeroDivisionError)

    @pytest.mark.parametrize("where", ["compute", "caption", "update", "draw_backdrop", "draw"])
    @pytest.mark.parametrize(
        "first", [DrawnExplorer.png, DrawnExplorer.widget, DrawnExplorer._repr_mimebundle_]
    )
    def test_a_first_picture_that_fails_raises_and_may_be_tried_again(self, where, first):
        class FailsAtFirst(Failing):
            def draw(self, figure, state):
                super().draw(figure, state)
                self._fail_at_ten("draw", state.slope)

        toy = FailsAtFirst(slope=10)
        toy.where = where
        for _ in range(2):
            with raises_saying(ZeroDivisionError, "a <slope> of ten & more"):
                first(toy)
        move(toy, slope=4)
        assert toy.png() == Toy(slope=4).png() == toy.png(fresh=True)

    def test_a_failing_preparation_is_no_secret(self):
        class Unprepared(Toy):
            def prepare(self):
                raise OSError("no such table")

        with raises_saying(OSError, "no such table"):
            Unprepared().png()

    def test_stopping_the_kernel_is_not_an_error_of_the_explorer(self):
        class Stopped(Toy):
            def compute(self, slope, **values):
                if slope == 10:
                    raise KeyboardInterrupt
                return super().compute(slope=slope, **values)

        toy = Stopped()
        toy.png()
        with pytest.raises(KeyboardInterrupt):
            move(toy, slope=10)

    def test_a_long_value_is_shortened_in_the_reason(self):
        toy = Failing()
        toy.widget()
        move(toy, name="w" * 5000, slope=10)
        assert "name = &#x27;www" in error_line(toy) and len(error_line(toy)) < 500


class TestValues:
    def test_an_unknown_control(self):
        message = "width is not a control; the controls are ['slope', 'shift', 'paper', 'name']"
        for act in (lambda: Toy(width=3), lambda: Toy().set(width=3)):
            with raises_saying(ValueError, message):
                act()

    def test_a_bad_value_is_refused_and_nothing_moves(self):
        """Which values are bad, test_explorer_inputs.py knows."""
        message = "slope must lie between 0 and 10, got 11"
        with raises_saying(ValueError, message):
            Toy(slope=11)
        toy = Toy()
        png, before = toy.png(), toy.values
        with raises_saying(ValueError, message):
            toy.set(shift=0.5, name="n", slope=11)
        assert toy.values == before and toy.png() == png and toy.error is None

    def test_numbers_of_numpy_are_numbers(self):
        toy = Toy(slope=np.int64(7), shift=np.float64(0.3))
        assert toy.png() == Toy(slope=7, shift=0.3).png()
