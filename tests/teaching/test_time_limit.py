"""A limit of time: what never ends is stopped, what ends is left alone."""

import contextlib
import threading
import time

import pytest

from course_utils.teaching import time_limit
from course_utils.teaching.time_limit import OutOfTimeError, within


def forever():
    while True:
        pass


def test_a_loop_is_stopped_and_what_comes_next_is_not():
    with pytest.raises(OutOfTimeError):
        within(0.05, forever)
    assert within(30, lambda: sum(range(300_000))) == 44_999_850_000


def test_what_ends_in_time_gives_its_own_error():
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        within(30, lambda: 1 / 0)
    assert threading.active_count() == before


def test_a_loop_that_catches_everything_is_stopped_again(monkeypatch):
    monkeypatch.setattr(time_limit, "AGAIN", 0.05)
    caught = []

    def stubborn():
        while len(caught) < 3:
            try:
                forever()
            except BaseException as error:
                caught.append(type(error))

    within(0.05, stubborn)
    assert caught == [OutOfTimeError] * 3


def test_in_another_thread_as_well():
    found = []

    def limited():
        with pytest.raises(OutOfTimeError):
            within(0.05, forever)
        found.append("stopped")

    thread = threading.Thread(target=limited)
    thread.start()
    thread.join(60)
    assert found == ["stopped"]


def test_what_ends_as_the_time_does_lets_nothing_through():
    """The exception may come at any step, and none comes after the call."""

    def until(moment):
        while time.perf_counter() < moment:
            pass

    for _ in range(100):
        moment = time.perf_counter() + 0.002
        with contextlib.suppress(OutOfTimeError):
            within(0.002, lambda end=moment: until(end))
        assert sum(range(1_000)) == 499_500  # interrupted, it would raise
