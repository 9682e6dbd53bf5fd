"""One hub for all its tests, with two students."""

import contextlib
import os

import pytest

from tests.tools.hub.support_hub import SYSTEMD, running_hub, what_is_missing

# Names that no account of a real machine has.
STUDENTS = ("course-test-ada", "course-test-ben")


@pytest.fixture(scope="session")
def hub():
    """A running hub, or the reason why this machine can run none; in CI that is a failure."""
    if missing := what_is_missing():
        reason = f"the hub's tests need: {'; '.join(missing)}"
        if os.environ.get("CI") and hasattr(os, "geteuid") and os.geteuid() == 0:
            pytest.fail(reason)
        pytest.skip(reason)
    with running_hub(STUDENTS) as running:
        yield running


@pytest.fixture(scope="session")
def units(hub):
    """What only systemd gives a student: limits, folders of their own, no way out."""
    if not SYSTEMD:
        pytest.skip("not tried here: systemd does not run this machine, so students have no units")


@contextlib.contextmanager
def logged_in(hub, name):
    """A student with a running server."""
    from tests.tools.hub.support_student import Student

    with Student(hub, name) as student:
        assert student.log_in().status_code == 200
        student.open_server()
        yield student


@pytest.fixture(scope="session")
def ada(hub):
    with logged_in(hub, STUDENTS[0]) as student:
        yield student


@pytest.fixture(scope="session")
def ben(hub):
    with logged_in(hub, STUDENTS[1]) as student:
        yield student
