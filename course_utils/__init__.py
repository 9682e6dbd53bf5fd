"""Attention, a course that runs: the helper package that the lectures import by name.

Importing this package loads nothing heavy. Import what you need from its modules, for example
``from course_utils.attention import attend``.
"""

__version__ = "0.1.0"
