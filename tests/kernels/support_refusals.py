"""How the tests of the kernels expect an error: the type, and the whole message."""

import re

import pytest


def refuses(error: type[Exception], message: str):
    """Expect `error` with exactly this message."""
    return pytest.raises(error, match="^" + re.escape(message) + "$")
