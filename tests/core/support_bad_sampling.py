"""What the sampling functions must refuse, as a table: as in support_bad_core.py."""

import torch

from course_utils import sampling
from tests.core.support_bad_core import COUNT, INF, NAN, REAL, tensor
from tests.core.support_bad_input import Bad, Case, Said

LOGITS = torch.tensor([[0.5, 2.0, -1.0], [0.0, 1.0, 3.0]])
SPOILT = [LOGITS.where(LOGITS < 2.5, end) for end in (NAN, INF, -INF)]
BAD_LOGITS = tensor(torch.tensor(1.0), LOGITS[:, :0], LOGITS[:0], *SPOILT)
TEMPERATURE = Bad(REAL.types, (*REAL.values, -0.5, -1))
SHARE = Bad(REAL.types, (*REAL.values, 0, -0.5, 1.5))
WEIGHTS = torch.tensor([[0.5, 0.2, 0.3], [0.0, 0.0, 0.0]])

CASES = [
    Case(
        "sampling.nucleus_size",
        sampling.nucleus_size,
        {"weights": WEIGHTS, "p": 0.9},
        {
            "weights": tensor(
                torch.tensor(1.0),
                WEIGHTS[:, :0],
                torch.tensor([NAN, 1.0]),
                torch.tensor([1.5, -0.5]),
                Said(torch.tensor([0.5, 0.6]), "1.1"),
                Said(torch.tensor([0.2, 0.1]), "0.3"),
            ),
            "p": SHARE,
        },
    ),
    Case(
        "sampling.with_temperature",
        sampling.with_temperature,
        {"logits": LOGITS, "temperature": 0.7},
        {"logits": BAD_LOGITS, "temperature": TEMPERATURE},
    ),
    Case(
        "sampling.with_top_k",
        sampling.with_top_k,
        {"logits": LOGITS, "k": 2},
        {"logits": BAD_LOGITS, "k": COUNT},
    ),
    Case(
        "sampling.with_top_p",
        sampling.with_top_p,
        {"logits": LOGITS, "p": 0.9},
        {"logits": BAD_LOGITS, "p": SHARE},
    ),
    Case(
        "sampling.next_token_probabilities",
        sampling.next_token_probabilities,
        {"logits": LOGITS, "temperature": 0.7, "k": 2, "p": 0.9},
        {
            "logits": BAD_LOGITS,
            "temperature": TEMPERATURE,
            # None keeps every token, so it is no wrong input here.
            "k": Bad(COUNT.types[1:], COUNT.values),
            "p": Bad(SHARE.types[1:], SHARE.values),
        },
    ),
]
