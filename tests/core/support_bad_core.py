"""What the tensor core must refuse, as a table: callable, arguments it takes, bad ones of each.

Sizes are distinct primes, so that no wrong axis fits by chance.
"""

import torch

from course_utils import attention, checks, masks, shapes
from course_utils.measure import costs
from tests.core.support_bad_input import Bad, Case, Said

NAN, INF, HUGE = float("nan"), float("inf"), 10**400
WORDS = (None, "x", [1.0])

# Of one argument: an integer, a real number, a positive one, a text, a seed.
COUNT = Bad((None, "3", 3.0, True, [3]), (0, -1))
SEED = Bad((None, "1", 1.0, True, [1]), (-1, 2**64))
REAL = Bad((None, "1", True, [1.0]), (NAN, INF, -INF, Said(HUGE, "largest float")))
POSITIVE = Bad(REAL.types, (*REAL.values, 0.0, -1.0))
TEXT = Bad((None, 7, ["x"], b"x"))
FLAG = Bad((None, 0, "no", []))


def choice(*wrong):
    """A text among several: whatever else comes is not among them."""
    return Bad((), (None, 1, "", "nonsense", ["rnn"], torch.zeros(2), *wrong))


def tensor(*values, like=(3, 5)):
    """A floating-point tensor that may hold NaN, which then shows in the result."""
    zeros = torch.zeros(like)
    return Bad((*WORDS, zeros.long(), zeros.cfloat(), zeros.to(torch.float8_e4m3fn)), values)


def vector(size=3):
    """Finite floating-point numbers on one axis."""
    broken = [torch.tensor([1.0] * (size - 1) + [end]) for end in (NAN, INF)]
    values = (torch.zeros(()), torch.zeros(size, 1), torch.zeros(0), *broken)
    return Bad((*WORDS, torch.ones(size).long()), values)


Q, K, V = torch.randn(3, 5), torch.randn(7, 5), torch.randn(7, 2)
QKV = {"q": Q, "k": K, "v": V}
MASK = Bad(
    ("causal", [True], torch.zeros(3, 7), torch.ones(3, 7).long()),
    (torch.ones(7, 3) > 0, torch.ones(2, 3, 7) > 0),
)
SCORES = (3, 7)
BIAS = Bad(
    ("alibi", 0.5, torch.zeros(SCORES).double(), torch.zeros(SCORES) > 0, torch.zeros(3, 7).long()),
    (
        torch.zeros(7, 3),
        torch.zeros(2, 3, 7),
        torch.full(SCORES, -INF),
        torch.full(SCORES, NAN),
    ),
)
BAD_QKV = {
    "q": tensor(Q[0], Q[:0], Q[:, :0]),
    "k": Bad(
        (*WORDS, K.long(), K.double()), (K[0], K[:0], K[:, :3], K[None], torch.zeros(7, 5, 1))
    ),
    "v": Bad((*WORDS, V.long(), V.half()), (V[0], V[:0], V[:5], V[None])),
    "may_attend": MASK,
}
SCALE = {"scale": Bad(REAL.types[1:], REAL.values)}
WEIGHTS = tensor(
    torch.tensor(1.0),
    Q[:, :0],
    torch.tensor([NAN, 1.0]),
    torch.tensor([1.5, -0.5]),
    Said(torch.tensor([0.5, 0.25]), "0.75"),
)

