"""Hypothesis as this suite uses it: the same examples in every run, and no clock.

A busy machine is slow, which is no defect; and a failure has to come back when looked for.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

__all__ = ["given", "st"]

settings.register_profile("course", deadline=None, derandomize=True)
settings.load_profile("course")
