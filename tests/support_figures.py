"""Figures that pyplot keeps: a test that leaves one open leaks it into every later test."""

import sys


def left_open() -> list[int]:
    """Return the numbers of open pyplot figures, without importing pyplot."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return pyplot.get_fignums() if pyplot else []