BAD_LETTERS = Bad((5,), ("Q", Said([None], "None")))
SHAPES = [
    Case(
        "shapes.axis_table",
        shapes.axis_table,
        {},
        {"letters": BAD_LETTERS},
    ),
    Case(
        "shapes.check_int",
        lambda value: shapes.check_int("value", value, maximum=5),
        {"value": 3},
        {"value": Bad(COUNT.types, (*COUNT.values, 6))},
    ),
    Case(
        "shapes.check_finite",
        lambda value: shapes.check_finite("value", value),
        {"value": 3},
        {"value": REAL},
    ),
    Case(
        "shapes.check_divides",
        lambda divisor, value: shapes.check_divides("divisor", divisor, "value", value),
        {"divisor": 3, "value": 15},
        {
            "divisor": Bad(COUNT.types, (0, -3, Said(7, "(7) must divide value (15)"))),
            "value": COUNT,
        },
    ),
    Case(
        "shapes.check_rank",
        lambda tensor: shapes.check_rank("tensor", tensor, "T D"),
        {"tensor": Q},
        {"tensor": Bad(WORDS, (Q[0], Q[None]))},
    ),
    Case(
        "shapes.check_not_empty",
        lambda tensor: shapes.check_not_empty("tensor", tensor, axes=2),
        {"tensor": Q},
        {"tensor": Bad(WORDS, (Q[:0], Q[:, :0]))},
    ),
    Case(
        "shapes.check_floating",
        lambda tensor: shapes.check_floating("tensor", tensor),
        {"tensor": Q},
        {"tensor": tensor()},
    ),
    Case(
        "shapes.check_like",
        lambda tensor, other: shapes.check_like("tensor", tensor, "other", other),
        {"tensor": Q, "other": K},
        {"tensor": Bad((*WORDS, Q.half())), "other": Bad(WORDS)},
    ),
    Case(
        "shapes.check_may_attend",
        lambda may_attend: shapes.check_may_attend(may_attend, (3, 7), torch.device("cpu")),
        {"may_attend": None},
        {"may_attend": MASK},
    ),
    Case(
        "shapes.check_bias",
        lambda bias: shapes.check_bias(bias, SCORES, Q),
        {"bias": None},
        {"bias": BIAS},
    ),
    Case(
        "shapes.check_broadcasts",
        lambda tensor: shapes.check_broadcasts("tensor", tensor, "the scores", SCORES),
        {"tensor": torch.zeros(3, 1)},
        {"tensor": Bad(WORDS, (torch.zeros(7, 3), torch.zeros(2, 1, 1)))},
    ),
    Case(
        "shapes.check_attention_inputs",
        shapes.check_attention_inputs,
        QKV,
        {
            **BAD_QKV,
            **SCALE,
            "bias": BIAS,
        },
    ),
]

CHECKS = [
    Case(
        "checks.check_values",
        lambda x: checks.check_values("x", x, "N"),
        {"x": Q[0]},
        {"x": vector()},
    ),
    Case(
        "checks.check_ids",
        lambda x: checks.check_ids("x", x, "T", 31),
        {"x": torch.tensor([0, 30])},
        {
            "x": Bad(
                (*WORDS, torch.tensor([5.0]), torch.tensor([5]).int(), torch.tensor([True])),
                (torch.tensor(5), Said(torch.tensor([5, 31]), "31"), torch.tensor([-1, 99])),
            )
        },
    ),
    Case("checks.check_text", lambda x: checks.check_text("x", x), {"x": "a"}, {"x": TEXT}),
    Case(
        "checks.check_choice",
        lambda x: checks.check_choice("x", x, ("rnn", "gru")),
        {"x": "gru"},
        {"x": choice()},
    ),
    Case("checks.check_flag", lambda x: checks.check_flag("x", x), {"x": True}, {"x": FLAG}),
    Case(
        "checks.check_sequence",
        lambda x: checks.check_sequence("x", x),
        {"x": [1]},
        {"x": Bad((None, 3, "abc", b"abc", Said(torch.tensor(3), "tensor(3)")), ([], ()))},
    ),
    Case(
        "checks.check_all_finite",
        lambda x: checks.check_all_finite("x", x),
        {"x": Q},
        {"x": Bad((*WORDS, Q.long()), (Q * NAN, Q * INF))},
    ),
    Case(
        "checks.check_generator",
        lambda x: checks.check_generator("x", x),
        {"x": torch.Generator()},
        {"x": Bad((None, 3, "x", torch.Generator))},
    ),
    Case("checks.check_seed", checks.check_seed, {"seed": 0}, {"seed": SEED}),
    Case(
        "checks.check_seeds",
        checks.check_seeds,
        {"seeds": range(3)},
        {"seeds": Bad((None, 3, "12", Said([0.5], "0.5")), ([], (1, 1), Said([-1], "-1")))},
    ),
]

