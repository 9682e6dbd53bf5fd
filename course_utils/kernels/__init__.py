"""Exact attention that never forms the (T, S) matrix: one algorithm, in torch and in Triton."""

from course_utils.kernels.dispatch import available_backends, flash_attend
from course_utils.kernels.merge import merge_partial

__all__ = ["available_backends", "flash_attend", "merge_partial"]
