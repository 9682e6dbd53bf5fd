"""What the experiments on depth and the gated layer must refuse: as in support_bad_core.py."""

import torch

from course_utils.copying import copy_batch
from course_utils.layers import feedforward
from course_utils.lectures.l06_gpt2_block.experiments import norms as tasks_norms
from tests.core.support_bad_core import COUNT, FLAG, POSITIVE, WORDS, choice
from tests.core.support_bad_input import Bad, Case, Said

MODEL = tasks_norms.DeepCopier(1, norm_first=True, width=8)
ROWS, _ = copy_batch(torch.Generator().manual_seed(0), batch=3)
SEEDS = Bad((None, 3, "12", Said((0.5,), "0.5")), ([], (), Said((-1,), "-1")))
WIDTH = Bad(COUNT.types, (*COUNT.values, Said(7, "num_heads (4) must divide width (7)")))
DEPTH = [
    Case("tasks_norms.DeepCopier", tasks_norms.DeepCopier, {"num_layers": 1, "norm_first": True}, {
        "num_layers": COUNT, "norm_first": FLAG, "width": WIDTH,
        "num_heads": Bad(COUNT.types, (*COUNT.values, Said(7, "num_heads (7) must divide width"))),
        "init": choice(),
    }),
    Case("tasks_norms.DeepCopier.forward", MODEL, {"token_ids": ROWS}, {
        "token_ids": Bad(
            (*WORDS, ROWS.int(), ROWS.float()),
            (ROWS[0], Said(ROWS[:, :3], "3"), Said(ROWS.repeat(1, 2), "32"), ROWS - 11, ROWS + 11),
        ),
    }),
    Case("tasks_norms.gradient_norms", tasks_norms.gradient_norms,
         {"depths": [1], "norm_first": True, "width": 8, "seeds": [0]}, {
        "depths": Bad((None, 2, "2", Said([0.5], "0.5")), ([], Said([2, 0], "0"))),
        "norm_first": FLAG, "width": WIDTH, "seeds": SEEDS, "init": choice(), "one_token": FLAG,
    }),
    Case("tasks_norms.train_with_warmup", tasks_norms.train_with_warmup,
         {"warmups": [0], "num_layers": 1, "seeds": [0], "steps": 1}, {
        "warmups": Bad((None, 2, "2", Said([0.5], "0.5")), ([], Said([3, -1], "-1"))),
        "num_layers": COUNT, "seeds": Bad(SEEDS.types, (*SEEDS.values, (1, 1))), "steps": COUNT,
        "learning_rate": POSITIVE, "init": choice(),
    }),
]  # fmt: skip

GATED, X = feedforward.SwiGLU(5), torch.zeros(2, 3, 5)
SWIGLU = [
    Case("layers.feedforward.SwiGLU", feedforward.SwiGLU, {"width": 5}, {
        "width": COUNT, "hidden": Bad(COUNT.types[1:], COUNT.values),
    }),
    Case("layers.feedforward.SwiGLU.forward", GATED, {"x": X}, {
        "x": Bad((*WORDS, X.long(), X.double()), (X[..., :4], X[..., :0])),
    }),
]  # fmt: skip

CASES = [*DEPTH, *SWIGLU]