DEVICE = Bad((3, ["cpu"]), ("nonsense", Said("", "''")))
MASKS = [
    Case("masks.causal_mask", masks.causal_mask, {"T": 3, "S": 5}, {
        "T": COUNT, "S": Bad(COUNT.types[1:], COUNT.values), "device": DEVICE,
    }),
    Case("masks.sliding_window_mask", masks.sliding_window_mask, {"T": 5, "window": 3}, {
        "T": COUNT, "window": COUNT, "device": DEVICE,
    }),
    Case("masks.prefix_mask", masks.prefix_mask, {"T": 5, "prefix": 0}, {
        "T": COUNT, "device": DEVICE,
        "prefix": Bad(COUNT.types, (-1, Said(7, "prefix (7) must be at most T (5)"))),
    }),
    Case("masks.padding_mask", masks.padding_mask, {"lengths": [2, 3], "S": 5}, {
        "lengths": Bad(
            (None, "23", 3, b"\x02", Said([2.0], "2.0"), Said([[2]], "[2]"),
             Said(torch.tensor([2.5]), "2.5"), Said(torch.tensor([[2, 3]]), "[2, 3]")),
            (Said([], "none"), Said([-1], "-1"), Said([7], "(7) must be at most S (5)")),
        ),
        "S": COUNT,
    }),
]  # fmt: skip

ATTENTION = [
    Case("attention.attend", attention.attend, QKV, {**BAD_QKV, **SCALE, "bias": BIAS}),
    Case(
        "attention.cosine_attend",
        attention.cosine_attend,
        {**QKV, "scale": 1.0},
        {**BAD_QKV, "scale": REAL},
    ),
    Case(
        "attention.top_k_attend",
        attention.top_k_attend,
        {**QKV, "k_keep": 2},
        {
            **BAD_QKV,
            **SCALE,
            "k_keep": Bad(COUNT.types, (*COUNT.values, Said(11, "k_keep (11) must be at most"))),
        },
    ),
    Case(
        "attention.masked_softmax",
        attention.masked_softmax,
        {"scores": torch.randn(3, 7)},
        {"scores": tensor(Q[0], torch.zeros(3, 0), torch.zeros(0, 7)), "may_attend": MASK},
    ),
    Case(
        "attention.unit_vectors",
        attention.unit_vectors,
        {"x": Q},
        {"x": tensor(torch.tensor(1.0), torch.zeros(3, 0))},
    ),
    Case("attention.softmax_jacobian", attention.softmax_jacobian, {"p": Q.softmax(-1)}, {
        "p": Bad(WEIGHTS.types, (*WEIGHTS.values, torch.zeros(3))),
    }),
    Case(
        "attention.effective_tokens",
        attention.effective_tokens,
        {"weights": Q.softmax(-1)},
        {"weights": WEIGHTS},
    ),
]  # fmt: skip

SIZES, BAD_SIZES = {"length": 11, "width": 5}, {"length": COUNT, "width": COUNT}
KERNEL = Bad(COUNT.types, (*COUNT.values, 1))
COSTS = [
    Case("costs.recurrent_flops", costs.recurrent_flops, SIZES, {**BAD_SIZES, "cell": choice()}),
    Case("costs.attention_projection_flops", costs.attention_projection_flops, SIZES, BAD_SIZES),
    Case("costs.attention_mixing_flops", costs.attention_mixing_flops, SIZES, BAD_SIZES),
    Case("costs.attention_flops", costs.attention_flops, SIZES, BAD_SIZES),
    Case(
        "costs.convolution_flops",
        costs.convolution_flops,
        {**SIZES, "kernel_width": 3},
        {**BAD_SIZES, "kernel_width": COUNT},
    ),
    Case(
        "costs.crossover_length",
        costs.crossover_length,
        {"width": 5},
        {"width": COUNT, "cell": choice(), "count_projections": FLAG},
    ),
    Case(
        "costs.sequential_steps",
        costs.sequential_steps,
        {"layer": "attention", "length": 11},
        {"layer": choice(), "length": COUNT},
    ),
    Case(
        "costs.layers_needed",
        costs.layers_needed,
        {"length": 11, "kernel_width": 3},
        {"length": COUNT, "kernel_width": KERNEL, "geometry": choice(), "dilated": FLAG},
    ),
    Case(
        "costs.path_length",
        costs.path_length,
        {"layer": "attention", "length": 11},
        {"layer": choice(), "length": COUNT, "kernel_width": KERNEL, "geometry": choice()},
    ),
]

CASES = [*SHAPES, *CHECKS, *MASKS, *ATTENTION, *COSTS]
