"""Where a token stands: sinusoids added to it, rotations of its queries and keys, biased scores.

Attention alone sees a set: permute the tokens, and the outputs are permuted likewise. Three ways
to give them an order are here. Sinusoids are added to the token vectors. RoPE turns queries and
keys, so that their dot product depends on the distance. ALiBi subtracts the distance from the
score.
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
