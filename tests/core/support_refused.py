"""A test of what a module refuses, from its calls and the errors that they raise."""

import pytest

from tests.support_errors import refusal


def each_refused(*cases):
    """A test of each (call, error). The error may stop before ", got": tests/core/test_checks.py
    reads the messages of the checks to their end, and a module's tests show which one it makes.
    """

    @pytest.mark.parametrize(("call", "error"), cases)
    def test_refused(call, error):
        found = refusal(call)
        assert found.startswith(error), found

    return test_refused
