"""What ablation, induction, the sizes and the scaling laws must refuse, as a table."""

import torch

from course_utils.lectures.l06_gpt2_block.experiments import ablation, scaling_law
from course_utils.lectures.l06_gpt2_block.experiments import induction as tasks_induction
from course_utils.lectures.l06_gpt2_block.experiments import sizes as tasks_sizes
from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.training import Training
from tests.core.support_bad_core import COUNT, INF, NAN, tensor
from tests.core.support_bad_input import Bad, Case, Said

RANDOM = torch.Generator().manual_seed(0)
MODEL = tasks_induction.induction_model()
ROWS = tasks_induction.repeated_tokens(RANDOM, batch=2)
FLASH = GPT2(GPT2Config(16, 16, 32, 2, 2, attention="flash"))
MODELS = Bad((None, "x", torch.nn.Linear(2, 2)))
LOOKS = Bad(MODELS.types, (Said(FLASH, '"flash"'),))
GENERATORS = Bad((None, 7, "x"))
UNEQUAL = torch.cat((ROWS[:, :8], (ROWS[:, 8:] + 1) % 16), dim=1)
HALVES = Bad(
    (None, "x", [[1, 2, 1, 2]], ROWS.int(), ROWS.double()),
    (ROWS[0], ROWS[:0], ROWS[:, :7], ROWS[:, :2], Said(ROWS + 16, str(int(ROWS.max()) + 16)),
     Said(ROWS - 16, str(int(ROWS.min()) - 16))),
)  # fmt: skip
REPEATS = Bad(HALVES.types, (*HALVES.values, Said(UNEQUAL, str(UNEQUAL[0].tolist()))))
SEEDS = Bad((None, 3, "01"), ([], (1, 1)))
MEASURE = {"model": MODEL, "token_ids": ROWS}
INDUCTION = [
    Case("ablation.without_heads", ablation.without_heads, {"model": MODEL, "heads": [(0, 1)]}, {
        "model": MODELS,
        "heads": Bad(
            (None, 3, "01", Said([3], "3 (int)"), Said([(0, 1.0)], "1.0"),
             Said([(True, 0)], "True")),
            (Said([(0,)], "(0,)"), Said([(0, 1, 0)], "(0, 1, 0)"), Said([(2, 0)], "2"),
             Said([(0, -1)], "-1")),
        ),
    }),
    Case("tasks_induction.repeated_tokens", tasks_induction.repeated_tokens,
         {"generator": RANDOM, "batch": 2, "vocab_size": 31, "length": 5}, {
        "generator": GENERATORS,
        "batch": COUNT,
        "vocab_size": Bad(COUNT.types, (0, -1, Said(4, "(5) must be at most vocab_size (4)"))),
        "length": Bad(COUNT.types, (1, 0, -1, Said(37, "(37) must be at most vocab_size (31)"))),
    }),
    Case("tasks_induction.shifted_repeats", tasks_induction.shifted_repeats,
         {"generator": RANDOM, "batch": 2}, {"generator": GENERATORS, "batch": COUNT}),
    Case("tasks_induction.repeat_loss", tasks_induction.repeat_loss, MEASURE, {
        "model": Bad((None, 7, "x")),
        "token_ids": HALVES,
    }),
    Case("tasks_induction.induction_model", tasks_induction.induction_model, {"num_layers": 1}, {
        "num_layers": COUNT,
    }),
    Case("tasks_induction.train_induction", tasks_induction.train_induction,
         {"seeds": [0], "steps": 1, "settling_steps": 1, "num_layers": 1, "every": 1}, {
        "seeds": SEEDS,
        "steps": COUNT,
        "settling_steps": COUNT,
        "num_layers": COUNT,
        "every": COUNT,
    }),
    *(
        Case(f"tasks_induction.{name}", getattr(tasks_induction, name), MEASURE,
             {"model": models, "token_ids": REPEATS})
        for name, models in (
            ("losses_by_place", MODELS),
            ("repeated_gain", MODELS),
            ("gain_without_each_head", MODELS),
            ("induction_scores", LOOKS),
            ("previous_token_scores", LOOKS),
        )
    ),
]  # fmt: skip

