"""What positions must refuse, as a table: callable, arguments it takes, bad ones."""

import torch

from course_utils import positions
from course_utils.positions import inputs
from tests.core.support_bad_core import COUNT, POSITIVE, REAL, WORDS, choice, tensor
from tests.core.support_bad_input import Bad, Case

# A width of pairs, and how many times longer a text is than those of training.
WIDTH = Bad(COUNT.types, (*COUNT.values, 1, 7))
FACTOR = Bad(REAL.types, (*REAL.values, 0.25, 0.0, -2.0))
BEYOND = Bad(FACTOR.types, (*FACTOR.values, 1e250, 1e205))  # the power, the product
PLACES = torch.arange(3)
PLACES_TYPES = (
    *WORDS,
    PLACES.half(),
    PLACES.bfloat16(),
    PLACES.cfloat(),
    PLACES > 0,
    [0, 1, 2],
)
POSITIONS = Bad(PLACES_TYPES, (torch.tensor(3), torch.arange(5), torch.arange(1), PLACES[:, None]))
TURNED = tensor(torch.zeros(4), torch.zeros(3, 7), torch.zeros(3, 0))

CASES = [
    Case(
        "positions.sinusoids.sinusoidal_positions",
        positions.sinusoidal_positions,
        {"T": 5, "C": 6},
        {"T": COUNT, "C": WIDTH, "base": POSITIVE},
    ),
    Case(
        "positions.sinusoids.shift_matrix",
        positions.shift_matrix,
        {"offset": -2.5, "C": 6},
        {"offset": REAL, "C": WIDTH, "base": POSITIVE},
    ),
    Case(
        "positions.rotary.rope_frequencies",
        positions.rope_frequencies,
        {"D": 6},
        {"D": WIDTH, "base": POSITIVE},
    ),
    Case(
        "positions.rotary.apply_rope",
        positions.apply_rope,
        {"x": torch.zeros(2, 3, 4), "positions": PLACES},
        {"x": TURNED, "positions": POSITIONS, "base": POSITIVE, "pairing": choice("halves")},
    ),
    Case(
        "positions.rotary.pairing_permutation",
        positions.pairing_permutation,
        {"D": 6},
        {"D": WIDTH},
    ),
    Case(
        "positions.rotary.interpolated_positions",
        positions.interpolated_positions,
        {"positions": PLACES, "factor": 4},
        {"positions": Bad(PLACES_TYPES, (torch.tensor(3),)), "factor": FACTOR},
    ),
    Case(
        "positions.rotary.ntk_base",
        positions.ntk_base,
        {"factor": 4, "D": 6},
        {"factor": BEYOND, "D": Bad(WIDTH.types, (*WIDTH.values, 2)), "base": POSITIVE},
    ),
    Case("positions.alibi.alibi_slopes", positions.alibi_slopes, {"H": 3}, {"H": COUNT}),
    Case(
        "positions.alibi.alibi_bias",
        positions.alibi_bias,
        {"H": 3, "T": 5, "S": 7},
        {"H": COUNT, "T": COUNT, "S": COUNT},
    ),
    Case("positions.inputs.check_base", inputs.check_base, {"base": 10_000}, {"base": POSITIVE}),
    Case(
        "positions.inputs.check_even",
        lambda width: inputs.check_even("width", width),
        {"width": 6},
        {"width": WIDTH},
    ),
    Case("positions.inputs.check_factor", inputs.check_factor, {"factor": 4}, {"factor": FACTOR}),
    Case(
        "positions.inputs.check_positions",
        inputs.check_positions,
        {"positions": PLACES},
        {"positions": Bad(PLACES_TYPES, (torch.tensor(3),))},
    ),
    Case(
        "positions.inputs.check_rope_inputs",
        inputs.check_rope_inputs,
        {"x": torch.zeros(2, 3, 4), "positions": PLACES},
        {"x": TURNED, "positions": POSITIONS},
    ),
]
