"""Three ways to tell attention the positions of tokens: sinusoids, RoPE and ALiBi.

Attention by itself ignores order: permuted tokens give permuted outputs. Sinusoids are added to the
token vectors. RoPE rotates queries and keys, so that their dot product depends on the distance.
ALiBi subtracts a multiple of the distance from the score.
"""

from course_utils.positions.alibi import alibi_bias, alibi_slopes
from course_utils.positions.rotary import (
    PAIRINGS,
    apply_rope,
    interpolated_positions,
    ntk_base,
    pairing_permutation,
    rope_frequencies,
)
from course_utils.positions.sinusoids import shift_matrix, sinusoidal_positions

__all__ = [
    "PAIRINGS",
    "alibi_bias",
    "alibi_slopes",
    "apply_rope",
    "interpolated_positions",
    "ntk_base",
    "pairing_permutation",
    "rope_frequencies",
    "shift_matrix",
    "sinusoidal_positions",
]
