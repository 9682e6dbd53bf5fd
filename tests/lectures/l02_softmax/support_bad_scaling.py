"""What the recall experiment must refuse, as a table: as in support_bad_core.py."""

import torch

from course_utils.lectures.l02_softmax import experiments as tasks_scaling
from course_utils.lectures.l02_softmax.experiments import OneHeadRecall, recall_batch
from tests.core.support_bad_core import COUNT, REAL, WORDS, choice
from tests.core.support_bad_input import Bad, Case, Said

GENERATOR = torch.Generator().manual_seed(0)
MODEL = OneHeadRecall(3, "scaled")
NAMES, VALUES, ASKED, ANSWERS = recall_batch(GENERATOR, size=5)
ROWS = {"names": NAMES, "values": VALUES, "asked": ASKED}


def ids(good, size, *wrong):
    """Ids of things of which there are so many: whole numbers, on the right axes."""
    beyond = (Said(good * 0 - 1, "-1"), Said(good * 0 + size, str(size)))
    return Bad((*WORDS, good.float(), good.int()), (good[0], good[None], *beyond, *wrong))


BAD_ROWS = {
    "names": ids(NAMES, 16),
    "values": ids(VALUES, 8, VALUES[:, :3]),
    "asked": ids(ASKED, 16, ASKED[:3]),
}
LOSSES = torch.rand(3, 30)
SHORT = {"steps": 2, "seeds": [0], "widths": [3], "starts": ["scaled"], "optimizers": ["sgd"]}
NO_SEQUENCE = Bad((None, 3), ([],))

CASES = [
    Case(
        "tasks_scaling.OneHeadRecall",
        OneHeadRecall,
        {"d_k": 3, "start": "scaled"},
        {"d_k": COUNT, "start": choice("Scaled")},
    ),
    Case("tasks_scaling.OneHeadRecall.forward", MODEL, ROWS, BAD_ROWS),
    Case(
        "tasks_scaling.recall_batch",
        recall_batch,
        {"generator": GENERATOR},
        {"generator": Bad((None, 0, "seed")), "size": COUNT},
    ),
    Case(
        "tasks_scaling.recall_loss",
        tasks_scaling.recall_loss,
        {"model": MODEL, **ROWS, "answers": ANSWERS},
        {
            "model": Bad((None, 3)),
            **BAD_ROWS,
            "answers": ids(ANSWERS, 8, ANSWERS[:2]),
        },
    ),
    Case(
        "tasks_scaling.train_with_and_without_scale",
        tasks_scaling.train_with_and_without_scale,
        SHORT,
        {
            "widths": Bad((None, 3, Said(["4"], "'4'"), Said([4.0], "4.0")), ([], Said([0], "0"))),
            "starts": Bad((None, 3), ([], Said(["half"], "'half'"))),
            "optimizers": Bad((None, 3), ([], Said(["lion"], "'lion'"))),
            "seeds": NO_SEQUENCE,
            "steps": COUNT,
            "learning_rate": Bad(REAL.types[1:], (*REAL.values, 0.0, -1.0)),
        },
    ),
    Case(
        "tasks_scaling.steps_until",
        tasks_scaling.steps_until,
        {"losses": LOSSES, "below": 0.2},
        {
            "losses": Bad((*WORDS, LOSSES.long()), (LOSSES[0], LOSSES[:, :0], LOSSES[:0])),
            "below": REAL,
            "window": Bad(COUNT.types, (*COUNT.values, 31)),
        },
    ),
]
