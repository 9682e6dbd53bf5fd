"""The engine of the pictures that a reader takes in hand, and the one way to show a figure."""

from course_utils.explorers.explorer import Explorer
from course_utils.explorers.show import show

__all__ = ["Explorer", "show"]
