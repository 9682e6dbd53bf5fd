"""How tests expect an error: the type and the whole message, word for word."""

import re

import pytest


def raises_saying(error, message):
    """Expect `error` with exactly this message."""
    return pytest.raises(error, match="^" + re.escape(message) + "$")
