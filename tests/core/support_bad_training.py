"""What the trainer and the small tasks must refuse, as a table: as in support_bad_core.py."""

import torch
from torch import nn

from course_utils import copying, training
from course_utils.layers import Alibi, KVCache, Rotary
from course_utils.models import causal_lm
from tests.core.support_bad_core import COUNT, POSITIVE, TEXT, WORDS, choice
from tests.core.support_bad_input import Bad, Case, Said


def one_batch(generator: torch.Generator) -> tuple[torch.Tensor]:
    return (torch.rand(3, 2, generator=generator),)


def mean(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).mean()


NO_FUNCTION = (None, 3, "adam")
TRAIN = {
    "build": lambda: nn.Linear(2, 1),
    "batch": one_batch,
    "loss": mean,
    "steps": 1,
    "learning_rate": 0.1,
}
TRAINING = [
    Case("training.train", training.train, TRAIN, {
        "build": Bad(
            (*NO_FUNCTION, Said(lambda: None, "None"), Said(lambda: 3, "3")),
            (Said(nn.ReLU, "ReLU"), Said(lambda: nn.Linear(2, 1).requires_grad_(False), "Linear")),
        ),
        "batch": Bad(
            (*NO_FUNCTION, Said(lambda g: torch.rand(3), "Tensor"), Said(lambda g: (3,), "tuple")),
            (Said(lambda g: (torch.rand(3 + g.initial_seed(), 2),), "[(4, 2)]"),
             Said(lambda g: (torch.rand(3, 2),) * (1 + g.initial_seed()), "[(3, 2), (3, 2)]")),
        ),
        "loss": Bad(
            (*NO_FUNCTION, Said(lambda model, x: 3.0, "float")),
            (Said(lambda model, x: model(x), "(3, 1)"),
             Said(lambda model, x: x.mean(), "a constant")),
        ),
        "seeds": Bad((None, 3, "12", Said((0.5,), "0.5")), ([], (), (1, 1), Said((-1,), "-1"))),
        "steps": COUNT, "every": COUNT,
        "learning_rate": POSITIVE,
        "optimizer": Bad((), ("adamw", "", None)),
        "warmup": Bad(COUNT.types, (-1,)),
        "budget_s": Bad(("x", True), (0, -1.0, float("nan"))),
        "evaluate": Bad((3, "x", Said(lambda model: "x", "'x' (str)"),
                         Said(lambda model: True, "True"), Said(lambda model: 1j, "1j"),
                         Said(lambda model: torch.tensor(True), "tensor(True)")),
                        (Said(lambda model: torch.zeros(2), "(2,)"),)),
        "label": TEXT,
    }),
    Case("training.with_bar", training.with_bar, {"steps": range(3), "label": "steps"}, {
        "steps": Bad((None, 3, "123"), ([], ())), "label": TEXT,
    }),
]  # fmt: skip

CONFIG = causal_lm.CausalLMConfig(31, 12, 2, 3, 11)
MODEL, ROPE = (
    causal_lm.CausalLM(causal_lm.CausalLMConfig(31, 12, 2, 3, 11, positions=positions))
    for positions in ("learned", "rope")
)
IDS = torch.tensor([[5, 7, 2]])
SIZES = ("vocab_size", "width", "num_layers", "max_positions", "feedforward_width")
OPTIONAL = Bad(COUNT.types[1:], COUNT.values)
FEW, UNEVEN = MODEL.new_caches()[:1], [KVCache(), KVCache()]
UNEVEN[0].append(torch.zeros(1, 3, 1, 4), torch.zeros(1, 3, 1, 4))
OTHERS = MODEL.new_caches()
MODEL(IDS.repeat(2, 1), caches=OTHERS)
CAUSAL_LM = [
    Case("models.causal_lm.CausalLMConfig", causal_lm.CausalLMConfig, vars(CONFIG), {
        **{name: OPTIONAL if name == "feedforward_width" else COUNT for name in SIZES},
        "num_heads": Bad(COUNT.types, (*COUNT.values, Said(7, "num_heads (7) must divide width"))),
        "positions": choice(),
    }),
    Case("models.causal_lm.CausalLM", causal_lm.CausalLM, {"config": CONFIG}, {
        "config": Bad((None, "x", {"width": 15})),
    }),
    Case("models.causal_lm.CausalLM.forward", MODEL, {"token_ids": IDS}, {
        "token_ids": Bad(
            (*WORDS, IDS.int(), IDS.float()),
            (IDS[0], IDS[None], Said(IDS[:, :0], "0"), Said(IDS.repeat(1, 4), "12"),
             IDS + 27, IDS - 5),
        ),
        "caches": Bad((3, "x", Said([None, None], "None")),
                      (Said(FEW, "1"), Said(UNEVEN, "[1, 0]"), Said([KVCache()] * 2, "caches[0]"),
                       Said(OTHERS, "(2, 3, 4)"))),
        "may_attend": Bad(("causal", torch.zeros(3, 3)), (torch.ones(3, 2) > 0,)),
    }),
    Case("models.causal_lm.CausalLM.set_rotary", ROPE.set_rotary, {"rotary": Rotary()}, {
        "rotary": Bad((None, "x", 4, Alibi())),
    }),
]  # fmt: skip

ROWS, ANSWERS = copying.copy_batch(torch.Generator().manual_seed(0), batch=3)
COPYING = [
    Case("copying.copy_batch", copying.copy_batch, {"generator": torch.Generator()}, {
        "generator": Bad((None, 3, "x")), "batch": COUNT,
    }),
    Case("copying.copy_loss", copying.copy_loss,
         {"model": lambda ids: (torch.zeros(3, 13, 2, 11), ()), "token_ids": ROWS,
          "answers": ANSWERS}, {
        "model": Bad((None, 3)),
        "token_ids": Bad((*WORDS, ROWS.int()), (ROWS[0], ROWS[:, 1:], ROWS - 11, ROWS + 11)),
        "answers": Bad((*WORDS, ANSWERS.int()), (
            ANSWERS[0], ANSWERS[1:], ANSWERS[..., :1], ANSWERS - 1, ANSWERS + 1,
        )),
    }),
]  # fmt: skip

CASES = [*TRAINING, *CAUSAL_LM, *COPYING]
