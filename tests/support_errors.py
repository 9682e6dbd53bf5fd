"""How tests expect an error: the type and the whole message, word for word."""

import re

import pytest


def raises_saying(error, message):
    """Expect `error` with exactly this message."""
    return pytest.raises(error, match="^" + re.escape(message) + "$")


def refusal(call):
    """Return what a call raises, as a traceback ends: "ValueError: T must be at least 1, got 0"."""
    with pytest.raises(Exception) as caught:
        call()
    return f"{caught.type.__name__}: {caught.value}"
