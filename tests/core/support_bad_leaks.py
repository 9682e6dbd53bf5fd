"""What the leak detector must refuse, as a table: callable, good arguments, bad ones of each."""

import torch

from course_utils.measure import dependence as leaks
from tests.core.support_bad_core import COUNT, WORDS, tensor
from tests.core.support_bad_input import Bad, Case, Said

X = torch.randn(3, 5)
SQUARE, OBLONG = torch.ones(3, 3) > 0, torch.ones(3, 5) > 0
BROKEN = (X[0], X[None], X[:0], X[:, :0], X * float("nan"), X * float("inf"))
NO_MASK = (*WORDS, "causal", torch.zeros(3, 5), torch.ones(3, 5).long())

CASES = [
    Case("leaks.gradient_reach", leaks.gradient_reach, {"model": torch.tanh, "x": X}, {
        "model": Bad(
            (None, "x", X, Said(lambda x: "text", "str"), Said(lambda x: (x, x), "tuple"),
             Said(lambda x: x.long(), "torch.int64")),
            (Said(lambda x: x[0], "(5,)"), Said(lambda x: x[None], "(1, 3, 5)"),
             Said(lambda x: x[:0], "(0, 5)")),
        ),
        "x": Bad(tensor().types, BROKEN),
    }),
    Case("leaks.leaks", leaks.leaks, {"reach": X, "may_attend": OBLONG}, {
        "reach": Bad(tensor().types, BROKEN),
        "may_attend": Bad(NO_MASK, (OBLONG[0], OBLONG[None], OBLONG.T, OBLONG[:, :3])),
    }),
    Case("leaks.reach_through", leaks.reach_through, {"may_attend": SQUARE, "num_layers": 2}, {
        "may_attend": Bad(
            (*NO_MASK, SQUARE.float(), SQUARE.long()),
            (SQUARE[0], SQUARE[None], SQUARE[:0, :0], SQUARE[:2], SQUARE[:1], OBLONG, OBLONG.T),
        ),
        "num_layers": COUNT,
    }),
]  # fmt: skip