DONE = Training(torch.ones(1, 1), torch.ones(1, 1), (1,), [], "", 0.0)
UNCHECKED = Training(torch.ones(1, 1), torch.ones(1, 0), (), [], "", 0.0)
WIDTH = Bad(COUNT.types, (0, -1, Said(12, "(8) must divide width (12)")))
SIZES = [
    Case("tasks_sizes.drawn_for_width", tasks_sizes.drawn_for_width,
         {"config": tasks_sizes.size_config(8)}, {"config": Bad((None, "x", 8))}),
    Case("tasks_sizes.size_config", tasks_sizes.size_config, {"width": 8}, {"width": WIDTH}),
    Case("tasks_sizes.train_sizes", tasks_sizes.train_sizes,
         {"widths": [8], "seeds": [0], "steps": 1, "every": 1}, {
        "widths": Bad((None, 8, "8", Said([8.0], "8.0")),
                      ([], Said([12], "(8) must divide widths[0] (12)"))),
        "seeds": SEEDS,
        "steps": COUNT,
        "every": COUNT,
    }),
    Case("tasks_sizes.final_losses", tasks_sizes.final_losses,
         {"trainings": {8: DONE}, "embeddings": True}, {
        "trainings": Bad((None, [DONE], Said({8: 3.0}, "3.0 (float)"), Said({8.0: DONE}, "8.0")),
                         ({}, Said({8: UNCHECKED}, "none"),
                          Said({12: DONE}, "(8) must divide a width of trainings (12)"))),
        "embeddings": Bad((None, 1, "no")),
    }),
]  # fmt: skip

LOSSES = torch.tensor([[3.0, 2.5, 2.2, 2.0], [3.1, 2.6, 2.1, 2.0]])
AMOUNT = Bad((None, "7", True), (0, -1.0, NAN, INF))
LIMIT = Bad(("7", True), AMOUNT.values)
LAW = Bad((), (None, "gopher", 3))
POWER = scaling_law.PowerLaw(0.3, (0.2, 0.4), 3.0, 1.0, (), ())
SCALING = [
    Case("scaling_law.fit_power_law", scaling_law.fit_power_law,
         {"sizes": [10, 20, 40, 80], "losses": LOSSES, "irreducible": 0.5}, {
        "sizes": Bad(
            (None, 10, "10", Said([10, 20, 40, "80"], "'80' (str)")),
            ([], Said([10, 20], "(10, 20)"), Said([10, 20, 40, 40], "(10, 20, 40, 40)"),
             Said([10, 20, 40, 0], "0"), Said([10, 20, 40], "(2, 4)"),
             Said([10, 20, 40, INF], "inf")),
        ),
        "losses": Bad(
            (*tensor().types, LOSSES.long()),
            (LOSSES[0, 0], LOSSES[None], LOSSES[:, :3], LOSSES[:0], LOSSES * NAN, LOSSES * INF,
             -LOSSES),
        ),
        "irreducible": Bad(("0", True), (-0.1, 2.0, 7, NAN, INF)),
    }),
    Case("scaling_law.PowerLaw.loss", POWER.loss, {"size": 100}, {"size": AMOUNT}),
    Case("scaling_law.kaplan_loss", scaling_law.kaplan_loss, {"parameters": 1e6, "tokens": 1e9}, {
        "parameters": LIMIT,
        "tokens": LIMIT,
    }),
    Case("scaling_law.chinchilla_loss", scaling_law.chinchilla_loss,
         {"parameters": 1e6, "tokens": 1e9, "law": "chinchilla"}, {
        "parameters": AMOUNT,
        "tokens": AMOUNT,
        "law": Bad((), (None, "kaplan", 3)),
    }),
    Case("scaling_law.compute_optimal", scaling_law.compute_optimal,
         {"compute": 1e20, "law": "kaplan"}, {"compute": AMOUNT, "law": LAW}),
]  # fmt: skip

CASES = [*INDUCTION, *SIZES, *SCALING]
